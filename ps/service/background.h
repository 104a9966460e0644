// Background: a thread that does work in the order in which it was given.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class Background {
 public:
  // `done` is called on the thread after each piece of work.
  explicit Background(std::function<void()> done) : done_(std::move(done)) {}
  ~Background();  // the work under way is waited for, the rest is dropped

  Status Start(const std::string& name, ThreadPriority priority = ThreadPriority::kLow);
  void Run(std::function<void()> work);

 private:
  void Loop();

  const std::function<void()> done_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ STRATA_GUARDED_BY(mutex_);
  bool stopping_ STRATA_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace strata
