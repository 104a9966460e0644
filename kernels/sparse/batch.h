// A batch of keys on a GPU: its rows out, and its keys once each with the rows that they have,
// which is what an update starts from. Device memory throughout; calls enqueue kernels on
// exec.stream, allocate nothing and do not synchronise. A batch has at most 2^31 - 1 keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/sparse/table_group.h"
#include "strata/exec.h"

namespace strata {

// The distinct keys of a batch, table by table. Each array has room for the batch, `starts` for one
// more.
struct DistinctKeys {
  uint64_t* keys = nullptr;
  uint64_t* places = nullptr;  // in the table's map; kNowhere: the key has no row
  uint32_t* order = nullptr;   // positions of key j: order[starts[j]] to order[starts[j + 1] - 1],
  uint32_t* starts = nullptr;  // ascending
  uint32_t* lasts = nullptr;   // the last of them
  // Keys with more than kOften positions, in no promised order: from the front those with more than
  // kMostOften, from the back the others.
  uint32_t* often = nullptr;
  uint32_t* missing = nullptr;  // keys that have no row, in no promised order
  uint32_t* count = nullptr;    // of distinct keys
  uint32_t* missing_count = nullptr;
  uint32_t* often_counts = nullptr;  // two: from the front, from the back
  bool none_missing = false;         // the host knows that all keys have a row
};
constexpr uint32_t kOften = 64;
constexpr uint32_t kMostOften = 1024;

// Rows of a batch; what is missing answers with its initial value.
// out: by position (TableGroup). hits[t] grows by the keys of table t that have a row.
void LookUpBatch(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
                 unsigned long long* hits);

// The distinct keys of the batch, and where their rows are. The positions of a key stay in order.
// With `out`, rows go there too, as LookUpBatch gives them: what a training step reads first and
// updates later. Large batches are combined by bins (key_bins.h) and then found. Others, and those
// whose rows are given, have each key's row found first, and are sorted by row: cheaper than by
// key, since a row's number has few bits (CUB's radix sort); keys that have no row get a number by
// hashing. `scratch`: CombineScratchBytes.
void CombineBatch(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
                  const DistinctKeys& distinct, std::span<std::byte> scratch);
size_t CombineScratchBytes(size_t keys);

}  // namespace strata
