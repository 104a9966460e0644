#include <algorithm>
#include <variant>

#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/oblivious/resident_rows.cuh"
#include "kernels/tree/oblivious/row_rounding.h"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kGridMax = 1056;
constexpr unsigned kSumThreads = 1024;  // where a block of threads has sums of all leaves
constexpr unsigned kSumGridMax = 264;
constexpr size_t kSharedLeavesMax = 256;  // whose sums a block of threads has by itself
constexpr size_t kLeavesMax = size_t{1} << 16;
constexpr char kWhat[] = "rows of training data on the GPU";

struct RowView {
  uint64_t rows = 0;
  const float* labels = nullptr;
  const float* weights = nullptr;
  const double* raw = nullptr;
};

unsigned GridFor(uint64_t rows) { return std::min(kGridMax, BlocksFor(rows, kThreads)); }

unsigned SumGridFor(uint64_t rows) { return std::min(kSumGridMax, BlocksFor(rows, kSumThreads)); }

// Calls visit(row) for the rows of a thread.
template <typename Visit>
__device__ void ForRows(uint64_t rows, const Visit& visit) {
  for (uint64_t row = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; row < rows;
       row += uint64_t{gridDim.x} * blockDim.x) {
    visit(row);
  }
}

// What a row has of a loss, times its weight.
struct RowNumbers {
  double first;
  double second;
};

template <typename Loss>
__device__ RowNumbers NumbersOf(const RowView& view, const Loss& loss, uint64_t row) {
  const RowDerivatives d = loss.Derive(view.raw[row], view.labels[row]);
  const double weight = view.weights[row];
  return {weight * d.first, -weight * d.second};
}
template <typename Loss>
__device__ double LossOf(const RowView& view, const Loss& loss, uint64_t row) {
  return view.weights[row] * loss.Value(view.raw[row], view.labels[row]);
}

// A block of threads: into memory that ClearRanges has written.
__device__ void AddRange(const ExactRange& range, unsigned long long* of_warp, ExactRange* to) {
  const auto bits = static_cast<unsigned long long>(math::BitsOf(range.largest));
  const unsigned long long largest = ShuffleReduceMax(bits, 0ULL, of_warp);
  const bool are_finite = __syncthreads_count(range.are_finite ? 0 : 1) == 0;
  if (threadIdx.x != 0) return;
  atomicMax(reinterpret_cast<unsigned long long*>(&to->largest), largest);
  if (!are_finite) to->are_finite = false;
}

__global__ void ClearRanges(RowRanges* ranges) { *ranges = {}; }

// Adds the step of each row's leaf, if there are leaves.
template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    MoveRows(RowView from, const __grid_constant__ Loss loss, const uint16_t* leaves,
             const double* step, double* to, RowRanges* ranges) {
  __shared__ unsigned long long of_warp[kBlockWarpsMax];
  RowRanges own;
  RowView moved = from;
  moved.raw = to;
  ForRows(from.rows, [&](uint64_t row) {
    if (leaves != nullptr) to[row] = from.raw[row] + step[leaves[row]];
    const RowNumbers numbers = NumbersOf(moved, loss, row);
    own.first.Add(numbers.first);
    own.second.Add(numbers.second);
    own.loss.Add(LossOf(moved, loss, row));
  });
  AddRange(own.first, of_warp, &ranges->first);
  AddRange(own.second, of_warp, &ranges->second);
  AddRange(own.loss, of_warp, &ranges->loss);
}

__global__ void __launch_bounds__(kThreads) FillRows(uint64_t rows, double value, double* raw) {
  ForRows(rows, [&](uint64_t row) { raw[row] = value; });
}

__device__ void AddSum(int64_t sum, int64_t* of_warp, int64_t* to) {
  const int64_t all = ShuffleReduceSum(sum, of_warp);
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(all));
  }
}

template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    RoundRows(RowView view, const __grid_constant__ Loss loss, const RowRanges* ranges,
              double weight_unit, Row32* gradients, GradientUnits* units, int64_t* loss_sum) {
  __shared__ int64_t of_warp[kBlockWarpsMax];
  const ExactUnits loss_units = ExactUnits::For(ranges->loss.largest, view.rows);
  int64_t sum = 0;
  const double unit = Row32Unit(ranges->first.largest);
  if (blockIdx.x == 0 && threadIdx.x == 0) *units = {.gradient = unit, .hessian = weight_unit};
  const double gradients_per_one = 1 / unit;
  const double weights_per_one = 1 / weight_unit;
  ForRows(view.rows, [&](uint64_t row) {
    gradients[row] = {.gradient = ToRow32(NumbersOf(view, loss, row).first, gradients_per_one),
                      .hessian = ToRow32(view.weights[row], weights_per_one)};
    sum += loss_units.Of(LossOf(view, loss, row));
  });
  AddSum(sum, of_warp, loss_sum);
}

// Not negative numbers are ordered as their bits are.
__device__ void PutLargest(double number, unsigned long long* of_warp, double* to) {
  const unsigned long long bits =
      ShuffleReduceMax(static_cast<unsigned long long>(math::BitsOf(number)), 0ULL, of_warp);
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<unsigned long long*>(to), bits);
}
__device__ void PutLeast(double number, unsigned long long* of_warp, double* to) {
  const unsigned long long bits =
      ShuffleReduceMin(static_cast<unsigned long long>(math::BitsOf(number)), ~0ULL, of_warp);
  if (threadIdx.x == 0) atomicMin(reinterpret_cast<unsigned long long*>(to), bits);
}

__global__ void ClearSampleRange(SampleRange* range) { *range = {}; }

__global__ void __launch_bounds__(kThreads)
    DrawRows(uint64_t rows, RowDraw sample, float* factors) {
  ForRows(rows, [&](uint64_t row) { factors[row] = sample.FactorOf(row); });
}

// A block of threads has the rows of a threshold.
template <typename Loss>
__global__ void __launch_bounds__(kSumThreads)
    DrawMvs(RowView view, const __grid_constant__ Loss loss, RowDraw sample, float* factors) {
  constexpr unsigned kOfThread = kMvsRows / kSumThreads;
  __shared__ unsigned long long of_warp[kBlockWarpsMax];
  const uint64_t begin = uint64_t{blockIdx.x} * kMvsRows;
  const uint64_t count = min(uint64_t{kMvsRows}, view.rows - begin);
  double sizes[kOfThread];
  double largest = 0;
#pragma unroll
  for (unsigned k = 0; k < kOfThread; ++k) {
    const uint64_t i = k * kSumThreads + threadIdx.x;
    if (i >= count) continue;
    const double first = NumbersOf(view, loss, begin + i).first;
    sizes[k] = sample.SizeOf(first * first);
    largest = sizes[k] > largest ? sizes[k] : largest;
  }
  const unsigned long long most =
      ShuffleReduceMax(static_cast<unsigned long long>(math::BitsOf(largest)), 0ULL, of_warp);
  const ExactUnits units = ExactUnits::For(math::FromBits(most), kMvsRows);
  const double wanted = sample.share * static_cast<double>(count);
  const auto sums_below = [&](double size, bool with_equal) {
    int64_t below = 0;
    int others = 0;
#pragma unroll
    for (unsigned k = 0; k < kOfThread; ++k) {
      const uint64_t i = k * kSumThreads + threadIdx.x;
      if (i >= count) continue;
      const bool is_below = sizes[k] < size || (with_equal && sizes[k] == size);
      below += is_below ? units.Of(sizes[k]) : 0;
      others += is_below ? 0 : 1;
    }
    MvsSums sums;
    sums.below =
        static_cast<int64_t>(ShuffleReduceSum(static_cast<unsigned long long>(below), of_warp));
    sums.others =
        static_cast<uint32_t>(ShuffleReduceSum(static_cast<unsigned long long>(others), of_warp));
    return sums;
  };
  // The largest size that keeps more than wanted, by its bits.
  unsigned long long keeps = 0;
  unsigned long long ends = most + 1;
  while (ends - keeps > 1) {
    const unsigned long long middle = keeps + (ends - keeps) / 2;
    const double size = math::FromBits(middle);
    if (sums_below(size, false).KeepsMore(units, size, wanted)) {
      keeps = middle;
    } else {
      ends = middle;
    }
  }
  const double threshold = sums_below(math::FromBits(keeps), true).Threshold(units, wanted);
#pragma unroll
  for (unsigned k = 0; k < kOfThread; ++k) {
    const uint64_t i = k * kSumThreads + threadIdx.x;
    if (i < count) factors[begin + i] = sample.MvsFactorOf(begin + i, sizes[k], threshold);
  }
}

template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    RangeOfSample(RowView view, const __grid_constant__ Loss loss, const float* factors,
                  SampleRange* range) {
  __shared__ unsigned long long of_warp[kBlockWarpsMax];
  SampleRange own;
  ForRows(view.rows, [&](uint64_t row) {
    const double factor = factors[row];
    const double gradient = std::fabs(NumbersOf(view, loss, row).first * factor);
    const double weight = view.weights[row] * factor;
    if (gradient < math::Infinity() && gradient > own.gradient) own.gradient = gradient;
    if (weight < math::Infinity() && weight > own.weight) own.weight = weight;
    if (weight > 0 && weight < own.least_weight) own.least_weight = weight;
    if (factor > 0) own.has_rows = 1;
  });
  PutLargest(own.gradient, of_warp, &range->gradient);
  PutLargest(own.weight, of_warp, &range->weight);
  PutLeast(own.least_weight, of_warp, &range->least_weight);
  if (__syncthreads_count(own.has_rows != 0 ? 1 : 0) > 0 && threadIdx.x == 0) range->has_rows = 1;
}

template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    RoundSampleRows(RowView view, const __grid_constant__ Loss loss, const float* factors,
                    GradientUnits units, RoundedRows to) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *to.units = units;
  ForRows(view.rows, [&](uint64_t row) {
    const double factor = factors[row];
    to.gradients[row] = {
        .gradient = ToRow32(NumbersOf(view, loss, row).first * factor, 1 / units.gradient),
        .hessian = ToRow32(view.weights[row] * factor, 1 / units.hessian)};
  });
}

template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    SumRows(RowView view, const __grid_constant__ Loss loss, RowNumber number, ExactUnits units,
            int64_t* to) {
  __shared__ int64_t of_warp[kBlockWarpsMax];
  int64_t sum = 0;
  ForRows(view.rows, [&](uint64_t row) {
    if (number == RowNumber::kLoss) {
      sum += units.Of(LossOf(view, loss, row));
    } else {
      const double first = NumbersOf(view, loss, row).first;
      const double square = first * first;
      sum += units.Of(number == RowNumber::kSquare ? square : math::Sqrt(square));
    }
  });
  AddSum(sum, of_warp, to);
}

// Sums by leaf, of which each lane of a warp has its own in shared memory, so that none of a warp
// meet.
class LeafAdder {
 public:
  __device__ LeafAdder(size_t leaves, int64_t* sums) : leaves_(leaves), sums_(sums) {
    extern __shared__ uint4 shared[];
    own_ = reinterpret_cast<unsigned long long*>(shared);
    if (!IsShared()) return;
    for (size_t i = threadIdx.x; i < leaves_ * kWarpLanes; i += kSumThreads) own_[i] = 0;
    __syncthreads();
  }
  __device__ void Add(uint32_t leaf, int64_t number) {
    unsigned long long* const to = IsShared() ? own_ + leaf * kWarpLanes + threadIdx.x % kWarpLanes
                                              : reinterpret_cast<unsigned long long*>(sums_ + leaf);
    atomicAdd(to, static_cast<unsigned long long>(number));
  }
  __device__ void Finish() {
    if (!IsShared()) return;
    __syncthreads();
    for (size_t leaf = threadIdx.x / kWarpLanes; leaf < leaves_; leaf += kSumThreads / kWarpLanes) {
      const unsigned lane = threadIdx.x % kWarpLanes;
      const unsigned long long sum = ShuffleReduce(own_[leaf * kWarpLanes + lane], PlusOf{});
      if (lane == 0) atomicAdd(reinterpret_cast<unsigned long long*>(sums_ + leaf), sum);
    }
  }

 private:
  __device__ bool IsShared() const { return leaves_ <= 2 * kSharedLeavesMax; }

  const size_t leaves_;  // and kinds of sums
  int64_t* const sums_;
  unsigned long long* own_;
};

// First derivatives, and second ones after those of all leaves.
template <typename Loss>
__global__ void __launch_bounds__(kSumThreads)
    SumDerivatives(RowView view, const __grid_constant__ Loss loss, const uint16_t* leaves,
                   uint32_t leaf_count, ExactUnits first, ExactUnits second, int64_t* sums) {
  LeafAdder adder(2 * size_t{leaf_count}, sums);
  ForRows(view.rows, [&](uint64_t row) {
    const RowNumbers numbers = NumbersOf(view, loss, row);
    adder.Add(leaves[row], first.Of(numbers.first));
    adder.Add(leaf_count + leaves[row], second.Of(numbers.second));
  });
  adder.Finish();
}

__global__ void __launch_bounds__(kSumThreads)
    SumRowWeights(RowView view, const uint16_t* leaves, uint32_t leaf_count, ExactUnits units,
                  int64_t* sums) {
  LeafAdder adder(leaf_count, sums);
  ForRows(view.rows, [&](uint64_t row) { adder.Add(leaves[row], units.Of(view.weights[row])); });
  adder.Finish();
}

uint32_t SharedBytes(size_t sums) {
  return sums <= 2 * kSharedLeavesMax
             ? static_cast<uint32_t>(sums * kWarpLanes * sizeof(unsigned long long))
             : 16;
}

Status Prepare(const void* kernel) {
  return FromCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(SharedBytes(2 * kSharedLeavesMax))),
                  "shared memory of sums");
}

// Tells of launches that have failed, too.
Status Wait(cudaStream_t stream) {
  STRATA_TRY(FromCuda(cudaGetLastError(), kWhat));
  return FromCuda(cudaStreamSynchronize(stream), kWhat);
}

std::vector<double> ValuesOf(std::span<const int64_t> sums, const ExactUnits& units) {
  std::vector<double> values;
  for (const int64_t sum : sums) values.push_back(units.Value(sum));
  return values;
}

}  // namespace

Status ResidentRows::Set(const TrainedRows& rows, cudaStream_t stream) {
  rows_ = rows.labels.size();
  loss_ = rows.loss;
  weight_unit_ = rows.weight_unit;
  for (const float weight : rows.weights) weight_range_.Add(weight);
  have_same_weight_ = std::ranges::all_of(
      rows.weights, [&](float weight) { return weight == weight_range_.largest; });
  STRATA_TRY(labels_.Make(rows_, kWhat));
  STRATA_TRY(weights_.Make(rows_, kWhat));
  STRATA_TRY(labels_.Set(rows.labels, stream));
  STRATA_TRY(weights_.Set(rows.weights, stream));
  STRATA_TRY(step_.Make(kLeavesMax, kWhat));
  STRATA_TRY(sums_.Make(2 * kLeavesMax, kWhat));
  STRATA_TRY(loss_sum_.Make(1, kWhat));
  STRATA_TRY(sample_range_.Make(1, kWhat));
  for (Values& values : values_) {
    STRATA_TRY(values.raw.Make(rows_, kWhat));
    STRATA_TRY(values.device_ranges.Make(1, kWhat));
  }
  STRATA_TRY(std::visit(
      [](const auto& loss) {
        using Loss = std::remove_cvref_t<decltype(loss)>;
        return Prepare(reinterpret_cast<const void*>(SumDerivatives<Loss>));
      },
      loss_));
  STRATA_TRY(Prepare(reinterpret_cast<const void*>(SumRowWeights)));
  FillRows<<<GridFor(rows_), kThreads, 0, stream>>>(rows_, rows.start, values_[0].raw.data());
  return Move(values_[0], nullptr, {}, &values_[0], stream);
}

Status ResidentRows::Move(const Values& from, const uint16_t* leaves, std::span<const double> step,
                          Values* to, cudaStream_t stream) {
  if (!step.empty()) STRATA_TRY(step_.Set(step, stream));
  ClearRanges<<<1, 1, 0, stream>>>(to->device_ranges.data());
  const RowView view{rows_, labels_.data(), weights_.data(), from.raw.data()};
  std::visit(
      [&](const auto& loss) {
        MoveRows<<<GridFor(rows_), kThreads, 0, stream>>>(view, loss, leaves, step_.data(),
                                                          to->raw.data(), to->device_ranges.data());
      },
      loss_);
  STRATA_TRY(to->device_ranges.Get(std::span(&to->ranges, 1), stream));
  return Wait(stream);
}

Status ResidentRows::Round(const RoundedRows& to, cudaStream_t stream) {
  if (is_rounded_) return {};
  const Values& values = values_[raw_];
  const RowView view{rows_, labels_.data(), weights_.data(), values.raw.data()};
  STRATA_TRY(FromCuda(cudaMemsetAsync(loss_sum_.data(), 0, sizeof(int64_t), stream), kWhat));
  std::visit(
      [&](const auto& loss) {
        RoundRows<<<GridFor(rows_), kThreads, 0, stream>>>(view, loss, values.device_ranges.data(),
                                                           weight_unit_.unit, to.gradients,
                                                           to.units, loss_sum_.data());
      },
      loss_);
  is_rounded_ = true;
  return FromCuda(cudaGetLastError(), kWhat);
}

Result<SampledRows> ResidentRows::RoundSample(const RowDraw& sample, const RoundedRows& to,
                                              cudaStream_t stream) {
  const RowView view{rows_, labels_.data(), weights_.data(), values_[raw_].raw.data()};
  STRATA_TRY(factors_.Reserve(rows_, kWhat));
  float* const factors = factors_.data();
  if (sample.kind != RowDrawKind::kMvs) {
    DrawRows<<<GridFor(rows_), kThreads, 0, stream>>>(rows_, sample, factors);
  }
  ClearSampleRange<<<1, 1, 0, stream>>>(sample_range_.data());
  std::visit(
      [&](const auto& loss) {
        if (sample.kind == RowDrawKind::kMvs) {
          DrawMvs<<<BlocksFor(rows_, kMvsRows), kSumThreads, 0, stream>>>(view, loss, sample,
                                                                          factors);
        }
        RangeOfSample<<<GridFor(rows_), kThreads, 0, stream>>>(view, loss, factors,
                                                               sample_range_.data());
      },
      loss_);
  SampleRange range;
  STRATA_TRY(sample_range_.Get(std::span(&range, 1), stream));
  STRATA_TRY(Wait(stream));
  const WeightUnit weight_unit = WeightUnit::For(range.weight, range.least_weight);
  const GradientUnits units{.gradient = Row32Unit(range.gradient), .hessian = weight_unit.unit};
  std::visit(
      [&](const auto& loss) {
        RoundSampleRows<<<GridFor(rows_), kThreads, 0, stream>>>(view, loss, factors, units, to);
      },
      loss_);
  is_rounded_ = false;  // with other factors
  STRATA_TRY(FromCuda(cudaGetLastError(), kWhat));
  return SampledRows{.weight_unit = weight_unit, .has_rows = range.has_rows != 0};
}

Result<double> ResidentRows::SumOf(const Values& values, RowNumber number, cudaStream_t stream) {
  const bool is_loss = number == RowNumber::kLoss;
  const ExactRange& range = is_loss ? values.ranges.loss : values.ranges.first;
  if (!range.are_finite) return math::Infinity();
  double largest = range.largest;
  if (!is_loss) largest *= largest;
  if (!(largest < math::Infinity())) return math::Infinity();
  if (number == RowNumber::kSize) largest = math::Sqrt(largest);
  const ExactUnits units = ExactUnits::For(largest, rows_);
  STRATA_TRY(FromCuda(cudaMemsetAsync(sums_.data(), 0, sizeof(int64_t), stream), kWhat));
  const RowView view{rows_, labels_.data(), weights_.data(), values.raw.data()};
  std::visit(
      [&](const auto& loss) {
        SumRows<<<GridFor(rows_), kThreads, 0, stream>>>(view, loss, number, units, sums_.data());
      },
      loss_);
  int64_t sum = 0;
  STRATA_TRY(sums_.Get(std::span(&sum, 1), stream));
  STRATA_TRY(Wait(stream));
  return units.Value(sum);
}

Result<double> ResidentRows::SumSquares(cudaStream_t stream) {
  return SumOf(values_[raw_], RowNumber::kSquare, stream);
}

Result<double> ResidentRows::SumSizes(cudaStream_t stream) {
  return SumOf(values_[raw_], RowNumber::kSize, stream);
}

Result<double> ResidentRows::SumLosses(const RoundedRows& to, cudaStream_t stream) {
  STRATA_TRY(Round(to, stream));
  int64_t sum = 0;
  STRATA_TRY(loss_sum_.Get(std::span(&sum, 1), stream));
  STRATA_TRY(Wait(stream));
  const ExactRange& range = values_[raw_].ranges.loss;
  return range.are_finite ? ExactUnits::For(range.largest, rows_).Value(sum) : math::Infinity();
}

Result<LeafSums> ResidentRows::SumLeaves(const uint16_t* leaves, size_t leaf_count,
                                         cudaStream_t stream) {
  const Values& values = values_[tried_];
  const ExactUnits first = ExactUnits::For(values.ranges.first.largest, rows_);
  const ExactUnits second = ExactUnits::For(values.ranges.second.largest, rows_);
  const size_t count = 2 * leaf_count;
  STRATA_TRY(FromCuda(cudaMemsetAsync(sums_.data(), 0, count * sizeof(int64_t), stream), kWhat));
  const RowView view{rows_, labels_.data(), weights_.data(), values.raw.data()};
  std::visit(
      [&](const auto& loss) {
        SumDerivatives<<<SumGridFor(rows_), kSumThreads, SharedBytes(count), stream>>>(
            view, loss, leaves, static_cast<uint32_t>(leaf_count), first, second, sums_.data());
      },
      loss_);
  std::vector<int64_t> sums(count);
  STRATA_TRY(sums_.Get(sums, stream));
  STRATA_TRY(Wait(stream));
  const std::span<const int64_t> all(sums);
  return LeafSums{.first = ValuesOf(all.first(leaf_count), first),
                  .second = ValuesOf(all.subspan(leaf_count), second)};
}

Result<std::vector<double>> ResidentRows::SumWeights(const uint16_t* leaves,
                                                     std::span<const uint32_t> counts,
                                                     cudaStream_t stream) {
  const ExactUnits units = ExactUnits::For(weight_range_.largest, rows_);
  std::vector<int64_t> sums(counts.size());
  if (have_same_weight_) {
    const int64_t weight = units.Of(weight_range_.largest);
    for (size_t leaf = 0; leaf < sums.size(); ++leaf) sums[leaf] = counts[leaf] * weight;
    return ValuesOf(sums, units);
  }
  STRATA_TRY(
      FromCuda(cudaMemsetAsync(sums_.data(), 0, sums.size() * sizeof(int64_t), stream), kWhat));
  const RowView view{rows_, labels_.data(), weights_.data(), nullptr};
  SumRowWeights<<<SumGridFor(rows_), kSumThreads, SharedBytes(sums.size()), stream>>>(
      view, leaves, static_cast<uint32_t>(sums.size()), units, sums_.data());
  STRATA_TRY(sums_.Get(sums, stream));
  STRATA_TRY(Wait(stream));
  return ValuesOf(sums, units);
}

Status ResidentRows::Try(const uint16_t* leaves, std::span<const double> step,
                         cudaStream_t stream) {
  next_ = 0;  // neither the model's values nor those that steps start from
  while (next_ == raw_ || next_ == tried_) ++next_;
  return Move(values_[tried_], leaves, step, &values_[next_], stream);
}

Result<double> ResidentRows::SumTriedLosses(cudaStream_t stream) {
  return SumOf(values_[next_], RowNumber::kLoss, stream);
}

void ResidentRows::Keep() { tried_ = next_; }

Status ResidentRows::Add(const uint16_t* leaves, std::span<const double> values,
                         cudaStream_t stream) {
  tried_ = raw_;
  is_rounded_ = false;
  return Move(values_[raw_], leaves, values, &values_[raw_], stream);
}

}  // namespace strata::gpu_tree
