// WorkPool: threads that take pieces of a call's work beside the calling one: reads that wait for a
// disk, which serves several at a time as fast as one, or rows gathered from memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"

namespace strata {

// How threads wait for work. Those that gather rows are asked again within microseconds; to wake
// them takes longer than their piece of the work.
enum class PoolWait : uint8_t { kSleep, kSpinFirst };

// Thread-safe.
class WorkPool {
 public:
  // `threads` besides the calling one, as debuggers show them; 0 does everything in Run's own
  // thread.
  static Result<std::unique_ptr<WorkPool>> Start(const std::string& name, int threads,
                                                 PoolWait wait = PoolWait::kSleep);
  ~WorkPool();

  // A Run is about to come: threads that sleep begin to wait for it as PoolWait says.
  void Wake();
  // Calls task(0) to task(count - 1), each once, some of them here, and returns when all are done.
  void Run(size_t count, const std::function<void(size_t)>& task);
  // The same for 0 to count - 1 in pieces: task(begin, end), none longer than `piece`.
  void RunPieces(size_t count, size_t piece, const std::function<void(size_t, size_t)>& task);

 private:
  struct Job {
    const std::function<void(size_t)>* task;
    size_t count;
    std::atomic<size_t> next{0};
    std::atomic<size_t> done{0};
  };

  explicit WorkPool(PoolWait wait) : wait_(wait) {}
  // True once is_met(), if that comes within the time that is spent spinning.
  template <typename Condition>
  bool Spin(const Condition& is_met) const;
  void Serve();
  void Work(Job& job);

  const PoolWait wait_;
  std::atomic<uint64_t> posted_{0};  // jobs so far
  std::mutex mutex_;
  std::condition_variable has_job_;
  std::condition_variable is_done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  uint64_t wakes_ = 0;  // so far
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace strata
