#include "kernels/sparse/update_kernel.cuh"

namespace strata {
namespace {

// Calls visit(times) with the rules of the optimizer at these steps.
template <typename Visit>
void WithRules(const OptimizerSpec& optimizer, std::span<const uint64_t> steps,
               const Visit& visit) {
  WithRule(optimizer, steps[0], [&](const auto& first) {
    using Rule = std::remove_cvref_t<decltype(first)>;
    InTurn<Rule> times{.count = static_cast<uint32_t>(steps.size()), .rules = {}, .steps = {}};
    for (size_t i = 0; i < steps.size(); ++i) {
      times.steps[i] = steps[i];
      WithRule(optimizer, steps[i], [&](const auto& rule) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(rule)>, Rule>) {
          times.rules[i] = rule;
        }
      });
    }
    visit(times);
  });
}

}  // namespace

void UpdateRowsInTurn(const Exec& exec, const TableGroup& group, const OptimizerSpec& optimizer,
                      std::span<const uint64_t> steps, const DistinctKeys& distinct,
                      const BatchGradients& gradients, std::span<std::byte> scratch) {
  STRATA_CHECK(steps.size() <= std::min(kUpdatesInTurnMax, gradients.part_ends.size()));
  STRATA_CHECK(!group.IsNarrow() && gradients.are_of_keys());
  if (group.keys == 0 || steps.empty()) return;
  const UpdateLaunch launch(exec, group, distinct, gradients, gradients.part_ends, scratch);
  const auto run = [&](const auto& update, const auto& times, const auto& shape) {
    update<<<launch.grid, kMapThreads, 0, launch.stream>>>(group, times, shape, distinct, gradients,
                                                           launch.lanes, launch.sums);
  };
  constexpr uint32_t kStepsMost = UpdateLaunch::kStepsMost;
  WithGradientShape(optimizer, [&](const auto& shape) {
    const EitherGradient either(shape);
    WithRules(optimizer, steps, [&](const auto& times) {
      using Times = std::remove_cvref_t<decltype(times)>;
      if (group.dim_max > 4 * launch.lanes) {
        run(Update<Times, EitherGradient, kStepsMost, RowForm::kFp32, false, PlainRows>, times,
            either);
        run(Update<Times, EitherGradient, kStepsMost, RowForm::kFp32, true, PlainRows>, times,
            either);
      } else if (launch.aligned) {
        run(Update<Times, EitherGradient, 1, RowForm::kFp32Aligned, false, PlainRows>, times,
            either);
        run(Update<Times, EitherGradient, 1, RowForm::kFp32Aligned, true, PlainRows>, times,
            either);
      } else {
        run(Update<Times, EitherGradient, 1, RowForm::kFp32, false, PlainRows>, times, either);
        run(Update<Times, EitherGradient, 1, RowForm::kFp32, true, PlainRows>, times, either);
      }
    });
  });
}

}  // namespace strata
