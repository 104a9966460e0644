// FolderWatch: looks several times a second whether a server's data folder is still the one that it
// opened. A process that has its files open notices nothing when somebody removes or replaces them.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

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
  mutable std::mutex mutex_;
  std::condition_variable ends_;
  bool stopping_ = false;  // guarded by mutex_
  Status verdict_;         // likewise
  std::jthread thread_;
};

}  // namespace strata
