// Histograms: for each bin of each feature, the sums of the gradients of the rows in it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/tree/bins/bin_matrix.h"

namespace strata {

// The histograms of the features of one block's columns over rows, which ascend and whose gradients
// stand in the same order, written to histogram[begin of the feature ..]; `histogram` is that of
// all features. Any number of threads, each with blocks of its own.
//
// Sums of 16-bit gradients are kept as 32 + 32 bits in one word, one addition a row and feature,
// and carried over to 64 bits before they can overflow.
void BuildBlockHistogram(const BinMatrix& bins, const BinBlock& block,
                         std::span<const uint32_t> rows, const FixedGradients& gradients,
                         std::span<GradientSums> histogram);

// parent becomes parent - smaller: the histogram of the other child.
void SubtractHistogram(std::span<GradientSums> parent, std::span<const GradientSums> smaller);

// sum becomes sum + part: of rows that were added up apart.
void AddHistogram(std::span<GradientSums> sum, std::span<const GradientSums> part);

}  // namespace strata
