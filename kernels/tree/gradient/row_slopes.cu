// Gradients that depend on a row's own scores and label.
#include <algorithm>

#include "kernels/tree/gradient/slopes.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint32_t kRowsOfThread = 8;
constexpr uint64_t kRowsOfBlock = kThreads * kRowsOfThread;

// A loss as kernels see it: what it needs to know of all of a row's scores, and the slope of a
// class.
template <typename Loss>
struct RowSlopes {
  Loss loss;
  struct Known {};

  __device__ Known Look(const ScoreView& /*scores*/, uint64_t /*row*/) const { return {}; }
  __device__ LossSlope Of(const Known& /*known*/, double score, float label, uint32_t /*k*/) const {
    return loss(score, label);
  }
};

template <>
struct RowSlopes<loss::OneVsAll> {
  loss::OneVsAll loss;
  struct Known {};

  __device__ Known Look(const ScoreView& /*scores*/, uint64_t /*row*/) const { return {}; }
  __device__ LossSlope Of(const Known& /*known*/, double score, float label, uint32_t k) const {
    return loss(score, static_cast<uint32_t>(label) == k, k);
  }
};

template <>
struct RowSlopes<loss::Softmax> {
  loss::Softmax loss;
  struct Known {
    double largest;
    double sum;
  };

  __device__ Known Look(const ScoreView& scores, uint64_t row) const {
    Known known{scores.At(0, row), 0};
    for (uint32_t k = 1; k < loss.classes; ++k) {
      const double score = scores.At(k, row);
      known.largest = known.largest < score ? score : known.largest;
    }
    for (uint32_t k = 0; k < loss.classes; ++k) {
      known.sum += math::Exp(scores.At(k, row) - known.largest);
    }
    return known;
  }
  __device__ LossSlope Of(const Known& known, double score, float label, uint32_t k) const {
    return loss(math::Exp(score - known.largest) / known.sum, static_cast<uint32_t>(label) == k);
  }
};

template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    Slopes(uint64_t rows, RowSlopes<Loss> of_rows, uint32_t classes, ScoreView scores,
           RowLabels labels, SlopeRoom room) {
  __shared__ uint32_t of_warp[kBlockWarpsMax];
  const uint64_t first = blockIdx.x * kRowsOfBlock + threadIdx.x;
  typename RowSlopes<Loss>::Known known[kRowsOfThread];
#pragma unroll
  for (uint32_t i = 0; i < kRowsOfThread; ++i) {
    const uint64_t row = first + i * kThreads;
    if (row < rows) known[i] = of_rows.Look(scores, row);
  }
  for (uint32_t k = 0; k < classes; ++k) {
    ThreadSizes sizes;
#pragma unroll
    for (uint32_t i = 0; i < kRowsOfThread; ++i) {
      const uint64_t row = first + i * kThreads;
      if (row >= rows) continue;
      const LossSlope exact = of_rows.Of(known[i], scores.At(k, row), labels.labels[row], k);
      const Slope slope = labels.Weigh(exact, row);
      room.slopes[k * rows + row] = slope;
      sizes.Take(slope);
    }
    sizes.AddTo(room.sizes + k, of_warp);
  }
}

template <typename Loss>
uint32_t ClassesOf(const Loss& /*loss*/) {
  return 1;
}
uint32_t ClassesOf(const loss::Softmax& loss) { return loss.classes; }
uint32_t ClassesOf(const loss::OneVsAll& loss) { return loss.classes; }

struct Launcher {
  uint64_t rows;
  const ScoreView& scores;
  const RowLabels& labels;
  const SlopeRoom& room;
  cudaStream_t stream;

  template <typename Loss>
  void operator()(const Loss& loss) const {
    const auto blocks = static_cast<unsigned>((rows + kRowsOfBlock - 1) / kRowsOfBlock);
    Slopes<Loss><<<std::max(1U, blocks), kThreads, 0, stream>>>(
        rows, RowSlopes<Loss>{loss}, ClassesOf(loss), scores, labels, room);
  }
  void operator()(const loss::LambdaRank& /*loss*/) const { STRATA_CHECK(false); }
  void operator()(const loss::XeNdcg& /*loss*/) const { STRATA_CHECK(false); }
};

}  // namespace

void ComputeRowSlopes(uint64_t rows, const GpuLoss& loss, const ScoreView& scores,
                      const RowLabels& labels, const SlopeRoom& room, cudaStream_t stream) {
  std::visit(Launcher{rows, scores, labels, room, stream}, loss);
}

}  // namespace strata::gpu_tree
