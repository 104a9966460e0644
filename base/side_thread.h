// SideThread: a thread that does one task at a time for its owner, who goes on with something else
// meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"

namespace strata {

// Not thread-safe: one owner calls Begin and Wait, in turns.
class SideThread {
 public:
  // `name`: as debuggers show it.
  static Result<std::unique_ptr<SideThread>> Start(const std::string& name);
  ~SideThread();  // the last task has been waited for

  // Runs task() there, and returns at once.
  void Begin(std::function<void()> task);
  // Returns when it is done.
  void Wait();

 private:
  SideThread() = default;
  void Serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // none: there is nothing to do
  bool stop_ = false;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace strata
