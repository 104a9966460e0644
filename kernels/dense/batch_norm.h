// Batch normalisation (Ioffe and Szegedy, "Batch Normalization", ICML 2015). Each column is shifted
// and scaled to mean 0 and variance 1 over the samples of a batch, then by parameters of the layer.
// Training keeps statistics of its batches, by which samples are scored one by one.
//
// `moments` hold the means of a layer's columns, and then one over the root of each variance.
// `statistics` hold the running means, and then the running variances. `sums` hold the sums over
// samples of x - running mean, and then those of its square. Ranks may add up theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/core/math.h"
#include "strata/exec.h"
#include "strata/host_device.h"

namespace strata {

// This is added to a variance, as the libraries of the field do.
constexpr float kBatchNormEpsilon = 1e-5F;
// The part that a batch has in the running statistics after it: PyTorch's momentum.
constexpr double kBatchNormMomentum = 0.1;

// Row i of x (dx) begins at i * x_stride, and that of y (dy) at i * y_stride.
struct BatchNormShape {
  size_t samples = 0;
  size_t width = 0;
  size_t x_stride = 0;
  size_t y_stride = 0;
};

// Returns what x - mean is multiplied by.
STRATA_HD float NormalScale(double variance) {
  return static_cast<float>(1 / math::Sqrt(variance + kBatchNormEpsilon));
}

// Moves a column's running mean and variance by those of a batch of two samples or more. `sum` and
// `square_sum` are the column's `sums`. The batch's variance is the unbiased one.
STRATA_HD void MoveColumn(double samples, double sum, double square_sum, float* mean,
                          float* variance) {
  const double apart = sum / samples;  // the batch's mean from the running one
  const double squares = square_sum - sum * apart;
  const double of_batch = (squares < 0 ? 0 : squares) / (samples - 1);  // below 0 by rounding
  *mean = static_cast<float>(*mean + kBatchNormMomentum * apart);
  *variance =
      static_cast<float>((1 - kBatchNormMomentum) * *variance + kBatchNormMomentum * of_batch);
}

// The moments of the batch and its sums, of one sample or more. `threads` help, and change no bits;
// null: the calling thread works alone.
void BatchMoments(const Exec& exec, const BatchNormShape& shape, std::span<const float> x,
                  std::span<const float> statistics, std::span<float> moments,
                  std::span<float> sums, WorkPool* threads);
// The moments by which samples are scored.
void RunningMoments(const Exec& exec, std::span<const float> statistics, std::span<float> moments);

// y = (x - mean) * (one over the root) * scales + biases.
void BatchNorm(const Exec& exec, const BatchNormShape& shape, std::span<const float> x,
               std::span<const float> moments, std::span<const float> scales,
               std::span<const float> biases, std::span<float> y);

// dscales and dbiases = the gradients, of all samples of the batch. `threads` as above.
void BatchNormSums(const Exec& exec, const BatchNormShape& shape, std::span<const float> x,
                   std::span<const float> moments, std::span<const float> dy,
                   std::span<float> dscales, std::span<float> dbiases, WorkPool* threads);
// dx = the gradient of some of the batch's samples, or is added to where it `adds`. The other
// gradients are those of BatchNormSums, over all `batch_samples`.
void BatchNormBack(const Exec& exec, const BatchNormShape& shape, size_t batch_samples,
                   std::span<const float> x, std::span<const float> moments,
                   std::span<const float> scales, std::span<const float> dscales,
                   std::span<const float> dbiases, std::span<const float> dy, std::span<float> dx,
                   bool adds);

// MoveColumn of each column, by the sums of a batch of `samples`. One sample has no variance, and
// leaves the statistics as they are.
void MoveStatistics(const Exec& exec, uint64_t samples, std::span<const float> sums,
                    std::span<float> statistics);

}  // namespace strata
