// WorkPool: threads that take pieces of a call's work beside the calling one: reads that wait for a
// disk, which serves several at a time as fast as one, or rows gathered from memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace strata {

// Thread-safe.
class WorkPool {
 public:
  // `threads` besides the calling one, as debuggers show them; 0 does everything in Run's own
  // thread.
  static Result<std::unique_ptr<WorkPool>> Start(const std::string& name, int threads);
  ~WorkPool();

  // Calls task(0) to task(count - 1), each once, some of them here, and returns when all are done.
  void Run(size_t count, const std::function<void(size_t)>& task);

 private:
  struct Job {
    const std::function<void(size_t)>* task;
    size_t count;
    std::atomic<size_t> next{0};
    size_t done = 0;  // under the pool's mutex
  };

  WorkPool() = default;
  void Serve();
  void Work(Job& job);

  std::mutex mutex_;
  std::condition_variable has_job_;
  std::condition_variable is_done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace strata
