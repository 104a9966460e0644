#include <algorithm>
#include <cmath>

#include "base/human_text.h"
#include "kernels/core/cuda_status.cuh"
#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/device_map.h"
#include "storage/row_schema.h"
#include "strata/gpu/hash_map.h"

namespace strata {
namespace {

constexpr uint32_t kPairsTried = 64;      // of a map that grows
constexpr uint32_t kPairsTriedFixed = 2;  // beyond them a lower score makes room
constexpr double kLoadLast = 0.9;         // of a map that cannot grow any more

uint64_t PairsFor(double rows, double load) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(rows / (load * kPairSlots))));
}

}  // namespace

Result<std::unique_ptr<DeviceMap>> DeviceMap::Make(const Exec& exec, DevicePool& pool,
                                                   const DeviceMapOptions& options) {
  auto map = std::unique_ptr<DeviceMap>(new DeviceMap());
  MapRef& ref = map->ref_;
  const auto rows_max = static_cast<double>(options.rows_max);
  ref.pairs_base = options.fixed ? PairsFor(rows_max, 1.0)
                                 : PairsFor(static_cast<double>(options.rows_first), kLoadMax);
  map->pairs_max_ = options.fixed ? ref.pairs_base
                                  : std::clamp(PairsFor(rows_max, kLoadLast), ref.pairs_base,
                                               ref.pairs_base << kLevelMax);
  map->fixed_ = options.fixed;
  ref.pairs_tried = ref.pairs_taken = options.fixed ? kPairsTriedFixed : kPairsTried;
  ref.score_kept = options.score_kept;
  ref.home_seed = options.home_seed;
  ref.dim = options.dim;
  ref.state_width = options.state_width;
  ref.value_type = options.value_type;
  ref.state_types = options.state_types;
  const RowSchema schema = {options.dim, options.state_width, options.value_type,
                            options.state_types};
  ref.state_offset = static_cast<uint32_t>(schema.state_offset());
  ref.row_words = schema.stored_words();
  ref.slot_bytes = SlotBytes(ref.row_words);
  STRATA_TRY(map->lines_.Reserve(pool, map->pairs_max_ * 2 * kLineBytes));
  STRATA_TRY(map->slots_.Reserve(pool, map->pairs_max_ * kPairSlots * ref.slot_bytes));
  STRATA_TRY(map->pending_.Reserve(pool, map->pairs_max_ * sizeof(uint32_t)));
  ref.lines = reinterpret_cast<uint8_t*>(map->lines_.data());
  ref.pending = reinterpret_cast<uint32_t*>(map->pending_.data());
  ref.slots = map->slots_.data();
  const auto stream = StreamOf(exec);
  STRATA_TRY(FromAllocation(cudaMalloc(&ref.counts, sizeof(MapCounts)), "memory for counts"));
  STRATA_TRY(FromCuda(cudaMemsetAsync(ref.counts, 0, sizeof(MapCounts), stream), "counts"));
  STRATA_TRY(map->GrowTo(exec, ref.pairs_base));
  return Result<std::unique_ptr<DeviceMap>>(std::move(map));
}

DeviceMap::~DeviceMap() {
  if (ref_.counts != nullptr) (void)cudaFree(ref_.counts);
}

size_t DeviceMap::BytesFor(uint64_t pairs) const {
  return GrowingArray::BytesFor(pairs * 2 * kLineBytes) +
         GrowingArray::BytesFor(pairs * kPairSlots * ref_.slot_bytes) +
         GrowingArray::BytesFor(pairs * sizeof(uint32_t));
}

Status DeviceMap::GrowTo(const Exec& exec, uint64_t pairs) {
  if (pairs <= pairs_ready_) return {};
  // All that fits the memory that is taken anyway.
  const uint64_t pair_bytes = uint64_t{kPairSlots} * ref_.slot_bytes;
  pairs = std::min(pairs_max_,
                   std::max(pairs, GrowingArray::BytesFor(pairs * pair_bytes) / pair_bytes));
  if (BytesFor(pairs) > bytes_limit_) {
    return Refused(fmt::format("{} of the GPU's memory are asked for, {} are its share",
                               HumanBytes(BytesFor(pairs)), HumanBytes(bytes_limit_)));
  }
  STRATA_TRY(lines_.Grow(pairs * 2 * kLineBytes));
  STRATA_TRY(slots_.Grow(pairs * kPairSlots * ref_.slot_bytes));
  STRATA_TRY(pending_.Grow(pairs * sizeof(uint32_t)));
  const auto stream = StreamOf(exec);
  const uint64_t more = pairs - pairs_ready_;
  STRATA_TRY(FromCuda(
      cudaMemsetAsync(ref_.lines + pairs_ready_ * 2 * kLineBytes, 0, more * 2 * kLineBytes, stream),
      "new lines"));
  STRATA_TRY(FromCuda(
      cudaMemsetAsync(ref_.slots + pairs_ready_ * pair_bytes, 0xff, more * pair_bytes, stream),
      "new slots"));
  STRATA_TRY(
      FromCuda(cudaMemsetAsync(ref_.pending + pairs_ready_, 0, more * sizeof(uint32_t), stream),
               "new pairs"));
  pairs_ready_ = pairs;
  return {};
}

Status DeviceMap::MakeRoom(const Exec& exec, uint64_t rows, std::optional<uint64_t> there) {
  rows_most_ = there.value_or(rows_most_);
  if (fixed_) return TakeFewerWhenFull(exec, rows);
  const auto load_with = [&](uint64_t more) {
    return static_cast<double>(rows_most_ + more) / static_cast<double>(slots());
  };
  if (!there.has_value() && load_with(rows) > kLoadMax && ref_.pairs() < pairs_max_) {
    // What is counted is what may be at most: every key without a row of every batch since. Look.
    STRATA_ASSIGN(const MapCounts counts, Counts(exec));
    rows_most_ = counts.rows;
  }
  uint64_t splits = 0;
  if (ref_.split != 0 || load_with(rows) > kLoadMax) {
    splits = static_cast<uint64_t>(std::ceil(static_cast<double>(rows) * kSplitsARow));
    splits = std::min(splits, (ref_.pairs_base << ref_.level) - ref_.split);  // no second doubling
  }
  const uint64_t enough = PairsFor(static_cast<double>(rows_most_ + rows), kLoadLast);
  if (enough > ref_.pairs()) splits = std::max(splits, enough - ref_.pairs());
  splits = std::min(splits, pairs_max_ - ref_.pairs());
  while (splits > 0) {
    uint64_t now = std::min(splits, (ref_.pairs_base << ref_.level) - ref_.split);
    Status grown = GrowTo(exec, ref_.pairs() + now);
    while (grown.code() == StatusCode::kRefused && now > 1) {  // by what is left, then
      now /= 2;
      grown = GrowTo(exec, ref_.pairs() + now);
    }
    if (!grown.ok()) {
      if (grown.code() != StatusCode::kRefused || enough > ref_.pairs()) return grown;
      break;  // what there is will do
    }
    SplitPairs(exec, ref_, now);
    Advance(&ref_, now);
    splits -= now;
  }
  if (load_with(rows) > kLoadLast) {
    STRATA_ASSIGN(const MapCounts counts, Counts(exec));
    rows_most_ = counts.rows;
    if (load_with(rows) > kLoadLast) {
      return Refused(fmt::format("{} have no room for {} beside {}", Counted(slots(), "slot"),
                                 Counted(rows, "row"), rows_most_));
    }
  }
  rows_most_ += rows;
  return FromCuda(cudaGetLastError(), "growing");
}

// Once there is little room anywhere, keys do not look for it beyond their first pair: they would
// find none, and mark the way there for all searches to come.
Status DeviceMap::TakeFewerWhenFull(const Exec& exec, uint64_t rows) {
  if (ref_.pairs_taken == 1) return {};
  const auto full = static_cast<uint64_t>(static_cast<double>(slots()) * kLoadLast);
  if (rows_most_ + rows > full) {
    STRATA_ASSIGN(const MapCounts counts, Counts(exec));
    rows_most_ = counts.rows;
    if (rows_most_ + rows > full) ref_.pairs_taken = 1;
  }
  rows_most_ += rows;
  return {};
}

// A cursor: pair at level 0 | slot, 5 bits | the further bits, mirrored, 24 bits. The pairs of one
// pair at level 0 share it by intervals of those bits, which a split halves.
uint64_t DeviceMap::WalkFrom(uint64_t cursor, size_t count, std::vector<uint64_t>* places) const {
  const auto mirrored = [](uint64_t bits) {
    uint64_t result = 0;
    for (uint32_t i = 0; i < kLevelMax; ++i) result |= (bits >> i & 1) << (kLevelMax - 1 - i);
    return result;
  };
  uint64_t bits = cursor & ((uint64_t{1} << kLevelMax) - 1);
  uint64_t slot = cursor >> kLevelMax & 31;
  uint64_t base = cursor >> (kLevelMax + 5);
  for (; count > 0 && base < ref_.pairs_base; --count) {
    // The pair that a hash of these bits names, and how many of them name it.
    const uint64_t low = mirrored(bits);
    uint32_t level = ref_.level;
    uint64_t pair = base + ref_.pairs_base * (low & ((uint64_t{1} << level) - 1));
    if (pair < ref_.split) {
      ++level;
      pair = base + ref_.pairs_base * (low & ((uint64_t{1} << level) - 1));
    }
    places->push_back(pair * 2 * kLineBytes + slot);
    bits += uint64_t{1} << (kLevelMax - level);
    if (bits == uint64_t{1} << kLevelMax) {
      bits = 0;
      if (++slot == 2 * kLineBytes) {
        slot = 0;
        ++base;
      }
    }
  }
  if (base >= ref_.pairs_base) return kNowhere;
  return base << (kLevelMax + 5) | slot << kLevelMax | bits;
}

Result<MapCounts> DeviceMap::Counts(const Exec& exec) const {
  MapCounts counts = {};
  const auto stream = StreamOf(exec);
  STRATA_TRY(FromCuda(
      cudaMemcpyAsync(&counts, ref_.counts, sizeof counts, cudaMemcpyDefault, stream), "counts"));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "counts"));
  return counts;
}

}  // namespace strata
