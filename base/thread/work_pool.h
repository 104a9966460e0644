// WorkPool: threads that take pieces of a call's work beside the calling one: reads that wait for a
// disk, which serves several at a time as fast as one, or rows gathered from memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/thread/bell.h"
#include "strata/status.h"

namespace strata {

// Thread-safe. No lock: threads that wait for one sleep, and waking takes longer than a piece of
// the work.
class WorkPool {
 public:
  // `threads` besides the calling one, as debuggers show them; 0 does everything in Run's own
  // thread. Those that gather rows are asked again within microseconds, and spin first.
  static Result<std::unique_ptr<WorkPool>> Start(const std::string& name, int threads,
                                                 ThreadWait wait = ThreadWait::kSleep);
  ~WorkPool();

  // That a Run may use, the calling one too.
  size_t threads() const { return threads_.size() + 1; }
  // A Run is about to come: threads that sleep begin to wait for it as ThreadWait says.
  void Wake() { bell_.Ring(); }
  // Calls task(0) to task(count - 1), each once, some of them here, and returns when all are done.
  // Fewer than 2^32 - 1 of them. If memory runs out in one of them the others are done, and
  // std::bad_alloc comes from here.
  void Run(size_t count, const std::function<void(size_t)>& task);
  // The same for 0 to count - 1 in pieces: task(begin, end), none longer than `piece`.
  void RunPieces(size_t count, size_t piece, const std::function<void(size_t, size_t)>& task);

 private:
  // A call of Run, one after the other. Which call it is and which piece of it is next are one
  // word, so that nobody takes a piece of a call that he has not looked at.
  struct alignas(64) Job {
    std::atomic<bool> is_used{false};
    std::atomic<uint64_t> next{0};  // number of the call << 32 | piece
    std::atomic<uint32_t> count{0};
    std::atomic<const std::function<void(size_t)>*> task{nullptr};
    alignas(64) std::atomic<uint32_t> done{0};
    std::atomic<bool> lacks_memory{false};  // in one of the pieces
  };
  static constexpr size_t kJobs = 16;  // further calls at a time do their work by themselves

  explicit WorkPool(ThreadWait wait) : wait_(wait) {}
  void Serve();
  Job* FreeJob();
  Job* OldestJob();  // of those with pieces that nobody has taken; null: none
  static void Work(Job& job);

  const ThreadWait wait_;
  std::array<Job, kJobs> jobs_;
  std::atomic<uint32_t> calls_{0};  // so far
  Bell bell_;                       // there may be something to do
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

// WorkPool::RunPieces of `threads`, or the same pieces in the calling thread where there are none
// (null) or one piece is enough. Pieces begin at multiples of `piece`.
template <typename Task>
void RunPieces(WorkPool* threads, size_t count, size_t piece, const Task& task) {
  if (threads != nullptr && count > piece) return threads->RunPieces(count, piece, task);
  for (size_t begin = 0; begin < count; begin += piece) {
    task(begin, std::min(begin + piece, count));
  }
}

}  // namespace strata
