#include "cluster/collective/async_calls.h"

#include <chrono>
#include <utility>

namespace strata {

bool PendingCall::done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

Status PendingCall::Wait(TimeNs timeout) const {
  std::unique_lock lock(state_->mutex);
  const bool done = state_->changed.wait_for(lock, std::chrono::nanoseconds(timeout),
                                             [this] { return state_->done; });
  return done ? state_->status : DeadlineExceeded("the collective is still under way");
}

AsyncCalls::AsyncCalls(Group& group) : group_(group), thread_([this] { Run(); }) {}

AsyncCalls::~AsyncCalls() {
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
  for (const Work& work : dropped) Finish(work, why);
}

PendingCall AsyncCalls::Start(std::function<Status(Group&)> call) {
  auto work = std::make_shared<PendingCall::State>();
  work->call = std::move(call);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(work);
  }
  changed_.notify_all();
  return PendingCall(std::move(work));
}

void AsyncCalls::Cancel(const Status& why) { group_.Cancel(why); }

void AsyncCalls::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Finish(work, work->call(group_));
    lock.lock();
  }
}

void AsyncCalls::Finish(const Work& work, const Status& status) {
  work->call = nullptr;
  {
    const std::lock_guard lock(work->mutex);
    work->done = true;
    work->status = status;
  }
  work->changed.notify_all();
}

}  // namespace strata
