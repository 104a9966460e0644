// GpuLeaves: the rows of a tree's leaves in a GPU's memory, for a grower on the host that asks for
// partitions and histograms of several leaves at a time. So a rank with a GPU takes part in trees
// that ranks grow together; what comes out is what the CPU's kernels make of the same rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/split_search.h"
#include "strata/status.h"

namespace strata {

// A leaf's rows among those of the tree.
struct LeafPlace {
  size_t begin = 0;
  size_t count = 0;
};
struct LeafSplit {
  LeafPlace leaf;
  const Split* split = nullptr;
};
struct LeafHistogram {
  LeafPlace leaf;
  std::span<GradientSums> histogram;  // of all features
};

// One thread at a time.
class GpuLeaves {
 public:
  virtual ~GpuLeaves() = default;

  // Copies the bins, which outlive it. kNotFound: no such GPU, or a build without CUDA; kRefused:
  // too little memory.
  static Result<std::unique_ptr<GpuLeaves>> Open(int device, const BinMatrix& bins,
                                                 std::span<const FeatureShape> shapes);
  // How many GPUs this process sees.
  static size_t Devices();

  // All rows of the bag, which ascend, as one leaf, and their sums. `by_row`: of all rows.
  virtual Result<GradientSums> Start(std::span<const uint32_t> bag,
                                     const FixedGradients& by_row) = 0;
  // Puts the rows of leaves in the order of their children; how many of each are left.
  virtual Status Split(std::span<const LeafSplit> leaves, std::span<int64_t> left) = 0;
  virtual Status Build(std::span<const LeafHistogram> leaves) = 0;
  // The rows of leaves that no longer change, at their places, in any order within each.
  virtual Status Fetch(std::span<const LeafPlace> leaves, std::vector<uint32_t>* rows) = 0;
};

}  // namespace strata
