// Scanning on a GPU: all documents are looked at once for up to 128 queries. A table in shared
// memory says for each token which of the queries have it, four words of 32; a lane takes a
// document, adds its tokens' words up in columns (bit q of digit p is digit p of query q's overlap)
// and compares all queries' overlaps with the least ones of the document's length at once.
//
// There is no room for a slot for every token. Those with the smallest ranks, which most documents'
// tokens are, have theirs by rank; of the others only those that a query has, found by a bit for
// each rank and how many are before it.
#pragma once

#include "kernels/setops/gpu_sets.cuh"

namespace strata::gpu_sets {

inline constexpr unsigned kScanQueries = 128;  // of a pass: GpuSets::kScanned
inline constexpr unsigned kSlots = 13'440;     // of a table
inline constexpr unsigned kRankWords = 2048;   // of 32 ranks
inline constexpr unsigned kScanDigits = 8;     // of an overlap
// A document's tokens of ranks below this come first, if it has few tokens.
inline constexpr unsigned kHotRanks = 6144;

// 32 documents in a row.
struct TileInfo {
  uint32_t group;  // the first of its groups
  uint32_t groups;
  uint32_t document;  // its first: block * 65,536 + place
  uint8_t count;      // documents
  uint8_t hot;        // groups, from the first on, in which all have hot tokens alone
  uint16_t length;    // of all of them, or kMixed
  static constexpr uint16_t kMixed = 0xFFFF;
};

// Queries of a pass; together they have at most kSlots tokens.
struct Pass {
  uint32_t first;
  uint32_t count;  // at most kScanQueries
};

struct ScanTable {
  uint32_t direct;           // smaller ranks have the slot of their number
  uint2 others[kRankWords];  // ranks that have a slot, as bits, and the slot of the first
};

struct ScanJob {
  const Block* blocks;
  const TileInfo* tiles;
  uint32_t first_tile;
  uint32_t tiles_count;  // from there on
  const uint4* forward;
  const uint16_t* ranks;  // by token
  uint32_t ranked;        // tokens that have one
  Ranges queries;
  const Pass* passes;
  uint32_t passes_count;
  SetMetric metric;
  Thresholds thresholds;
  const uint32_t* allowed;  // by block and place; null: all
  Candidate* candidates;    // [query][room]
  uint32_t room;
  uint32_t* found;  // [query]
  // Room for what the kernels pass on.
  ScanTable* tables;  // by pass
  uint32_t* marks;    // by token of the queries: slot * kScanQueries + query of the pass
  uint4* least;       // [pass][kLengths][kScanDigits]
};

// Makes tables and marks, which depend on the queries alone.
cudaError_t MakeScanTables(const ScanJob& job, cudaStream_t stream);
// Documents that reach the thresholds become candidates. On so many processors.
cudaError_t Scan(const ScanJob& job, int processors, cudaStream_t stream);

}  // namespace strata::gpu_sets
