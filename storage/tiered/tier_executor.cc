#include "storage/tiered/tier_executor.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

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
    const std::lock_guard lock(mutex_);
    stop_ = true;
    has_task_.notify_all();
  }

  Status Start() {
    STRATA_ASSIGN(thread_, StartThread("tiers", [this] { Serve(); }));
    return {};
  }

  void Post(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    has_task_.notify_one();
  }

 private:
  void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      has_task_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable has_task_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
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
