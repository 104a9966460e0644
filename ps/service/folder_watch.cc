#include "ps/service/folder_watch.h"

#include <utility>

#include "base/thread/thread.h"

namespace strata {
namespace {

constexpr TimeNs kFolderLookEvery = 150 * kMillisecond;

}  // namespace

FolderWatch::FolderWatch(std::function<Status()> check, std::function<void(const Status&)> on_lost)
    : check_(std::move(check)), on_lost_(std::move(on_lost)) {}

FolderWatch::~FolderWatch() { Stop(); }

Status FolderWatch::Start() {
  STRATA_ASSIGN(thread_, StartThread("data-watch", [this] { Run(); }));
  return {};
}

void FolderWatch::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  ends_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

Status FolderWatch::verdict() const {
  const MutexLock lock(mutex_);
  return verdict_;
}

// Twice in a row: a folder that is listed while its files change may hide one for a moment.
void FolderWatch::Run() {
  bool seen_before = false;
  MutexLock lock(mutex_);
  const auto is_stopping = [this] {
    mutex_.AssumeHeld();
    return stopping_;
  };
  while (!ends_.WaitFor(mutex_, kFolderLookEvery, is_stopping)) {
    lock.Unlock();
    const Status found = check_();
    lock.Lock();
    const bool seen_again = std::exchange(seen_before, found.code() == StatusCode::kLost);
    if (!seen_before || !seen_again) continue;
    lock.Unlock();
    on_lost_(found);
    lock.Lock();
    verdict_ = found;
    return;
  }
}

}  // namespace strata
