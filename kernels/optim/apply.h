// Optimizer steps over many rows of a table, or over one flat span (a trainer's dense parameters):
// the same rules (kernels/optim/rules.h), the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread/work_pool.h"
#include "strata/element_type.h"
#include "strata/exec.h"
#include "strata/optimizer_spec.h"

namespace strata {

// Floats of state for a row or span of `count` elements, not always a multiple of it. Layout:
// kernels/optim/rules.h.
constexpr uint64_t StateWidth(const OptimizerSpec& spec, uint64_t count) {
  switch (spec.kind) {
    case OptimizerKind::kSgd:
      return 0;
    case OptimizerKind::kRowwiseAdaGrad:
      return 1;
    case OptimizerKind::kAdaGrad:
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
    case OptimizerKind::kRmsProp:
      return count;
    case OptimizerKind::kAdam:
    case OptimizerKind::kFtrl:
    case OptimizerKind::kLazyAdam:
      return 2 * count;
  }
  return 0;
}

// How state of `type` is stored. fp16 has no range for what is a sum or a mean of squares: of a
// gradient of 1e-4 the square is below its least number.
constexpr StateTypes StateTypesOf(OptimizerKind kind, ElementType type) {
  if (type != ElementType::kFp16) return {type, type};
  switch (kind) {
    case OptimizerKind::kAdaGrad:
    case OptimizerKind::kRowwiseAdaGrad:
    case OptimizerKind::kRmsProp:
    case OptimizerKind::kFtrl:
      return {ElementType::kSquare16, type};
    case OptimizerKind::kAdam:
    case OptimizerKind::kLazyAdam:
      return {type, ElementType::kSquare16};
    case OptimizerKind::kSgd:
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
      break;
  }
  return {type, type};
}

// The state of parameters that were never updated: initial_accumulator for AdaGrad in both forms, 0
// for the others.
void InitialState(const OptimizerSpec& spec, std::span<float> state);

// One row's turn. The row is | value: dim | state: StateWidth(dim) |, as RowSchema lays it out.
struct RowUpdate {
  float* row;
  const float* gradient;  // dim elements, finite
  uint64_t last_step;     // time of the row's last update; 0: it has had none
};

// Runs the rule at time `step` (1 or more) once for each row. No row may come twice. The memory
// lies where `exec` runs (on a GPU the array of updates too).
void ApplyRows(const Exec& exec, const OptimizerSpec& spec, uint64_t step, uint32_t dim,
               std::span<const RowUpdate> updates);

// The rule over flat spans, as if they were one row that every step updates: clip_norm bounds the
// norm of the whole. value.size() == gradient.size(), state.size() == StateWidth of it. `threads`
// help, and change no bits; null: the calling thread works alone.
void ApplyDense(const Exec& exec, const OptimizerSpec& spec, uint64_t step, std::span<float> value,
                std::span<float> state, std::span<const float> gradient,
                WorkPool* threads = nullptr);

// No NaN and no infinity among them. A row whose gradient fails this is to be left alone.
bool AllFinite(std::span<const float> values);

}  // namespace strata
