#include "kernels/core/math.h"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/hashmap/update.h"
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

template <typename Rule>
__global__ void Apply(MapRef map, Rule rule, uint64_t step, uint32_t checkpoint_epoch,
                      const uint64_t* places, uint64_t count, SummedGradients gradients) {
  const uint64_t j = ThreadNumber() / 32;
  if (j >= count || gradients.parts[j] == 0) return;
  const uint64_t place = places[j];
  float* value = map.ValueOf(place);
  float* state = value + map.dim;
  for (uint32_t e = Lane(); e < map.dim; e += 32) {
    const float before = value[e];
    float w = before;
    rule(gradients.sums[j * map.dim + e], w, state + e, map.dim);
    // A host keeps the NaN that it is given, a GPU makes one of its own.
    value[e] = before == before ? w : before;
  }
  if (Lane() != 0) return;
  SlotHeader& header = *map.HeaderOf(place);
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
  WithRule(optimizer, step, [&](const auto& rule) {
    Apply<<<BlocksFor(places.size() * 32), kMapThreads, 0,
            static_cast<cudaStream_t>(exec.stream)>>>(map, rule, step, checkpoint_epoch,
                                                      places.data(), places.size(), gradients);
  });
}

}  // namespace strata
