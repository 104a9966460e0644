#include "base/work_pool.h"

#include <algorithm>

#include "base/thread.h"

namespace strata {
namespace {

constexpr int kSpins = 8000;  // a few hundred microseconds

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Result<std::unique_ptr<WorkPool>> WorkPool::Start(const std::string& name, int threads,
                                                  PoolWait wait) {
  std::unique_ptr<WorkPool> pool(new WorkPool(wait));
  for (int i = 0; i < threads; ++i) {
    STRATA_ASSIGN(auto thread, StartThread(name, [p = pool.get()] { p->Serve(); }));
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

WorkPool::~WorkPool() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  has_job_.notify_all();
}

template <typename Condition>
bool WorkPool::Spin(const Condition& is_met) const {
  if (wait_ != PoolWait::kSpinFirst) return false;
  for (int i = 0; i < kSpins; ++i) {
    if (is_met()) return true;
    Pause();
  }
  return false;
}

void WorkPool::Run(size_t count, const std::function<void(size_t)>& task) {
  if (count == 0) return;
  if (count == 1 || threads_.empty()) {
    for (size_t i = 0; i < count; ++i) task(i);
    return;
  }
  const auto job = std::make_shared<Job>();
  job->task = &task;
  job->count = count;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    ++posted_;
    has_job_.notify_all();
  }
  Work(*job);
  const auto is_done = [&] { return job->done == job->count; };
  static_cast<void>(Spin(is_done));
  std::unique_lock lock(mutex_);
  std::erase(jobs_, job);
  is_done_.wait(lock, is_done);
}

void WorkPool::RunPieces(size_t count, size_t piece,
                         const std::function<void(size_t, size_t)>& task) {
  Run((count + piece - 1) / piece,
      [&](size_t n) { task(n * piece, std::min(count, (n + 1) * piece)); });
}

void WorkPool::Wake() {
  const std::lock_guard lock(mutex_);
  ++wakes_;
  has_job_.notify_all();
}

void WorkPool::Serve() {
  std::unique_lock lock(mutex_);
  uint64_t wakes_seen = 0;
  while (true) {
    if (!stop_ && jobs_.empty()) {
      const uint64_t seen = posted_;
      lock.unlock();
      static_cast<void>(Spin([&] { return posted_ != seen; }));
      lock.lock();
    }
    has_job_.wait(lock, [&] { return stop_ || !jobs_.empty() || wakes_ != wakes_seen; });
    if (stop_) return;
    wakes_seen = wakes_;
    if (jobs_.empty()) continue;
    const std::shared_ptr<Job> job = jobs_.front();
    if (job->next.load(std::memory_order_relaxed) >= job->count) {
      jobs_.pop_front();  // all of it is taken
      continue;
    }
    lock.unlock();
    Work(*job);
    lock.lock();
  }
}

void WorkPool::Work(Job& job) {
  size_t done = 0;
  for (size_t i = job.next++; i < job.count; i = job.next++, ++done) (*job.task)(i);
  if (done == 0) return;
  const std::lock_guard lock(mutex_);
  job.done += done;
  if (job.done == job.count) is_done_.notify_all();
}

}  // namespace strata
