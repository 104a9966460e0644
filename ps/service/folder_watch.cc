#include "ps/service/folder_watch.h"

#include <chrono>
#include <utility>

#include "base/thread/thread.h"

namespace strata {
namespace {

constexpr std::chrono::milliseconds kFolderLookEvery{150};

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
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status FolderWatch::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_;
}

// Twice in a row: a folder that is listed while its files change may hide one for a moment.
void FolderWatch::Run() {
  bool seen_before = false;
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kFolderLookEvery, [this] { return stopping_; })) {
    lock.unlock();
    const Status found = check_();
    lock.lock();
    const bool seen_again = std::exchange(seen_before, found.code() == StatusCode::kLost);
    if (!seen_before || !seen_again) continue;
    lock.unlock();
    on_lost_(found);
    lock.lock();
    verdict_ = found;
    return;
  }
}

}  // namespace strata
