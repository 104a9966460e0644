// HistogramBuilder: a leaf's histogram by all threads, whether it has many features or many rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/bins/bin_matrix.h"

namespace strata {

// One thread at a time; works on all of the pool's.
class HistogramBuilder {
 public:
  // Both outlive it.
  HistogramBuilder(const BinMatrix& bins, WorkPool& pool, size_t threads)
      : bins_(bins), pool_(pool), threads_(threads) {}

  // Of the blocks that are asked for. Where there are fewer blocks than threads, parts of the rows
  // are added up apart; Finish puts them together.
  void Build(std::span<const uint32_t> rows, const FixedGradients& gradients,
             std::span<const uint8_t> block_used, std::span<GradientSums> histogram);
  // Makes bins [begin, begin + count) whole. Any number of threads, each with bins of its own.
  void Finish(size_t begin, size_t count, std::span<GradientSums> histogram) const;

 private:
  const BinMatrix& bins_;
  WorkPool& pool_;
  const size_t threads_;
  size_t parts_ = 1;
  std::vector<std::vector<GradientSums>> others_;  // of all parts but the first
};

}  // namespace strata
