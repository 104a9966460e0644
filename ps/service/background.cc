#include "ps/service/background.h"

#include <utility>

#include "base/out_of_memory.h"

namespace strata {

Background::~Background() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

Status Background::Start(const std::string& name, ThreadPriority priority) {
  STRATA_ASSIGN(thread_, StartThread(
                             name, [this] { Loop(); }, priority));
  return {};
}

void Background::Run(std::function<void()> work) {
  const MutexLock lock(mutex_);
  work_.push_back(std::move(work));
  changed_.NotifyOne();
}

void Background::Loop() {
  MutexLock lock(mutex_);
  while (true) {
    while (!stopping_ && work_.empty()) changed_.Wait(mutex_);
    if (stopping_) return;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.Unlock();
    {
      const MustAllocate must;  // nobody here could say what has become of half the work
      work();
    }
    work = nullptr;  // what it holds goes before anybody is told
    done_();
    lock.Lock();
  }
}

}  // namespace strata
