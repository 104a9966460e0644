// Sums of the leaves of oblivious trees for some rows, whose bins are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/tree/score/bin_forest.h"

namespace strata {

// Past the end of the bins, so many bytes are read whose values do not matter.
constexpr size_t kObliviousSlack = 32;

// Adds the leaf of each tree to the row's sums, out.size() / forest.outputs() rows, tree after
// tree. `bins` has a byte a row, column after column, and the slack after them. Any thread.
void AddObliviousTrees(const BinForestView& forest, const uint8_t* bins, std::span<double> out);

}  // namespace strata
