// LogSyncer: brings a lane's log to stable storage, on a thread of its own: at once while somebody
// waits for it (who comes during a sync waits for the next, together), every 50 ms otherwise.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/thread/mutex.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

class LogSyncer {
 public:
  struct Events {
    std::function<void()> synced;               // WriteAheadLog::synced has risen
    std::function<void(const Status&)> failed;  // final: no sync follows
  };
  // All outlive it. The events are called on its thread.
  LogSyncer(WriteAheadLog& log, const Clock& clock, LatencyHistogram& seconds, Events events);
  ~LogSyncer();

  Status Start(const std::string& name);
  // The log is written up to `written`; somebody waits for it. Any thread.
  void Note(Lsn written, bool wanted);
  void Stop();  // a sync that has begun is waited for

 private:
  void Run();

  WriteAheadLog& log_;
  const Clock& clock_;
  LatencyHistogram& seconds_;
  const Events events_;
  Mutex mutex_;
  CondVar changed_;
  Lsn written_ STRATA_GUARDED_BY(mutex_) = 0;
  bool wanted_ STRATA_GUARDED_BY(mutex_) = false;
  bool stopping_ STRATA_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace strata
