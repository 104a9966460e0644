#include "strata/async_calls.h"

#include <deque>
#include <thread>
#include <utility>

#include "base/thread/mutex.h"

namespace strata {

struct PendingCall::State {
  std::function<Status(Group&)> call;
  Mutex mutex;
  CondVar changed;
  bool done STRATA_GUARDED_BY(mutex) = false;
  Status status STRATA_GUARDED_BY(mutex);

  void Finish(const Status& with) {
    call = nullptr;
    {
      const MutexLock lock(mutex);
      done = true;
      status = with;
    }
    changed.NotifyAll();
  }
};

PendingCall::PendingCall(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool PendingCall::done() const {
  const MutexLock lock(state_->mutex);
  return state_->done;
}

Status PendingCall::Wait(TimeNs timeout) const {
  State& state = *state_;
  const MutexLock lock(state.mutex);
  const bool done = state.changed.WaitFor(state.mutex, timeout, [&state] {
    state.mutex.AssumeHeld();
    return state.done;
  });
  if (!done) return DeadlineExceeded("the collective is still under way");
  return state.status;
}

class AsyncCalls::Impl {
 public:
  using Work = std::shared_ptr<PendingCall::State>;

  explicit Impl(Group& group) : group_(group), thread_([this] { Run(); }) {}

  ~Impl() {
    std::deque<Work> dropped;
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      dropped.swap(queue_);
    }
    changed_.NotifyAll();
    thread_.join();
    if (dropped.empty()) return;
    const Status why = Cancelled("collectives that were started were given up");
    group_.Cancel(why);  // the other ranks would wait for this one
    for (const Work& work : dropped) work->Finish(why);
  }

  void Add(Work work) {
    {
      const MutexLock lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.NotifyAll();
  }

  void Cancel(const Status& why) { group_.Cancel(why); }

 private:
  void Run() {
    MutexLock lock(mutex_);
    for (;;) {
      while (!stopping_ && queue_.empty()) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      lock.Unlock();
      work->Finish(work->call(group_));
      lock.Lock();
    }
  }

  Group& group_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Work> queue_ STRATA_GUARDED_BY(mutex_);
  bool stopping_ STRATA_GUARDED_BY(mutex_) = false;
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
