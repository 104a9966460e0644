#include "base/thread/work_pool.h"

#include <algorithm>
#include <new>

#include "base/out_of_memory.h"
#include "base/thread/thread.h"

namespace strata {
namespace {

constexpr uint32_t kNoPiece = UINT32_MAX;  // no call has so many

uint64_t NextOf(uint32_t call, uint32_t piece) { return uint64_t{call} << 32 | piece; }
uint32_t CallOf(uint64_t next) { return static_cast<uint32_t>(next >> 32); }
uint32_t PieceOf(uint64_t next) { return static_cast<uint32_t>(next); }

}  // namespace

Result<std::unique_ptr<WorkPool>> WorkPool::Start(const std::string& name, int threads,
                                                  ThreadWait wait) {
  std::unique_ptr<WorkPool> pool(new WorkPool(wait));
  for (int i = 0; i < threads; ++i) {
    STRATA_ASSIGN(auto thread, StartThread(name, [p = pool.get()] { p->Serve(); }));
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

WorkPool::~WorkPool() {
  stop_ = true;
  bell_.Ring();
}

void WorkPool::Run(size_t count, const std::function<void(size_t)>& task) {
  STRATA_CHECK(count < kNoPiece);
  Job* const job = count > 1 && !threads_.empty() ? FreeJob() : nullptr;
  if (job == nullptr) {
    for (size_t i = 0; i < count; ++i) task(i);
    return;
  }
  const auto pieces = static_cast<uint32_t>(count);
  const uint32_t call = ++calls_;
  job->next = NextOf(call, kNoPiece);  // nobody takes any while the rest changes
  job->task = &task;
  job->count = pieces;
  job->done = 0;
  job->lacks_memory = false;
  job->next = NextOf(call, 0);
  bell_.Ring();
  Work(*job);
  const auto is_done = [&] { return job->done == pieces; };
  if (wait_ == ThreadWait::kSpinFirst) static_cast<void>(SpinUntil(is_done));
  for (uint32_t done = job->done; done != pieces; done = job->done) job->done.wait(done);
  const bool lacks_memory = job->lacks_memory;
  job->is_used = false;
  if (lacks_memory) ThrowBadAlloc();
}

void WorkPool::RunPieces(size_t count, size_t piece,
                         const std::function<void(size_t, size_t)>& task) {
  Run((count + piece - 1) / piece,
      [&](size_t n) { task(n * piece, std::min(count, (n + 1) * piece)); });
}

void WorkPool::Serve() {
  while (true) {
    const uint32_t rings = bell_.Rings();
    if (stop_) return;
    if (Job* const job = OldestJob(); job != nullptr) {
      Work(*job);
    } else {
      bell_.Wait(rings, wait_);
    }
  }
}

WorkPool::Job* WorkPool::FreeJob() {
  for (Job& job : jobs_) {
    if (!job.is_used.load(std::memory_order_relaxed) && !job.is_used.exchange(true)) return &job;
  }
  return nullptr;
}

WorkPool::Job* WorkPool::OldestJob() {
  Job* oldest = nullptr;
  uint32_t age = 0;
  const uint32_t now = calls_;
  for (Job& job : jobs_) {
    const uint64_t next = job.next;
    if (PieceOf(next) >= job.count) continue;
    const uint32_t its_age = now - CallOf(next);
    if (oldest != nullptr && its_age <= age) continue;
    oldest = &job;
    age = its_age;
  }
  return oldest;
}

void WorkPool::Work(Job& job) {
  uint64_t next = job.next;
  const uint32_t call = CallOf(next);
  uint32_t count = 0;
  uint32_t done = 0;
  // The call does not end while what was done here has not been told.
  while (CallOf(next) == call) {
    count = job.count;
    const auto* const task = job.task.load();
    if (PieceOf(next) >= count) break;
    if (!job.next.compare_exchange_weak(next, next + 1)) continue;
    try {
      (*task)(PieceOf(next));
    } catch (const std::bad_alloc&) {
      job.lacks_memory = true;
    }
    ++done;
    next = job.next;
  }
  if (done != 0 && job.done.fetch_add(done) + done == count) job.done.notify_all();
}

}  // namespace strata
