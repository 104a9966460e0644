#include "storage/log/spare_segment.h"

#include <fmt/format.h>

#include <utility>

#include "base/failpoint.h"

namespace strata {

Status SpareSegment::Prepare(uint64_t capacity) {
  const MutexLock lock(mutex_);
  if (spare_.capacity >= capacity) return {};
  const uint64_t used = used_->load();
  if (used > options_.bytes_max || capacity > options_.bytes_max - used) {
    return DiskFull(fmt::format(
        "{}: the log occupies {} bytes; a segment of {} bytes more would exceed its limit of {}",
        options_.folder, used, capacity, options_.bytes_max));
  }
  STRATA_FAILPOINT("log.reserve");
  if (spare_.file == nullptr) {
    STRATA_ASSIGN(spare_.file, options_.disk->Create(path_));
  }
  STRATA_TRY(spare_.file->Preallocate(capacity));
  spare_.capacity = capacity;
  return {};
}

Result<SpareSegment::Begun> SpareSegment::Begin(const std::string& path,
                                                std::span<const std::byte> header) {
  // Until the file has its new name: the next spare is made under the old one.
  const MutexLock lock(mutex_);
  STRATA_CHECK(spare_.file != nullptr);
  STRATA_FAILPOINT("log.begin_write");
  STRATA_TRY(spare_.file->Append(header));
  STRATA_FAILPOINT("log.begin_sync");
  STRATA_TRY(spare_.file->Sync());
  STRATA_FAILPOINT("log.begin_rename");
  STRATA_TRY(options_.disk->Rename(path_, path));
  *used_ += spare_.capacity;
  return std::exchange(spare_, {});
}

uint64_t SpareSegment::bytes() const {
  const MutexLock lock(mutex_);
  return spare_.capacity;
}

}  // namespace strata
