#include "base/thread/side_thread.h"

#include <utility>

#include "base/thread/thread.h"

namespace strata {

Result<std::unique_ptr<SideThread>> SideThread::Start(const std::string& name, ThreadWait wait) {
  std::unique_ptr<SideThread> side(new SideThread(wait));
  STRATA_ASSIGN(side->thread_, StartThread(name, [s = side.get()] { s->Serve(); }));
  return Result<std::unique_ptr<SideThread>>(std::move(side));
}

SideThread::~SideThread() {
  stop_ = true;
  bell_.Ring();
}

void SideThread::Begin(std::function<void()> task) {
  STRATA_CHECK(!has_task_);
  task_ = std::move(task);
  has_task_ = true;
  bell_.Ring();
}

void SideThread::Wait() {
  while (true) {
    const uint32_t rings = done_.Rings();
    if (!has_task_) return;
    done_.Wait(rings, wait_);
  }
}

void SideThread::Serve() {
  while (true) {
    const uint32_t rings = bell_.Rings();
    if (stop_) return;
    if (has_task_) {
      task_();
      task_ = nullptr;
      has_task_ = false;
      done_.Ring();
    } else {
      bell_.Wait(rings, wait_);
    }
  }
}

}  // namespace strata
