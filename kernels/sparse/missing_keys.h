// Keys of a lookup whose rows are not on this GPU: what to ask of the tier below, and the answers
// as they come from there. All pointers and spans are device memory; calls enqueue kernels on
// exec.stream and return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/exec.h"
#include "strata/gpu/hash_map.h"

namespace strata {

// They may repeat. Row m of what answers them belongs to position positions[m] of the lookup.
struct MissingKeys {
  std::span<const uint64_t> keys;
  const uint32_t* positions = nullptr;
};

// Each of them once, by and large by home, as tables in memory lie: by SeededMix.
struct DistinctMissing {
  static constexpr uint32_t kNoRow = ~0U;
  uint64_t* keys = nullptr;     // number j; room for all, as in the others
  uint32_t* numbers = nullptr;  // of missing key m
  uint32_t* rows = nullptr;     // that answers number j, in what came with it; kNoRow: none has yet
  uint32_t* count = nullptr;
};

// At most so many of them. Which of several orders near that by home it is depends on how threads
// run.
constexpr size_t kMissingKeysMax = size_t{1} << 30;
void ListDistinct(const Exec& exec, std::span<const uint64_t> missing, uint64_t home_seed,
                  const DistinctMissing& distinct, std::span<std::byte> scratch);
size_t ListDistinctScratchBytes(size_t missing);

// Rows of some of the numbers `first` to `first` + `numbers_count` - 1, as they are stored.
struct RowsFromBelow {
  const float* rows = nullptr;
  const uint32_t* numbers = nullptr;  // whose they are
  uint32_t count = 0;
  uint32_t first = 0;
  uint32_t numbers_count = 0;
};
// Their values to `out`, wherever their keys are missing.
void AnswerRows(const Exec& exec, const MapRef& map, const RowsFromBelow& from,
                const MissingKeys& missing, const DistinctMissing& distinct, float* out);
// Initial values for those that no row has answered. *hits grows by the others.
void AnswerInitial(const Exec& exec, const MapRef& map, const RowStart& start,
                   const MissingKeys& missing, const DistinctMissing& distinct, float* out,
                   unsigned long long* hits);

}  // namespace strata
