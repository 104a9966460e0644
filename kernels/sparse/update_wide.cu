#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateWide(const UpdateCall& call) {
  const UpdateLaunch& launch = call.launch;
  const auto run = [&](const auto& update, const auto& times, const auto& shape) {
    update<<<launch.grid, kMapThreads, 0, launch.stream>>>(
        call.group, times, shape, call.distinct, call.gradients, launch.lanes, launch.sums);
  };
  constexpr uint32_t kStepsMost = UpdateLaunch::kStepsMost;
  WithUpdate(call, [&](const auto& times, const auto& shape) {
    using Times = std::remove_cvref_t<decltype(times)>;
    const EitherGradient either(shape);
    run(Update<Times, EitherGradient, kStepsMost, RowForm::kFp32, false, true>, times, either);
    run(Update<Times, EitherGradient, kStepsMost, RowForm::kFp32, true, true>, times, either);
  });
}

}  // namespace strata
