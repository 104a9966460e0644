#include "kernels/optim/apply.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/optim/rules.h"

namespace strata {
namespace {

// Weight, state and gradient never overlap; said so, the loop vectorises.
template <typename Rule>
void ApplySpan(const Rule& rule, size_t count, float* __restrict value, float* __restrict state,
               const float* __restrict gradient) {
  for (size_t i = 0; i < count; ++i) rule(gradient[i], value[i], state + i, count);
}

}  // namespace

void InitialState(const OptimizerSpec& spec, std::span<float> state) {
  const bool adagrad = spec.kind == OptimizerKind::kAdaGrad;
  std::fill(state.begin(), state.end(), adagrad ? spec.initial_accumulator : 0.0F);
}

void ApplyRows(const Exec& exec, const OptimizerSpec& spec, uint64_t step, uint32_t dim,
               std::span<const RowUpdate> updates) {
  STRATA_CHECK(exec.device == DeviceKind::kCpu && step >= 1);
  constexpr size_t kAhead = 8;  // rows fetched before their turn
  const size_t last = size_t{dim} + StateWidth(spec, dim) - 1;
  WithRule(spec, step, [&](const auto& rule) {
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
      ApplySpan(rule, dim, updates[i].row, updates[i].row + dim, updates[i].gradient);
    }
  });
}

void ApplyDense(const Exec& exec, const OptimizerSpec& spec, uint64_t step, std::span<float> value,
                std::span<float> state, std::span<const float> gradient) {
  STRATA_CHECK(exec.device == DeviceKind::kCpu && step >= 1);
  STRATA_CHECK(value.size() == gradient.size() && state.size() == StateWidth(spec, value.size()));
  WithRule(spec, step, [&](const auto& rule) {
    ApplySpan(rule, value.size(), value.data(), state.data(), gradient.data());
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
