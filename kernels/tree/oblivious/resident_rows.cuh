// ResidentRows: the raw values, labels and weights of rows in the memory of a GPU, and sums over
// them, with the bits of the CPU's (ExactUnits). The loss has one output.
#pragma once

#include <span>
#include <vector>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/gradient/exact_units.h"
#include "kernels/tree/oblivious/gpu_oblivious.h"
#include "kernels/tree/oblivious/resized_memory.cuh"
#include "kernels/tree/oblivious/row_losses.h"

namespace strata::gpu_tree {

// Of all rows, times their weights: of the first and minus the second derivative, and of the loss.
struct RowRanges {
  ExactRange first;
  ExactRange second;
  ExactRange loss;
};

// Where a tree takes its rows from.
struct RoundedRows {
  Row32* gradients = nullptr;
  GradientUnits* units = nullptr;
};

struct SampledRows {
  WeightUnit weight_unit;
  bool has_rows = false;  // a factor is above 0
};

// What is summed up over rows: losses, gradients squared, or their sizes.
enum class RowNumber : uint8_t { kLoss, kSquare, kSize };

// Of sizes that are finite.
struct SampleRange {
  double gradient = 0;                     // the largest
  double weight = 0;                       // the largest
  double least_weight = math::Infinity();  // of those that are not 0
  uint64_t has_rows = 0;
};

class ResidentRows {
 public:
  Status Set(const TrainedRows& rows, cudaStream_t stream);

  // Rounds the gradients at the raw values, and the weights, as FixedRows does, unless that has
  // been done since they changed. The losses are summed up on the way.
  Status Round(const RoundedRows& to, cudaStream_t stream);
  // Rounds gradients and weights times the factors of a sample.
  Result<SampledRows> RoundSample(const RowDraw& sample, const RoundedRows& to,
                                  cudaStream_t stream);
  // Others have written where rows were rounded to.
  void ForgetRounding() { is_rounded_ = false; }
  Result<double> SumSquares(cudaStream_t stream);
  Result<double> SumSizes(cudaStream_t stream);
  // Rounds, too.
  Result<double> SumLosses(const RoundedRows& to, cudaStream_t stream);
  // At the values that are tried. `leaves` are the rows' of the tree.
  Result<LeafSums> SumLeaves(const uint16_t* leaves, size_t leaf_count, cudaStream_t stream);
  // `counts` are the rows of each leaf.
  Result<std::vector<double>> SumWeights(const uint16_t* leaves, std::span<const uint32_t> counts,
                                         cudaStream_t stream);
  Status Try(const uint16_t* leaves, std::span<const double> step, cudaStream_t stream);
  Result<double> SumTriedLosses(cudaStream_t stream);
  void Keep();
  Status Add(const uint16_t* leaves, std::span<const double> values, cudaStream_t stream);

 private:
  // Raw values and what is known of them.
  struct Values {
    DeviceMemory<double> raw;
    DeviceMemory<RowRanges> device_ranges;
    RowRanges ranges;
  };

  Status Move(const Values& from, const uint16_t* leaves, std::span<const double> step, Values* to,
              cudaStream_t stream);
  Result<double> SumOf(const Values& values, RowNumber number, cudaStream_t stream);

  size_t rows_ = 0;
  ObliviousLoss loss_;
  WeightUnit weight_unit_;
  ExactRange weight_range_;
  bool have_same_weight_ = false;
  bool is_rounded_ = false;
  DeviceMemory<float> labels_;
  DeviceMemory<float> weights_;
  Values values_[3];
  size_t raw_ = 0;    // the model's
  size_t tried_ = 0;  // where steps of leaves start from
  size_t next_ = 1;   // where the last try went
  DeviceMemory<double> step_;
  DeviceMemory<int64_t> sums_;
  DeviceMemory<int64_t> loss_sum_;
  DeviceMemory<SampleRange> sample_range_;
  ResizedMemory<float> factors_;  // of a sample
};

}  // namespace strata::gpu_tree
