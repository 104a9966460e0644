#include "storage/tiered/tier_executor.h"

#include <deque>
#include <thread>

#include "base/thread/mutex.h"
#include "base/thread/thread.h"

namespace strata {
namespace {

class InlineExecutor : public TierExecutor {
 public:
  void Post(std::function<void()> task) override { task(); }
};

class ThreadExecutor : public TierExecutor {
 public:
  ~ThreadExecutor() override {
    const MutexLock lock(mutex_);
    stop_ = true;
    has_task_.NotifyAll();
  }

  Status Start() {
    STRATA_ASSIGN(thread_, StartThread("tiers", [this] { Serve(); }));
    return {};
  }

  void Post(std::function<void()> task) override {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    has_task_.NotifyOne();
  }

 private:
  void Serve() {
    MutexLock lock(mutex_);
    while (true) {
      while (!stop_ && tasks_.empty()) has_task_.Wait(mutex_);
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.Unlock();
      task();
      lock.Lock();
    }
  }

  Mutex mutex_;
  CondVar has_task_;
  std::deque<std::function<void()>> tasks_ STRATA_GUARDED_BY(mutex_);
  bool stop_ STRATA_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace

std::unique_ptr<TierExecutor> MakeInlineExecutor() { return std::make_unique<InlineExecutor>(); }

Result<std::unique_ptr<TierExecutor>> MakeThreadExecutor() {
  auto executor = std::make_unique<ThreadExecutor>();
  STRATA_TRY(executor->Start());
  return std::unique_ptr<TierExecutor>(std::move(executor));
}

}  // namespace strata
