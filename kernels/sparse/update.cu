#include "kernels/sparse/update_kernel.cuh"

namespace strata {

size_t UpdateScratchBytes(size_t keys, uint32_t dim_max) {
  return OftenSumFloats(keys, dim_max) * sizeof(float);
}

void UpdateRows(const Exec& exec, const TableGroup& group, const OptimizerSpec& optimizer,
                uint64_t step, const DistinctKeys& distinct, const BatchGradients& gradients,
                std::span<std::byte> scratch) {
  if (group.keys == 0) return;
  const UpdateLaunch launch(exec, group, distinct, gradients, {}, scratch);
  const auto run = [&](const auto& update, const auto& times, const auto& shape) {
    update<<<launch.grid, kMapThreads, 0, launch.stream>>>(group, times, shape, distinct, gradients,
                                                           launch.lanes, launch.sums);
  };
  constexpr uint32_t kStepsMost = UpdateLaunch::kStepsMost;
  WithGradientShape(optimizer, [&](const auto& shape) {
    WithRule(optimizer, step, [&](const auto& rule) {
      using Times = AtOnce<std::remove_cvref_t<decltype(rule)>>;
      using Given = std::remove_cvref_t<decltype(shape)>;
      const Times times{rule, step};
      const EitherGradient either(shape);
      if (group.IsNarrow()) {
        run(Update<Times, EitherGradient, kStepsMost, RowForm::kNarrow, false, true>, times,
            either);
        run(Update<Times, EitherGradient, kStepsMost, RowForm::kNarrow, true, true>, times, either);
      } else if (group.dim_max > 4 * launch.lanes) {
        run(Update<Times, EitherGradient, kStepsMost, RowForm::kFp32, false, true>, times, either);
        run(Update<Times, EitherGradient, kStepsMost, RowForm::kFp32, true, true>, times, either);
      } else if (launch.aligned) {
        if (gradients.bags == nullptr) {
          run(Update<Times, Given, 1, RowForm::kAligned, false, false>, times, shape);
        } else {
          run(Update<Times, EitherGradient, 1, RowForm::kAligned, false, true>, times, either);
        }
        run(Update<Times, EitherGradient, 1, RowForm::kAligned, true, true>, times, either);
      } else {
        run(Update<Times, EitherGradient, 1, RowForm::kFp32, false, true>, times, either);
        run(Update<Times, EitherGradient, 1, RowForm::kFp32, true, true>, times, either);
      }
    });
  });
}

}  // namespace strata
