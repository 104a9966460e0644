// These functions compute the layers of click models on a GPU; gemm.h has the matrix products. The
// formulas are those of worker/model/layer_graph.h. Sums are fp32 whatever the elements are, and
// they have one order, so that the same input gives the same bits.
//
// Each call enqueues work on the stream of `exec` and waits for nothing. Columns of different types
// may meet. Functions that end in Back get dy, the gradient of y, and add to dx, the gradient of x,
// where they do not say that they overwrite it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/dense/activation.h"
#include "kernels/dense/gpu/columns.h"
#include "strata/exec.h"

namespace strata {

void GpuCopyColumns(const Exec& exec, size_t samples, const GpuColumns& from, const GpuColumns& to);
void GpuAddColumns(const Exec& exec, size_t samples, const GpuColumns& from, const GpuColumns& to);
// y = ((x[0] + x[1]) + x[2]) + ..., each sum rounded as y is.
void GpuAddUp(const Exec& exec, size_t samples, std::span<const GpuColumns> x, const GpuColumns& y);
// Each of `to`, or 0 where it is not added to, + from: one after the other, as two may be the same.
void GpuAddToEach(const Exec& exec, size_t samples, const GpuColumns& from,
                  std::span<const GpuColumns> to, const std::vector<bool>& adds);

// Bytes of scratch that sums over the columns of `width` elements take, here and below.
size_t GpuSumScratchBytes(size_t width);
// out[e] = the sum over samples of weight[i] * x[i][e]. weights: one column; all are 1 where it has
// no data.
void GpuSumColumns(const Exec& exec, size_t samples, const GpuColumns& x, const GpuColumns& weights,
                   float* out, void* scratch);

// seeds[n] = DropoutSeed(pass_seed, n) of as many layers (kernels/dense/linear.h).
void GpuSetSeeds(const Exec& exec, uint64_t pass_seed, size_t layers, uint64_t* seeds);
// Drops units as DropoutForward does. The seed lies on the GPU, so that a recorded launch takes the
// one that is there each time.
void GpuDropout(const Exec& exec, size_t samples, float share, const uint64_t* seed,
                const GpuColumns& y);
// dy becomes 0 where relu and y is not above 0, and else dy * scale; sums[e] = the sum of dy[i][e]
// over samples after that.
void GpuReluBack(const Exec& exec, size_t samples, bool relu, float scale, const GpuColumns& y,
                 const GpuColumns& dy, float* sums, void* scratch);
// Makes the sums of what GpuReluBack has left in scratch, where it was given none.
void GpuJoinSums(const Exec& exec, size_t width, const void* scratch, float* sums);
// Zeros.
void GpuClearColumns(const Exec& exec, size_t samples, const GpuColumns& to);

// y = or += <x, w> + *bias: a linear layer of one output. bias: null is 0.
void GpuDot(const Exec& exec, size_t samples, const GpuColumns& x, const float* w,
            const float* bias, const GpuColumns& y, bool adds);
// dx = or += dy * w.
void GpuDotBack(const Exec& exec, size_t samples, const float* w, const GpuColumns& dy,
                const GpuColumns& dx, bool adds);

void GpuInteraction(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                    const GpuColumns& y);
// dx is overwritten, unless it `adds`.
void GpuInteractionBack(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                        const GpuColumns& dy, const GpuColumns& dx, bool adds);

// sums: samples x (x.width / vectors), of the vectors, for the way back.
void GpuFm(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x, float* sums,
           const GpuColumns& y);
void GpuFmBack(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
               const float* sums, const GpuColumns& dy, const GpuColumns& dx);

// products: <x, w> of each sample, for the way back.
void GpuCross(const Exec& exec, size_t samples, const GpuColumns& x0, const GpuColumns& x,
              const float* w, const float* b, float* products, const GpuColumns& y);
// dproducts: <dy, x0> of each sample, with which the sum of x over samples is w's gradient.
void GpuCrossBack(const Exec& exec, size_t samples, const GpuColumns& x0, const float* w,
                  const float* products, const GpuColumns& dy, float* dproducts,
                  const GpuColumns& dx0, const GpuColumns& dx);

// y = x0 * g + x, element by element.
void GpuGated(const Exec& exec, size_t samples, const GpuColumns& x0, const GpuColumns& g,
              const GpuColumns& x, const GpuColumns& y);
// dg = dy * x0, dx0 += dy * g, dx += dy; sums[e] = the sum of dg[i][e] over samples.
void GpuGatedBack(const Exec& exec, size_t samples, const GpuColumns& x0, const GpuColumns& g,
                  const GpuColumns& dy, const GpuColumns& dg, const GpuColumns& dx0,
                  const GpuColumns& dx, float* sums, void* scratch);

// y = activation(x); both may be the same numbers.
void GpuActivate(const Exec& exec, size_t samples, Activation activation, const GpuColumns& x,
                 const GpuColumns& y);
// dx is overwritten, unless it `adds`; it may be dy then.
void GpuActivateBack(const Exec& exec, size_t samples, Activation activation, const GpuColumns& y,
                     const GpuColumns& dy, const GpuColumns& dx, bool adds);

// y = a * b, element by element.
void GpuMultiply(const Exec& exec, size_t samples, const GpuColumns& a, const GpuColumns& b,
                 const GpuColumns& y);
// da += dy * b, db += dy * a. a and b may be the same numbers.
void GpuMultiplyBack(const Exec& exec, size_t samples, const GpuColumns& a, const GpuColumns& b,
                     const GpuColumns& dy, const GpuColumns& da, const GpuColumns& db);

// x is `vectors` vectors of y's width side by side, and y their sum.
void GpuSumVectors(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                   const GpuColumns& y);
void GpuSumVectorsBack(const Exec& exec, size_t samples, const GpuColumns& dy,
                       const GpuColumns& dx);

// kernels/dense/layer_norm.h. moments: two numbers of each sample, for the way back.
void GpuLayerNorm(const Exec& exec, size_t samples, const GpuColumns& x, const float* scales,
                  const float* biases, float* moments, const GpuColumns& y);
// dscales: the gradient that each sample gives, in fp32; their sum is that of the scales.
void GpuLayerNormBack(const Exec& exec, size_t samples, const GpuColumns& x, const float* scales,
                      const float* moments, const GpuColumns& dy, const GpuColumns& dscales,
                      const GpuColumns& dx);

// kernels/dense/batch_norm.h: of all samples, and what each function there gets. scratch:
// GpuSumScratchBytes(x.width).
void GpuBatchMoments(const Exec& exec, size_t samples, const GpuColumns& x, const float* statistics,
                     float* moments, float* sums, void* scratch);
void GpuRunningMoments(const Exec& exec, size_t width, const float* statistics, float* moments);
void GpuBatchNorm(const Exec& exec, size_t samples, const GpuColumns& x, const float* moments,
                  const float* scales, const float* biases, const GpuColumns& y);
void GpuBatchNormSums(const Exec& exec, size_t samples, const GpuColumns& x, const float* moments,
                      const GpuColumns& dy, float* dscales, float* dbiases, void* scratch);
// dx is overwritten, unless it `adds`.
void GpuBatchNormBack(const Exec& exec, size_t samples, const GpuColumns& x, const float* moments,
                      const float* scales, const float* dscales, const float* dbiases,
                      const GpuColumns& dy, const GpuColumns& dx, bool adds);
void GpuMoveStatistics(const Exec& exec, size_t width, size_t samples, const float* sums,
                       float* statistics);

// dlogits = scale * weight * (sigmoid(logit) - label), and losses = weight * cross entropy.
void GpuCrossEntropy(const Exec& exec, size_t samples, const GpuColumns& logits,
                     const float* labels, const float* weights, float scale,
                     const GpuColumns& dlogits, double* losses);

// The same of the squared errors: dpredictions = scale * 2 * weight * (prediction - label).
void GpuSquaredErrors(const Exec& exec, size_t samples, const GpuColumns& predictions,
                      const float* labels, const float* weights, float scale,
                      const GpuColumns& dpredictions, double* losses);

// *loss = the sum of the samples' losses.
void GpuSumLosses(const Exec& exec, size_t samples, const double* losses, double* loss);

// gradients[i] += scale * parameters[i].
void GpuAddPenalty(const Exec& exec, size_t count, float scale, const float* parameters,
                   float* gradients);

// Numbers as elements of the type.
void GpuConvert(const Exec& exec, const float* from, size_t count, GpuElement type, void* to);

}  // namespace strata
