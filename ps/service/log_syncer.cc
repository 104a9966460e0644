#include "ps/service/log_syncer.h"

#include <utility>

#include "base/thread/thread.h"

namespace strata {
namespace {

// What `logged` may lose to a loss of power.
constexpr TimeNs kBackgroundEvery = 50 * kMillisecond;

}  // namespace

LogSyncer::LogSyncer(WriteAheadLog& log, const Clock& clock, LatencyHistogram& seconds,
                     Events events)
    : log_(log), clock_(clock), seconds_(seconds), events_(std::move(events)) {}

LogSyncer::~LogSyncer() { Stop(); }

Status LogSyncer::Start(const std::string& name) {
  STRATA_ASSIGN(thread_, StartThread(name, [this] { Run(); }));
  return {};
}

void LogSyncer::Note(Lsn written, bool wanted) {
  const MutexLock lock(mutex_);
  if (written == written_ && wanted == wanted_) return;
  written_ = written;
  wanted_ = wanted;
  changed_.NotifyOne();
}

void LogSyncer::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

void LogSyncer::Run() {
  MutexLock lock(mutex_);
  while (true) {
    while (!stopping_ && written_ <= log_.synced()) changed_.Wait(mutex_);
    changed_.WaitFor(mutex_, kBackgroundEvery, [this] {
      mutex_.AssumeHeld();
      return stopping_ || wanted_;
    });
    if (stopping_) return;
    lock.Unlock();
    const TimeNs begin = clock_.Now();
    const Lsn before = log_.synced();
    const Status status = log_.Sync();
    seconds_.Observe(clock_.Now() - begin);
    if (!status.ok()) return events_.failed(status);
    events_.synced();
    lock.Lock();
    // A log that has not begun for want of room gets no further however often it is asked.
    if (written_ <= log_.synced() || log_.synced() == before) wanted_ = false;
  }
}

}  // namespace strata
