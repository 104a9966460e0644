#include "kernels/optim/apply.h"

#include <algorithm>
#include <cstring>

#include "kernels/core/wide_vectors.h"
#include "kernels/optim/gradient_shape.h"
#include "kernels/optim/row_sum.h"
#include "kernels/optim/rules.h"
#include "strata/status.h"

namespace strata {
namespace {

constexpr size_t kPiece = size_t{1} << 16;  // of a flat span, which a thread takes at a time

// The elements from `begin` to `end` of a row of `count`. Weight, state and gradient never overlap;
// said so, the loop vectorises.
template <typename Rule, typename Shape>
void ApplySpan(const Rule& rule, const Shape& shape, size_t begin, size_t end, size_t count,
               float* __restrict value, float* __restrict state, const float* __restrict gradient) {
  for (size_t i = begin; i < end; ++i) {
    rule(shape(gradient[i], value[i]), value[i], state + i, count);
  }
}

// One row, or one span as if it were a row. Its device counterpart is in kernels/sparse/update.cu.
template <typename Rule, typename Shape>
void ApplyRow(const Rule& rule, Shape shape, size_t count, float* value, float* state,
              const float* gradient, uint64_t last_step, WorkPool* threads = nullptr) {
  const auto apply = [&](const auto& on_elements) {
    if (threads == nullptr) {
      return ApplySpan(on_elements, shape, 0, count, count, value, state, gradient);
    }
    threads->RunPieces(count, kPiece, [&](size_t begin, size_t end) {
      WithWideVectors(
          [&] { ApplySpan(on_elements, shape, begin, end, count, value, state, gradient); });
    });
  };
  if constexpr (Shape::kMayClipNorm) {
    if (shape.clip_norm > 0) {
      shape.ScaleTo(SumOfSquares(count, [&](size_t i) { return shape.Clipped(gradient[i]); }));
    }
  }
  if constexpr (Rule::kNeeds == RowNeed::kMeanSquare) {
    const double squares =
        SumOfSquares(count, [&](size_t i) { return shape(gradient[i], value[i]); });
    const auto of_row = rule.ForRow(squares / static_cast<double>(count), state[0]);
    apply(of_row);
    state[0] = of_row.first_state;
  } else if constexpr (Rule::kNeeds == RowNeed::kLastStep) {
    apply(rule.ForRow(last_step));
  } else {
    apply(rule);
  }
}

// Calls visit(rule, shape).
template <typename Visit>
void WithRuleAndShape(const OptimizerSpec& spec, uint64_t step, Visit&& visit) {
  WithGradientShape(spec, [&](const auto& shape) {
    WithRule(spec, step, [&](const auto& rule) { visit(rule, shape); });
  });
}

}  // namespace

void InitialState(const OptimizerSpec& spec, std::span<float> state) {
  const bool accumulates =
      spec.kind == OptimizerKind::kAdaGrad || spec.kind == OptimizerKind::kRowwiseAdaGrad;
  std::fill(state.begin(), state.end(), accumulates ? spec.initial_accumulator : 0.0F);
}

void ApplyRows(const Exec& exec, const OptimizerSpec& spec, uint64_t step, uint32_t dim,
               std::span<const RowUpdate> updates) {
  STRATA_CHECK(exec.device == DeviceKind::kCpu && step >= 1);
  constexpr size_t kAhead = 8;  // rows fetched before their turn
  const size_t last = size_t{dim} + StateWidth(spec, dim) - 1;
  WithRuleAndShape(spec, step, [&](const auto& rule, const auto& shape) {
    const auto apply_all = [&] {
      for (size_t i = 0; i < updates.size(); ++i) {
        if (i + kAhead < updates.size()) {
          // Wide rows the processor streams itself; the state's beginning it cannot guess.
          const RowUpdate& next = updates[i + kAhead];
          __builtin_prefetch(next.row, 1);
          __builtin_prefetch(next.row + dim, 1);
          __builtin_prefetch(next.row + last, 1);
          __builtin_prefetch(next.gradient);
          __builtin_prefetch(next.gradient + dim - 1);
        }
        const RowUpdate& update = updates[i];
        ApplyRow(rule, shape, dim, update.row, update.row + dim, update.gradient, update.last_step);
      }
    };
    WithWideVectors(apply_all);
  });
}

void ApplyDense(const Exec& exec, const OptimizerSpec& spec, uint64_t step, std::span<float> value,
                std::span<float> state, std::span<const float> gradient, WorkPool* threads) {
  STRATA_CHECK(exec.device == DeviceKind::kCpu && step >= 1);
  STRATA_CHECK(value.size() == gradient.size() && state.size() == StateWidth(spec, value.size()));
  if (value.empty()) return;
  WithRuleAndShape(spec, step, [&](const auto& rule, const auto& shape) {
    const auto apply = [&] {
      ApplyRow(rule, shape, value.size(), value.data(), state.data(), gradient.data(), step - 1,
               threads);
    };
    if (threads == nullptr) {
      WithWideVectors(apply);
    } else {
      apply();
    }
  });
}

bool AllFinite(std::span<const float> values) {
  // No early exit: the loop vectorises, and an infinity is the exception. An exponent of all ones
  // overflows into the sign bit's place when one is added to it.
  uint32_t overflow = 0;
  for (const float value : values) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    overflow |= (bits & 0x7f800000U) + 0x00800000U;
  }
  return (overflow & 0x80000000U) == 0;
}

}  // namespace strata
