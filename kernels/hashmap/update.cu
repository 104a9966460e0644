#include "kernels/core/math.h"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/hashmap/update.h"
#include "kernels/optim/gradient_shape.h"
#include "kernels/optim/row_sum.h"
#include "kernels/optim/rules.h"

namespace strata {
namespace {

__device__ uint32_t PartOf(const uint32_t* part_ends, uint32_t parts, uint32_t position) {
  uint32_t part = 0;
  for (uint32_t end = parts; part < end;) {
    const uint32_t middle = (part + end) / 2;
    if (part_ends[middle] <= position) {
      part = middle + 1;
    } else {
      end = middle;
    }
  }
  return part;
}

// A warp a key, a lane an element.
__global__ void Sum(DistinctKeys keys, uint32_t distinct, const float* gradients, uint32_t dim,
                    const uint32_t* part_ends, uint32_t parts, SummedGradients out,
                    unsigned long long* rejected) {
  const uint64_t j = ThreadNumber() / 32;
  if (j >= distinct) return;
  const uint32_t begin = keys.starts[j];
  const uint32_t end = keys.starts[j + 1];
  bool finite = true;
  for (uint32_t e = Lane(); e < dim; e += 32) {
    float sum = gradients[uint64_t{keys.order[begin]} * dim + e];
    for (uint32_t i = begin + 1; i < end; ++i) {
      sum += gradients[uint64_t{keys.order[i]} * dim + e];
    }
    finite = finite && math::IsFinite(sum);
    out.sums[j * dim + e] = sum;
  }
  finite = __all_sync(~0U, finite) != 0;
  if (Lane() != 0) return;
  uint32_t brought = 1;
  if (parts > 1) {
    uint32_t last = PartOf(part_ends, parts, keys.order[begin]);
    for (uint32_t i = begin + 1; i < end; ++i) {
      const uint32_t part = PartOf(part_ends, parts, keys.order[i]);
      if (part != last) ++brought;
      last = part;
    }
  }
  out.parts[j] = finite ? brought : 0;
  if (!finite) atomicAdd(rejected, 1ULL);
}

// The host's SumOfSquares (kernels/optim/row_sum.h) by a warp, in the same order. All lanes take
// part, and get the sum.
template <typename Element>
__device__ double SumOfSquaresByWarp(uint32_t count, const Element& element) {
  static_assert(kSumLanes == 32);
  double sum = 0.0;
  for (uint32_t e = Lane(); e < count; e += 32) {
    const double x = element(e);
    sum += x * x;
  }
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0U, sum, apart);
  return sum;
}

template <typename Rule, typename Shape>
__device__ void ApplySpan(const Rule& rule, const Shape& shape, uint32_t dim, float* value,
                          float* state, const float* gradient) {
  for (uint32_t e = Lane(); e < dim; e += 32) {
    const float before = value[e];
    float w = before;
    rule(shape(gradient[e], w), w, state + e, dim);
    // A host keeps the NaN that it is given, a GPU makes one of its own.
    value[e] = before == before ? w : before;
  }
}

// The host's ApplyRow (kernels/optim/apply.cc) by a warp.
template <typename Rule, typename Shape>
__device__ void ApplyRow(const Rule& rule, Shape shape, uint32_t dim, float* value, float* state,
                         const float* gradient, uint64_t last_step) {
  if constexpr (Shape::kMayClipNorm) {
    if (shape.clip_norm > 0) {
      shape.ScaleTo(
          SumOfSquaresByWarp(dim, [&](uint32_t e) { return shape.Clipped(gradient[e]); }));
    }
  }
  if constexpr (Rule::kNeeds == RowNeed::kMeanSquare) {
    const double squares =
        SumOfSquaresByWarp(dim, [&](uint32_t e) { return shape(gradient[e], value[e]); });
    const auto of_row = rule.ForRow(squares / static_cast<double>(dim), state[0]);
    ApplySpan(of_row, shape, dim, value, state, gradient);
    __syncwarp();  // every lane has read the state
    if (Lane() == 0) state[0] = of_row.first_state;
  } else if constexpr (Rule::kNeeds == RowNeed::kLastStep) {
    ApplySpan(rule.ForRow(last_step), shape, dim, value, state, gradient);
  } else {
    ApplySpan(rule, shape, dim, value, state, gradient);
  }
}

// A warp a row.
template <typename Rule, typename Shape>
__global__ void Apply(MapRef map, Rule rule, Shape shape, uint64_t step, uint32_t checkpoint_epoch,
                      const uint64_t* places, uint64_t count, SummedGradients gradients) {
  const uint64_t j = ThreadNumber() / 32;
  if (j >= count || gradients.parts[j] == 0) return;
  const uint64_t place = places[j];
  SlotHeader& header = *map.HeaderOf(place);
  float* value = map.ValueOf(place);
  ApplyRow(rule, shape, map.dim, value, value + map.dim, gradients.sums + j * map.dim,
           header.last_step);
  __syncwarp();  // every lane has read the header
  if (Lane() != 0) return;
  header.frequency += min(gradients.parts[j], UINT32_MAX - header.frequency);
  header.last_step = step;
  header.score = step;
  header.checkpoint_epoch = checkpoint_epoch;
}

}  // namespace

void SumGradients(const Exec& exec, const DistinctKeys& keys, uint32_t distinct,
                  const float* gradients, uint32_t dim, std::span<const uint32_t> part_ends,
                  const SummedGradients& out, unsigned long long* rejected) {
  if (distinct == 0) return;
  Sum<<<BlocksFor(uint64_t{distinct} * 32), kMapThreads, 0,
        static_cast<cudaStream_t>(exec.stream)>>>(keys, distinct, gradients, dim, part_ends.data(),
                                                  static_cast<uint32_t>(part_ends.size()), out,
                                                  rejected);
}

void ApplyGradients(const Exec& exec, const MapRef& map, const OptimizerSpec& optimizer,
                    uint64_t step, uint32_t checkpoint_epoch, std::span<const uint64_t> places,
                    const SummedGradients& gradients) {
  if (places.empty()) return;
  WithGradientShape(optimizer, [&](const auto& shape) {
    WithRule(optimizer, step, [&](const auto& rule) {
      Apply<<<BlocksFor(places.size() * 32), kMapThreads, 0,
              static_cast<cudaStream_t>(exec.stream)>>>(map, rule, shape, step, checkpoint_epoch,
                                                        places.data(), places.size(), gradients);
    });
  });
}

}  // namespace strata
