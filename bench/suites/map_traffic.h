// What calls of the hash map move between a GPU's chip and its memory, so that a bench can say how
// much of the memory's speed they reach.
#pragma once

#include <cstdint>

namespace strata::bench {

// The keys of a call, by what the map has to do for each.
struct MapKeys {
  uint64_t present = 0;   // have a row
  uint64_t absent = 0;    // have none; a call that makes rows makes theirs
  uint64_t evicting = 0;  // of those absent: took the place of a row
  uint64_t handed = 0;    // of those rows: came out
};

// Scores that the map reads to choose which row goes.
constexpr uint32_t kScoresRead = 5;

// Bytes of all memory sectors (32 bytes) that a call has to touch, once for reading and once for
// writing: digests, the header with the key, rows, and of the batch its keys, rows in and rows out.
// Rows are `dim` floats without state. Not in it: what is touched in vain (a digest that fits by
// chance, a second line), and the lists that a call's kernels hand to one another.
uint64_t FindBytes(uint32_t dim, const MapKeys& keys);
// InsertOrAssign, whose batch brings the rows, and FindOrInsert, which hands them out: as many.
uint64_t InsertBytes(uint32_t dim, const MapKeys& keys);

}  // namespace strata::bench
