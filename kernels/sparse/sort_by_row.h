// A batch's keys in the order of their rows, on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/exec.h"

namespace strata {

// index[k] is the row of key k, below `rows`; each row has a key or more. Afterwards the keys of
// row r are sorted[starts[r]] to sorted[starts[r + 1] - 1], ascending. `sorted` has room for all
// keys, `starts` for rows + 1. Device memory; enqueues on exec.stream, allocates nothing and does
// not synchronise. At most 2^31 - 1 keys. `scratch`: SortByRowScratchBytes.
void SortByRow(const Exec& exec, const uint32_t* index, size_t keys, size_t rows, uint32_t* sorted,
               uint32_t* starts, std::span<std::byte> scratch);
size_t SortByRowScratchBytes(size_t keys);

}  // namespace strata
