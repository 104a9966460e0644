// DeviceMap: the memory and the growth of a hash map on a GPU (kernels/hashmap), whose operations
// take its reference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "storage/gpu/device_pool.h"
#include "strata/exec.h"
#include "strata/gpu/map_ref.h"
#include "strata/status.h"

namespace strata {

struct DeviceMapOptions {
  uint32_t dim = 1;
  uint32_t state_width = 0;
  ElementType value_type = ElementType::kFp32;
  StateTypes state_types = {};
  uint64_t rows_first = 0;  // that it has room for from the start, at a load of kLoadMax
  uint64_t rows_max = 0;    // that it ever may have; addresses are reserved for them
  // All slots from the start, rows_max of them: it never grows, and rows that find no place push
  // out those of lower score.
  bool fixed = false;
  uint64_t score_kept = 0;  // MapRef::score_kept
  // Of the table below, if there is one: rows that come from there lie in this order.
  uint64_t home_seed = SystemRandom64();
};

// Not thread-safe; all work of a map goes over one stream.
class DeviceMap {
 public:
  // Of a map that grows: with more rows than this a slot, it begins to double its pairs.
  static constexpr double kLoadMax = 0.75;
  // Pairs that are split for each row that is made while it doubles, so that it is done before the
  // pairs that are still whole are full: after an eighth of its rows more.
  static constexpr double kSplitsARow = 8.0 / (kLoadMax * kPairSlots);

  static Result<std::unique_ptr<DeviceMap>> Make(const Exec& exec, DevicePool& pool,
                                                 const DeviceMapOptions& options);
  ~DeviceMap();

  // Holds until the next MakeRoom.
  const MapRef& ref() const { return ref_; }

  // To be called before a call that makes up to `rows` rows. kRefused when the pool has no more
  // memory, or rows_max is reached. `there`: how many rows there are, where the caller knows; else
  // the GPU is asked when that matters.
  Status MakeRoom(const Exec& exec, uint64_t rows, std::optional<uint64_t> there = {});

  // It grows no further than to so many bytes; from then on MakeRoom is refused as by a pool that
  // has no more. What is beyond already stays.
  void LimitBytes(size_t bytes) { bytes_limit_ = bytes; }
  // Whether that lets it grow.
  bool MayGrow() const { return BytesFor(pairs_ready_ + 1) <= bytes_limit_; }
  // That there is memory for.
  uint64_t slots_ready() const { return pairs_ready_ * kPairSlots; }

  // Waits for the stream. Exact.
  Result<MapCounts> Counts(const Exec& exec) const;

  uint64_t slots() const { return ref_.pairs() * kPairSlots; }
  size_t bytes() const { return lines_.bytes() + slots_.bytes() + pending_.bytes(); }

  // Walks over all slots in an order that growth does not change: by pair at level 0, slot in the
  // pair, then the hash's further bits, the lowest first (as S. Sanfilippo's Redis scans its
  // tables). Appends the next slots, up to `count`, to *places, and returns where to go on;
  // kNowhere: at the end. A walk begins with 0.
  uint64_t WalkFrom(uint64_t cursor, size_t count, std::vector<uint64_t>* places) const;

 private:
  DeviceMap() = default;
  size_t BytesFor(uint64_t pairs) const;
  Status GrowTo(const Exec& exec, uint64_t pairs);
  Status TakeFewerWhenFull(const Exec& exec, uint64_t rows);

  GrowingArray lines_;
  GrowingArray slots_;
  GrowingArray pending_;
  MapRef ref_;
  uint64_t pairs_ready_ = 0;  // that have memory
  uint64_t pairs_max_ = 0;
  size_t bytes_limit_ = SIZE_MAX;
  uint64_t rows_most_ = 0;  // as many rows there may be at most
  bool fixed_ = false;
};

}  // namespace strata
