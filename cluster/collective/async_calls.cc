#include "strata/async_calls.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace strata {

struct PendingCall::State {
  std::function<Status(Group&)> call;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Status status;

  void Finish(const Status& with) {
    call = nullptr;
    {
      const std::lock_guard lock(mutex);
      done = true;
      status = with;
    }
    changed.notify_all();
  }
};

PendingCall::PendingCall(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool PendingCall::done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

Status PendingCall::Wait(TimeNs timeout) const {
  std::unique_lock lock(state_->mutex);
  const auto is_done = [this] { return state_->done; };
  if (timeout == kNever) {
    state_->changed.wait(lock, is_done);
  } else if (!state_->changed.wait_for(lock, std::chrono::nanoseconds(timeout), is_done)) {
    return DeadlineExceeded("the collective is still under way");
  }
  return state_->status;
}

class AsyncCalls::Impl {
 public:
  using Work = std::shared_ptr<PendingCall::State>;

  explicit Impl(Group& group) : group_(group), thread_([this] { Run(); }) {}

  ~Impl() {
    std::deque<Work> dropped;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      dropped.swap(queue_);
    }
    changed_.notify_all();
    thread_.join();
    if (dropped.empty()) return;
    const Status why = Cancelled("collectives that were started were given up");
    group_.Cancel(why);  // the other ranks would wait for this one
    for (const Work& work : dropped) work->Finish(why);
  }

  void Add(Work work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }

  void Cancel(const Status& why) { group_.Cancel(why); }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work->Finish(work->call(group_));
      lock.lock();
    }
  }

  Group& group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

AsyncCalls::AsyncCalls(Group& group) : impl_(std::make_unique<Impl>(group)) {}
AsyncCalls::~AsyncCalls() = default;

PendingCall AsyncCalls::Start(std::function<Status(Group&)> call) {
  auto work = std::make_shared<PendingCall::State>();
  work->call = std::move(call);
  impl_->Add(work);
  return PendingCall(std::move(work));
}

void AsyncCalls::Cancel(const Status& why) { impl_->Cancel(why); }

}  // namespace strata
