// FolderWatch: looks several times a second whether a server's data folder is still the one that it
// opened. A process that has its files open notices nothing when somebody removes or replaces them.
#pragma once

#include <functional>
#include <thread>

#include "base/thread/mutex.h"
#include "strata/status.h"

namespace strata {

// All members may be called from any thread.
class FolderWatch {
 public:
  // `check` says kLost once the folder is another or gone; other errors are ignored. `on_lost` is
  // called once, before verdict() says so, and nobody looks after it. Both are called on the
  // watch's thread.
  FolderWatch(std::function<Status()> check, std::function<void(const Status&)> on_lost);
  ~FolderWatch();  // Stop

  Status Start();
  void Stop();  // returns when the thread has ended
  // OK, or what `check` said.
  Status verdict() const;

 private:
  void Run();

  const std::function<Status()> check_;
  const std::function<void(const Status&)> on_lost_;
  mutable Mutex mutex_;
  CondVar ends_;
  bool stopping_ STRATA_GUARDED_BY(mutex_) = false;
  Status verdict_ STRATA_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace strata
