// SideThread: a thread that does one task at a time for its owner, who goes on with something else
// meanwhile.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/thread/bell.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe: one owner calls Wake, Begin and Wait, in turns.
class SideThread {
 public:
  // `name`: as debuggers show it.
  static Result<std::unique_ptr<SideThread>> Start(const std::string& name,
                                                   ThreadWait wait = ThreadWait::kSleep);
  ~SideThread();  // the last task has been waited for

  // A task is about to come: the thread begins to wait for it as ThreadWait says.
  void Wake() { bell_.Ring(); }
  // Runs task() there, and returns at once.
  void Begin(std::function<void()> task);
  // Returns when it is done.
  void Wait();

 private:
  explicit SideThread(ThreadWait wait) : wait_(wait) {}
  void Serve();

  const ThreadWait wait_;
  std::function<void()> task_;
  std::atomic<bool> has_task_{false};  // task_ is the thread's
  std::atomic<bool> stop_{false};
  Bell bell_;  // a task has come, or is about to
  Bell done_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace strata
