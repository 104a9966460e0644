// The kernel of updates, over what an update is made of: a rule, and when it runs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/math.h"
#include "kernels/hashmap/row_device.cuh"
#include "kernels/optim/gradient_shape.h"
#include "kernels/optim/row_sum.h"
#include "kernels/optim/rules.h"
#include "kernels/sparse/elements.cuh"
#include "kernels/sparse/gradient_rows.cuh"
#include "kernels/sparse/parts.cuh"
#include "kernels/sparse/sum_often.cuh"
#include "kernels/sparse/update.h"
#include "strata/status.h"

namespace strata {

inline __device__ Four FourTimes(float x) { return {{x, x, x, x}}; }

// How rows are stored, and whether a thread loads four elements at once: then every dimension is a
// multiple of four. Narrow: value and states have any type, each table its own. Bf16: all have
// that.
enum class RowForm { kFp32, kFp32Aligned, kNarrow, kNarrowAligned, kBf16Aligned };
constexpr bool IsNarrow(RowForm form) {
  return form != RowForm::kFp32 && form != RowForm::kFp32Aligned;
}
constexpr bool IsAligned(RowForm form) {
  return form != RowForm::kFp32 && form != RowForm::kNarrow;
}

// Four elements of `type`. They begin at a multiple of 8 bytes, no more: the states of a narrow row
// may be fp32.
inline __device__ Four LoadFourOf(ElementType type, const void* from) {
  if (type == ElementType::kFp32) {
    const auto* pairs = static_cast<const float2*>(from);
    const float2 low = pairs[0];
    const float2 high = pairs[1];
    return {{low.x, low.y, high.x, high.y}};
  }
  const float4 four = WidenedFour(type, *static_cast<const uint2*>(from));
  return {{four.x, four.y, four.z, four.w}};
}

// The reverse. Element f is rounded by the bits number `first` + f of the sequence.
inline __device__ void StoreFourOf(ElementType type, const Four& four, void* to, uint64_t sequence,
                                   uint64_t first) {
  if (type == ElementType::kFp32) {
    auto* pairs = static_cast<float2*>(to);
    pairs[0] = {four.of[0], four.of[1]};
    pairs[1] = {four.of[2], four.of[3]};
    return;
  }
  const auto bits = [&](uint32_t f) -> uint32_t {
    return narrow::ToBitsStochastic(type, four.of[f], SequenceBits(sequence, first + f));
  };
  *static_cast<uint2*>(to) = {bits(0) | bits(1) << 16, bits(2) | bits(3) << 16};
}

// A row of the map: its value and its states are vectors of dim elements, number 0 and 1 on.
template <RowForm kForm>
class StoredRow {
 public:
  // `sequence`: what rounds what is stored.
  __device__ StoredRow(const MapRef& map, uint64_t place, uint64_t sequence)
      : map_(map), row_(map.RowOf(place)), sequence_(sequence) {}

  __device__ Four Load(uint32_t vector, uint32_t e) const {
    if constexpr (!IsNarrow(kForm)) {
      if (!IsAligned(kForm) && vector == 0) return LoadFourOrTail(row_, e, map_.dim);
      return LoadFour<IsAligned(kForm)>(row_ + vector * map_.dim, e, map_.dim);
    }
    Four four = {};
    if constexpr (IsAligned(kForm)) {
      if (e < map_.dim) four = LoadFourOf(TypeOf(vector), AddressOf(vector, e));
    } else {
#pragma unroll
      for (uint32_t f = 0; f < 4; ++f) {
        if (e + f < map_.dim) four.of[f] = LoadOne(vector, e + f);
      }
    }
    return four;
  }
  __device__ float LoadOne(uint32_t vector, uint32_t e) const {
    if constexpr (!IsNarrow(kForm)) return row_[vector * map_.dim + e];
    return ElementOf<true>(TypeOf(vector), AddressOf(vector, e), 0);
  }
  __device__ void Store(const Four& four, uint32_t vector, uint32_t e) const {
    if constexpr (!IsNarrow(kForm)) {
      if (!IsAligned(kForm) && vector == 0) return StoreFourOrTail(four, row_, e, map_.dim);
      StoreFour<IsAligned(kForm)>(four, row_ + vector * map_.dim, e, map_.dim);
    } else if constexpr (IsAligned(kForm)) {
      if (e >= map_.dim) return;
      StoreFourOf(TypeOf(vector), four, AddressOf(vector, e), sequence_, vector * map_.dim + e);
    } else {
#pragma unroll
      for (uint32_t f = 0; f < 4; ++f) {
        if (e + f < map_.dim) StoreOne(four.of[f], vector, e + f);
      }
    }
  }
  __device__ void StoreOne(float x, uint32_t vector, uint32_t e) const {
    if constexpr (!IsNarrow(kForm)) {
      row_[vector * map_.dim + e] = x;
      return;
    }
    const ElementType type = TypeOf(vector);
    void* const to = AddressOf(vector, e);
    if (type == ElementType::kFp32) {
      *static_cast<float*>(to) = x;
    } else {
      *static_cast<uint16_t*>(to) =
          narrow::ToBitsStochastic(type, x, SequenceBits(sequence_, vector * map_.dim + e));
    }
  }

 private:
  __device__ ElementType TypeOf(uint32_t vector) const {
    if constexpr (kForm == RowForm::kBf16Aligned) return ElementType::kBf16;
    if (vector == 0) return map_.value_type;
    return vector == 1 ? map_.state_types.first : map_.state_types.second;
  }
  // All states are one array after the value.
  __device__ void* AddressOf(uint32_t vector, uint32_t e) const {
    const uint32_t before = vector == 0 ? 0 : map_.state_offset;
    const uint32_t element = vector == 0 ? e : (vector - 1) * map_.dim + e;
    return reinterpret_cast<std::byte*>(row_) + before +
           element * static_cast<uint32_t>(BytesOf(TypeOf(vector)));
  }

  const MapRef& map_;
  float* const row_;
  const uint64_t sequence_;
};

// The threads that work on one key: thread `lane` has elements 4 lane to 4 lane + 3, and in further
// steps those 4 `lanes` behind them.
struct Team {
  uint32_t lane;
  uint32_t lanes;  // a power of two
  uint32_t mask;   // of the warp

  __device__ uint32_t Element(uint32_t step) const { return 4 * (step * lanes + lane); }
  template <typename T>
  __device__ T From(T value, uint32_t of_lane) const {
    return __shfl_sync(mask, value, static_cast<int>(of_lane), static_cast<int>(lanes));
  }
};

// A key whose turn it is. Its last position is there at once, the others are a memory's latency
// away.
struct Turn {
  uint64_t place = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t last = 0;

  __device__ uint32_t rows() const { return end - begin; }
  __device__ uint32_t Position(const DistinctKeys& keys, uint32_t row) const {
    return row + 1 == rows() ? last : keys.order[begin + row];
  }
};

inline __device__ Turn TurnOf(const DistinctKeys& keys, uint32_t j) {
  return {keys.places[j], keys.starts[j], keys.starts[j + 1], keys.lasts[j]};
}

// sum[step] += the gradients of the key's rows `begin` to `end` - 1. kAligned: they begin at
// multiples of four elements, and so is dim; `begins_aligned`: they do, whatever dim is.
template <uint32_t kSteps, bool kAligned, typename Rows>
__device__ void AddRows(const Team& team, uint32_t dim, const Rows& gradients, bool begins_aligned,
                        const DistinctKeys& keys, const Turn& turn, uint32_t begin, uint32_t end,
                        Four (&sum)[kSteps]) {
  const auto load = [&](const typename Rows::Element* row, uint32_t e) {
    if constexpr (kAligned) return LoadFour<true>(row, e, dim);
    if (Rows::kInFours || begins_aligned) return LoadFourOrTail(row, e, dim);
    return LoadFour<false>(row, e, dim);
  };
  constexpr uint32_t kAtOnce = kSteps == 1 ? 4 : 1;
  for (uint32_t row = begin; row < end; row += kAtOnce) {
    ScaledRow<typename Rows::Element> from[kAtOnce];
    Four next[kAtOnce][kSteps];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      if (row + k >= end) break;
      from[k] = gradients.Of(turn.Position(keys, row + k));
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      if (row + k >= end) break;
#pragma unroll
      for (uint32_t s = 0; s < kSteps; ++s) {
        next[k][s] = load(from[k].elements, team.Element(s));
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      if (row + k >= end) break;
#pragma unroll
      for (uint32_t s = 0; s < kSteps; ++s) {
#pragma unroll
        for (uint32_t f = 0; f < 4; ++f) sum[s].of[f] += from[k].scale * next[k][s].of[f];
      }
    }
  }
}

// Rows that a thread has made, counted once for each table.
class RowsMade {
 public:
  __device__ void Count(const MapRef& map) {
    if (counts_ != map.counts) Tell();
    counts_ = map.counts;
    ++made_;
  }
  __device__ void Tell() {
    if (made_ != 0) atomicAdd(&counts_->rows, made_);
    made_ = 0;
  }

 private:
  MapCounts* counts_ = nullptr;
  unsigned long long made_ = 0;
};

// Either shape, chosen as the kernel runs: fewer kernels to compile.
struct EitherGradient : ShapedGradient {
  bool is_plain;

  explicit EitherGradient(const PlainGradient&) : ShapedGradient{}, is_plain(true) {}
  explicit EitherGradient(const ShapedGradient& shaped) : ShapedGradient(shaped), is_plain(false) {}
  __device__ float operator()(float g, float w) const {
    return is_plain ? g : ShapedGradient::operator()(g, w);
  }
};

// The sum of squares of all element(step, f) of the team, as kernels/optim/row_sum.h says.
template <uint32_t kSteps, typename Element>
__device__ double SumOfSquares(const Team& team, const Element& element) {
  double sum = 0.0;
#pragma unroll
  for (uint32_t s = 0; s < kSteps; ++s) {
    sum += SumOfFourSquares(element(s, 0), element(s, 1), element(s, 2), element(s, 3));
  }
  for (uint32_t apart = team.lanes / 2; apart > 0; apart /= 2) {
    sum += __shfl_xor_sync(team.mask, sum, static_cast<int>(apart));
  }
  return sum;
}

// When rows are updated: once, by all that the batch brings, or by each of its parts, at times of
// their own. A run (parts.cuh) is one update of its key's row.
template <typename R>
struct AtOnce {
  using Rule = R;
  static constexpr bool kInTurn = false;
  Rule rule;
  uint64_t step;

  __device__ const Rule& RuleOf(uint32_t /*part*/) const { return rule; }
  __device__ uint64_t StepOf(uint32_t /*part*/) const { return step; }
};
template <typename R>
struct InTurn {
  using Rule = R;
  static constexpr bool kInTurn = true;
  uint32_t count;  // parts behind these are left out
  Rule rules[kUpdatesInTurnMax];
  uint64_t steps[kUpdatesInTurnMax];

  __device__ const Rule& RuleOf(uint32_t part) const { return rules[part]; }
  __device__ uint64_t StepOf(uint32_t part) const { return steps[part]; }
};

// A team a key, one after the other: those that have a row (kNew false), or those that get one.
// Rows: those of gradient_rows.cuh that the gradients are, which leaves a step of training its
// registers, or AnyRows.
template <typename Times, typename Shape, uint32_t kSteps, RowForm kForm, bool kNew, typename Rows>
__global__ void __launch_bounds__(kMapThreads, kSteps == 1 ? 4 : 1)
    Update(const __grid_constant__ TableGroup group, const __grid_constant__ Times times,
           Shape shape, DistinctKeys keys, BatchGradients gradients, uint32_t lanes,
           float* scratch) {
  using Rule = typename Times::Rule;
  constexpr bool kHasRowState = Rule::kNeeds == RowNeed::kMeanSquare;
  constexpr bool kAligned = IsAligned(kForm);
  constexpr bool kNarrow = IsNarrow(kForm);
  static_assert(!kNarrow || !Times::kInTurn);  // each update would round
  const uint32_t teams = gridDim.x * (kMapThreads / lanes);
  const Team team{threadIdx.x % lanes, lanes,
                  static_cast<uint32_t>(((uint64_t{1} << lanes) - 1) << (Lane() / lanes * lanes))};
  const bool leads = team.lane == 0;
  const uint32_t count = kNew ? *keys.missing_count : *keys.count;
  RowsMade made;
  const uint32_t first = (blockIdx.x * kMapThreads + threadIdx.x) / lanes;
  const auto number_of = [&](uint32_t n) { return kNew ? keys.missing[n] : n; };
  Turn next;
  if (first < count) next = TurnOf(keys, number_of(first));
  for (uint32_t n = first; n < count; n += teams) {
    const Turn turn = next;
    const uint32_t j = number_of(n);
    if (n + teams < count) next = TurnOf(keys, number_of(n + teams));
    uint64_t place = turn.place;
    if (!kNew && place == kNowhere) continue;
    const GroupTable& table = group.OfKey(turn.last);
    const uint32_t dim = table.map.dim;
    Four w[kSteps];
    Four states[Rule::kStates + 1][kSteps];
    const float first_state = Held<kNarrow>(table.map.state_types.first, table.start.state);
    float row_state = first_state;
    uint32_t frequency = 0;
    uint64_t last_step = 0;
#pragma unroll
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint32_t e = team.Element(s);
      if constexpr (kNew) {
        w[s] = InitialFour<kNarrow>(table.map, table.start, keys.keys[j], e);
      } else {
        w[s] = StoredRow<kForm>(table.map, place, 0).Load(0, e);
      }
#pragma unroll
      for (uint32_t k = 0; k != Rule::kStates; ++k) {
        states[k][s] =
            kNew ? FourTimes(first_state) : StoredRow<kForm>(table.map, place, 0).Load(k + 1, e);
      }
    }
    if constexpr (!kNew) {
      if (kHasRowState) row_state = StoredRow<kForm>(table.map, place, 0).LoadOne(1, 0);
      if (leads) frequency = table.map.HeaderOf(place)->frequency;
      if (Rule::kNeeds == RowNeed::kLastStep) last_step = table.map.HeaderOf(place)->last_step;
    }

    uint32_t applied = 0;  // runs
    uint32_t part = 0;
    for (uint32_t begin = 0, end = turn.rows(); begin < turn.rows(); begin = end) {
      if constexpr (Times::kInTurn) {
        part = PartOf(gradients.part_ends, turn.Position(keys, begin));
        if (part >= times.count) break;
        end = RunEnd(gradients.part_ends, keys.order + turn.begin, begin, turn.rows());
      }
      Four sum[kSteps];
      if (end - begin > kOften) {
#pragma unroll
        for (uint32_t s = 0; s < kSteps; ++s) {
          const float* const often = OftenSum(scratch, group, turn.begin + begin);
          sum[s] = kAligned ? LoadFour<true>(often, team.Element(s), dim)
                            : LoadFourOrTail(often, team.Element(s), dim);
        }
      } else {
#pragma unroll
        for (uint32_t s = 0; s < kSteps; ++s) sum[s] = FourTimes(-0.0F);  // 0 makes +0 of -0
        const auto add = [&](auto kind) {
          const typename decltype(kind)::type of_table(table, gradients);
          AddRows<kSteps, kAligned>(team, dim, of_table, gradients.bags_aligned, keys, turn, begin,
                                    end, sum);
        };
        if constexpr (std::is_same_v<Rows, AnyRows>) {
          WithRows(gradients, add);
        } else {
          add(std::type_identity<Rows>());
        }
      }
      bool finite = true;
#pragma unroll
      for (uint32_t s = 0; s < kSteps; ++s) {
#pragma unroll
        for (uint32_t f = 0; f < 4; ++f) finite = finite && math::IsFinite(sum[s].of[f]);
      }
      if (__all_sync(team.mask, finite) == 0) {
        if (leads) atomicAdd(&table.map.counts->rejected, 1);
        continue;
      }

      Shape of_row = shape;
      if constexpr (Shape::kMayClipNorm) {
        if (shape.clip_norm > 0) {
          of_row.ScaleTo(SumOfSquares<kSteps>(
              team, [&](uint32_t s, uint32_t f) { return shape.Clipped(sum[s].of[f]); }));
        }
      }
      const auto run = [&](const auto& on_elements) {
#pragma unroll
        for (uint32_t s = 0; s < kSteps; ++s) {
#pragma unroll
          for (uint32_t f = 0; f < 4; ++f) {
            const float before = w[s].of[f];
            float state[Rule::kStates + 1];
#pragma unroll
            for (uint32_t k = 0; k != Rule::kStates; ++k) state[k] = states[k][s].of[f];
            on_elements(of_row(sum[s].of[f], before), w[s].of[f], state, 1);
#pragma unroll
            for (uint32_t k = 0; k != Rule::kStates; ++k) states[k][s].of[f] = state[k];
            // A host keeps the NaN that it is given, a GPU makes one of its own.
            if (before != before) w[s].of[f] = before;
          }
        }
      };
      const Rule& rule = times.RuleOf(part);
      if constexpr (kHasRowState) {
        const double squares = SumOfSquares<kSteps>(
            team, [&](uint32_t s, uint32_t f) { return of_row(sum[s].of[f], w[s].of[f]); });
        const auto on_elements = rule.ForRow(squares / static_cast<double>(dim), row_state);
        run(on_elements);
        row_state = on_elements.first_state;
      } else if constexpr (Rule::kNeeds == RowNeed::kLastStep) {
        run(rule.ForRow(last_step));
      } else {
        run(rule);
      }
      last_step = times.StepOf(part);
      ++applied;
    }
    if (applied == 0) continue;

    if constexpr (kNew) {
      // No key is compared meanwhile: slots may change hands.
      if (leads) place = TakePlace(table.map, keys.keys[j]);
      place = team.From(place, 0);
      if (place == kNowhere) {
        if (leads) atomicAdd(&table.map.counts->refused, 1);
        continue;
      }
      if (leads) made.Count(table.map);
    }
    const uint64_t sequence =
        kNarrow ? narrow::RoundingSequence(table.start.seed, keys.keys[j], last_step) : 0;
    const StoredRow<kForm> row(table.map, place, sequence);
#pragma unroll
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint32_t e = team.Element(s);
      row.Store(w[s], 0, e);
#pragma unroll
      for (uint32_t k = 0; k != Rule::kStates; ++k) row.Store(states[k][s], k + 1, e);
    }
    if (!leads) continue;
    if (kHasRowState) row.StoreOne(row_state, 1, 0);
    SlotHeader& header = *table.map.HeaderOf(place);
    const uint32_t brought =
        Times::kInTurn
            ? applied
            : PartsThatBrought(gradients.part_ends, keys.order + turn.begin, turn.rows());
    if (kNew) header.key = keys.keys[j];
    header.last_step = last_step;
    uint64_t score = table.start.score;
    if (!kNew && table.map.score_kept != 0) score |= header.score & table.map.score_kept;
    header.score = score;
    header.frequency = frequency + min(brought, UINT32_MAX - frequency);
    header.checkpoint_epoch = table.start.checkpoint_epoch;
  }
  made.Tell();
}

inline uint32_t Processors(const Exec& exec) {
  int count = 0;
  (void)cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, exec.ordinal);
  return static_cast<uint32_t>(count);
}

// How the updates of a batch are launched, once what comes often is being summed (SumOften).
struct UpdateLaunch {
  static constexpr uint32_t kStepsMost = 1024 / 4 / 32;

  UpdateLaunch(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct,
               const BatchGradients& gradients, std::span<const uint32_t> run_ends,
               std::span<std::byte> scratch)
      : aligned(group.AllDimsAreMultiplesOf(4) &&
                (gradients.are_of_keys() || gradients.bags_aligned)),
        lanes(std::min(32U, std::bit_ceil((group.dim_max + 3) / 4))),
        stream(StreamOf(exec)),
        sums(reinterpret_cast<float*>(scratch.data())) {
    STRATA_CHECK(scratch.size() >= UpdateScratchBytes(group.keys, group.dim_max));
    const uint32_t processors = Processors(exec);
    const bool gradients_aligned =
        gradients.are_of_keys() ? group.AllDimsAreMultiplesOf(4) : gradients.bags_aligned;
    SumOften(exec, group, distinct, gradients, run_ends, gradients_aligned, processors, sums);
    const uint64_t blocks = (group.keys * lanes + kMapThreads - 1) / kMapThreads;
    grid = static_cast<uint32_t>(std::min<uint64_t>(blocks, 4 * processors));
  }

  const bool aligned;
  const uint32_t lanes;  // of a team
  uint32_t grid = 0;
  const cudaStream_t stream;
  float* const sums;
};

// Updates of a batch at one time (UpdateRows), about to be launched.
struct UpdateCall {
  const TableGroup& group;
  const OptimizerSpec& optimizer;
  uint64_t step;
  const DistinctKeys& distinct;
  const BatchGradients& gradients;
  UpdateLaunch launch;
};

// Calls visit(times, shape) with the optimizer's rule at that time, and what it does to gradients.
template <typename Visit>
void WithUpdate(const UpdateCall& call, const Visit& visit) {
  WithGradientShape(call.optimizer, [&](const auto& shape) {
    WithRule(call.optimizer, call.step, [&](const auto& rule) {
      visit(AtOnce<std::remove_cvref_t<decltype(rule)>>{rule, call.step}, shape);
    });
  });
}

// Enqueues an update of rows of this form: of keys that have a row, then of those that get one.
template <RowForm kForm, uint32_t kSteps>
void LaunchUpdates(const UpdateCall& call) {
  const UpdateLaunch& launch = call.launch;
  const auto run = [&](const auto& update, const auto& times, const auto& shape) {
    update<<<launch.grid, kMapThreads, 0, launch.stream>>>(
        call.group, times, shape, call.distinct, call.gradients, launch.lanes, launch.sums);
  };
  WithUpdate(call, [&](const auto& times, const auto& shape) {
    using Times = std::remove_cvref_t<decltype(times)>;
    const EitherGradient either(shape);
    // The usual updates have a kernel for each kind of gradients, which spares registers.
    constexpr bool kIsUsual =
        kForm == RowForm::kFp32 || kForm == RowForm::kFp32Aligned || kForm == RowForm::kBf16Aligned;
    WithRows(call.gradients, [&](auto kind) {
      using Rows = typename decltype(kind)::type;
      using Given = std::remove_cvref_t<decltype(shape)>;
      if constexpr (kIsUsual && kSteps == 1 && std::is_same_v<Rows, PlainRows>) {
        run(Update<Times, Given, kSteps, kForm, false, Rows>, times, shape);
      } else if constexpr (kIsUsual && kSteps == 1 && !Rows::kScaled) {
        run(Update<Times, EitherGradient, kSteps, kForm, false, Rows>, times, either);
      } else {
        run(Update<Times, EitherGradient, kSteps, kForm, false, AnyRows>, times, either);
      }
    });
    if (!call.distinct.none_missing) {
      run(Update<Times, EitherGradient, kSteps, kForm, true, AnyRows>, times, either);
    }
  });
}

// The forms that are compiled, each in a file of its own, as its kernels take a minute or more.
// Wide rows are those that take a team several steps.
void UpdateFp32Aligned(const UpdateCall& call);
void UpdateFp32(const UpdateCall& call);
void UpdateFp32Wide(const UpdateCall& call);
void UpdateNarrowAligned(const UpdateCall& call);
void UpdateBf16Aligned(const UpdateCall& call);
void UpdateNarrow(const UpdateCall& call);  // wide or not

}  // namespace strata
