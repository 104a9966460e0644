#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "storage/gpu/hot/residency.h"

namespace strata {
namespace {

constexpr size_t kMapBytesMin = 3 * DevicePool::kPieceBytes;  // it has three arrays
// Of a map that may not grow: with more rows, searches for keys that are not there get long.
constexpr double kLoadFull = 0.85;
// So many rows more than have to go at a time, but no more than a part of all: a search costs some
// launches and waits, and most batches find room then.
constexpr uint64_t kGoAhead = 262144;
constexpr uint64_t kGoPart = 16;

}  // namespace

Residency::Residency(const ResidencyParts& parts, uint64_t rows_max)
    : parts_(parts),
      rows_max_(rows_max),
      share_(parts.pool.shares(), kMapBytesMin),
      map_bytes_first_(kMapBytesMin) {}

bool Residency::NoteShare(bool may_give_back) {
  const DeviceMap* const map = parts_.map.get();
  if (map != nullptr) share_.Need(map->bytes());
  share_bytes_ = share_.Of(parts_.pool.bytes());
  bool is_too_large = false;
  if (map != nullptr && may_give_back) {
    // What was taken beyond by an eighth and a chunk is not worth the trouble, unless somebody
    // lacks it.
    const uint64_t kept =
        share_.IsLacked() ? share_bytes_ : share_bytes_ / 8 * 9 + DevicePool::kChunkBytes;
    share_.AnswerLack();
    is_too_large = map->bytes() > std::max(kept, map_bytes_first_);
  }
  LimitTo(share_bytes_);
  return is_too_large;
}

void Residency::NoteMap(const Status& made) {
  if (made.ok()) {
    map_bytes_first_ = parts_.map->bytes();
    LimitTo(share_.Of(parts_.pool.bytes()));
  } else if (made.code() == StatusCode::kRefused) {
    share_.Lack();
  }
}

void Residency::BeginAnew() {
  parts_.counts.most = 0;
  parts_.evictor.BeginAnew();
  LimitTo(share_bytes_);
}

// Anew for each operation: where others had more than their share, there may have been no room for
// so many.
void Residency::LimitTo(uint64_t bytes) {
  uint64_t rows = std::min(rows_max_, RowsIn(bytes));
  if (parts_.map != nullptr) {
    parts_.map->LimitBytes(bytes);
    // Memory comes by chunks, and the next one may be beyond.
    if (!parts_.map->MayGrow()) {
      const auto slots = static_cast<double>(parts_.map->slots_ready());
      rows = std::min(rows, static_cast<uint64_t>(slots * kLoadFull));
    }
  }
  rows_limit_ = std::max<uint64_t>(1, rows);
}

uint64_t Residency::RowsIn(uint64_t bytes) const {
  constexpr double kPairBytes = 2.0 * kLineBytes + sizeof(uint32_t);
  const double slot_bytes = SlotBytes(parts_.schema.stored_words()) + kPairBytes / kPairSlots;
  return static_cast<uint64_t>(static_cast<double>(bytes) / slot_bytes * kLoadFull);
}

Status Residency::MakeRoom(uint64_t rows) {
  uint64_t& most = parts_.counts.most;
  DeviceMap& map = *parts_.map;
  const bool is_counted = std::exchange(is_counted_, false);
  if (!is_counted && most + rows > rows_limit_) {
    STRATA_ASSIGN(const MapCounts counts, map.Counts(parts_.exec));
    most = counts.rows;
  }
  if (most + rows > rows_limit_) {
    // As much again, so that others know it for one that would take more.
    if (rows_limit_ < rows_max_) share_.Need(2 * map.bytes());
    const uint64_t lacking = most + rows - rows_limit_;
    rows_have_gone_ = true;
    STRATA_TRY(parts_.evictor.Evict(
        std::max(lacking, std::min(lacking + kGoAhead, rows_limit_ / kGoPart))));
    if (most + rows > rows_limit_) {
      return Refused(
          fmt::format("table '{}': its share of the GPU's memory, {}, has no room for {} more "
                      "beside what is in use",
                      parts_.spec.name, Counted(rows_limit_, "row"), rows));
    }
  }
  Status status = map.MakeRoom(parts_.exec, rows, is_counted ? std::optional(most) : std::nullopt);
  if (!status.ok()) {
    // Others have more of the memory than their share: this is all for now. It needs as much again,
    // so that they do not give back a little many times.
    share_.Need(2 * map.bytes());
    if (map.MayGrow()) share_.Lack();
    rows_limit_ = std::min(rows_limit_, most);
    STRATA_TRY(parts_.evictor.Evict(rows));
    status = map.MakeRoom(parts_.exec, rows);
  }
  STRATA_TRY(status);
  parts_.evictor.SweepIfStale();
  most += rows;
  return {};
}

Status Residency::EvictAll() {
  STRATA_TRY(parts_.evictor.EvictAll());
  rows_have_gone_ = false;
  return {};
}

bool Residency::IsFullFor(uint64_t rows) const {
  // Room that was made ahead is for rows for which others have gone.
  const uint64_t ahead = rows_have_gone_ ? std::min(kGoAhead, rows_limit_ / kGoPart) : 0;
  return parts_.counts.most + rows + ahead > rows_limit_;
}

void Residency::SetCounted(uint64_t rows) {
  parts_.counts.most = rows;
  is_counted_ = true;
}

void Residency::NoteOnTheirWay(uint64_t rows) {
  parts_.counts.most += rows;
  is_counted_ = false;
}

}  // namespace strata
