#include "base/side_thread.h"

#include <utility>

#include "base/thread.h"

namespace strata {

Result<std::unique_ptr<SideThread>> SideThread::Start(const std::string& name) {
  std::unique_ptr<SideThread> side(new SideThread());
  STRATA_ASSIGN(side->thread_, StartThread(name, [s = side.get()] { s->Serve(); }));
  return Result<std::unique_ptr<SideThread>>(std::move(side));
}

SideThread::~SideThread() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  changed_.notify_all();
}

void SideThread::Begin(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  STRATA_CHECK(task_ == nullptr);
  task_ = std::move(task);
  changed_.notify_all();
}

void SideThread::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return task_ == nullptr; });
}

void SideThread::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || task_ != nullptr; });
    if (stop_) return;
    lock.unlock();
    task_();
    lock.lock();
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace strata
