#include "ps/service/background.h"

#include <utility>

#include "base/out_of_memory.h"

namespace strata {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

Status Background::Start(const std::string& name, ThreadPriority priority) {
  STRATA_ASSIGN(thread_, StartThread(
                             name, [this] { Loop(); }, priority));
  return {};
}

void Background::Run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_one();
}

void Background::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
    if (stopping_) return;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    {
      const MustAllocate must;  // nobody here could say what has become of half the work
      work();
    }
    work = nullptr;  // what it holds goes before anybody is told
    done_();
    lock.lock();
  }
}

}  // namespace strata
