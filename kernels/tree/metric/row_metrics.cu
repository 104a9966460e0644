// Losses of rows, what places of queries are worth, and exact sums of either.
#include "kernels/core/math.h"
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/metric/metric_kernels.cuh"
#include "strata/gpu/bitonic_sort.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint64_t kNumbersOfBlock = 4096;
constexpr unsigned kQueryThreads = 128;

template <typename Visit>
__device__ void ForNumbers(uint64_t count, const Visit& visit) {
  const uint64_t begin = blockIdx.x * kNumbersOfBlock;
  const uint64_t end = begin + kNumbersOfBlock < count ? begin + kNumbersOfBlock : count;
  for (uint64_t i = begin + threadIdx.x; i < end; i += kThreads) visit(i);
}

__global__ void __launch_bounds__(kThreads)
    FindLargest(const double* numbers, uint64_t count, DeviceTotal* total) {
  __shared__ uint64_t of_warp[kBlockWarpsMax];
  constexpr uint64_t kInfinity = 0x7ff0000000000000ULL;
  uint64_t largest = 0;  // sizes compare as their bits do
  uint64_t not_finite = 0;
  ForNumbers(count, [&](uint64_t i) {
    const uint64_t size = math::BitsOf(numbers[i]) & 0x7fffffffffffffffULL;
    if (size >= kInfinity) {
      ++not_finite;
    } else {
      largest = largest < size ? size : largest;
    }
  });
  largest = ShuffleReduceMax(largest, uint64_t{0}, of_warp);
  not_finite = ShuffleReduceSum(not_finite, of_warp);
  if (threadIdx.x != 0) return;
  atomicMax(&total->largest, static_cast<unsigned long long>(largest));
  if (not_finite > 0) atomicAdd(&total->not_finite, static_cast<unsigned long long>(not_finite));
}

__global__ void __launch_bounds__(kThreads)
    AddUp(const double* numbers, uint64_t count, DeviceTotal* total) {
  __shared__ uint64_t of_warp[kBlockWarpsMax];
  if (total->not_finite > 0) return;
  const int exponent = ExactSum::UnitExponentFor(math::FromBits(total->largest));
  int64_t upper = 0;
  uint64_t lower = 0;
  ForNumbers(count, [&](uint64_t i) {
    const int64_t rounded = ExactSum::Rounded(numbers[i], exponent);
    upper += rounded >> 32;
    lower += static_cast<uint32_t>(rounded);
  });
  const uint64_t all_upper = ShuffleReduceSum(static_cast<uint64_t>(upper), of_warp);
  const uint64_t all_lower = ShuffleReduceSum(lower, of_warp);
  if (threadIdx.x != 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&total->upper),
            static_cast<unsigned long long>(all_upper));
  atomicAdd(&total->lower, static_cast<unsigned long long>(all_lower));
}

__global__ void __launch_bounds__(kThreads)
    Losses(RowLoss loss, uint64_t rows, const double* scores, const float* labels,
           const float* weights, double* losses) {
  const uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= rows) return;
  losses[row] = loss([&](uint32_t k) { return scores[k * rows + row]; }, labels[row],
                     weights == nullptr ? 1 : weights[row]);
}

__global__ void __launch_bounds__(kThreads)
    Divide(const double* scores, uint64_t count, double divisor, double* divided) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) divided[i] = scores[i] / divisor;
}

__global__ void __launch_bounds__(kQueryThreads)
    QueryGains(DeviceMeasure measure, const double* scores, const float* labels, QueryRoom room,
               double* gains) {
  __shared__ double shared_keys[kSharedMetricRows];
  __shared__ uint32_t shared_places[kSharedMetricRows];
  const uint32_t query = blockIdx.x;
  const uint64_t first = measure.begins[query];
  const uint32_t count = measure.begins[query + 1] - measure.begins[query];
  const bool is_short = count <= kSharedMetricRows;
  double* const keys = is_short ? shared_keys : room.keys + first;
  uint32_t* const order = is_short ? shared_places : room.places + first;
  for (uint32_t i = threadIdx.x; i < count; i += kQueryThreads) keys[i] = scores[first + i];
  __syncthreads();
  BitonicArgSort<false>(keys, order, count);
  for (uint32_t kind = threadIdx.x; kind < measure.kinds; kind += kQueryThreads) {
    const uint32_t places = measure.places[kind] < count ? measure.places[kind] : count;
    const double gain = GainOfPlaces(
        measure.what, [&](uint64_t place) { return labels[first + order[place]]; }, measure.gains,
        places);
    const uint64_t at = uint64_t{kind} * measure.queries + query;
    gains[at] = measure.weights[query] * ShareOfGain(gain, measure.possible[at]);
  }
}

}  // namespace

double DeviceTotal::Value() const {
  if (not_finite > 0) return math::NotANumber();
  ExactSum sum(math::FromBits(largest));
  sum.SetHalves(upper, lower);
  return sum.Value();
}

void AddExactly(const double* numbers, uint64_t count, DeviceTotal* total, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(count, kNumbersOfBlock);
  FindLargest<<<blocks, kThreads, 0, stream>>>(numbers, count, total);
  AddUp<<<blocks, kThreads, 0, stream>>>(numbers, count, total);
}

void FindLosses(const RowLoss& loss, uint64_t rows, const double* scores, const float* labels,
                const float* weights, double* losses, cudaStream_t stream) {
  Losses<<<BlocksFor(rows, kThreads), kThreads, 0, stream>>>(loss, rows, scores, labels, weights,
                                                             losses);
}

void DivideScores(const double* scores, uint64_t count, double divisor, double* divided,
                  cudaStream_t stream) {
  Divide<<<BlocksFor(count, kThreads), kThreads, 0, stream>>>(scores, count, divisor, divided);
}

void FindQueryGains(const DeviceMeasure& measure, const double* scores, const float* labels,
                    const QueryRoom& room, double* gains, cudaStream_t stream) {
  if (measure.queries == 0) return;
  QueryGains<<<measure.queries, kQueryThreads, 0, stream>>>(measure, scores, labels, room, gains);
}

}  // namespace strata::gpu_tree
