#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateOneByOne(const UpdateCall& call) {
  const UpdateLaunch& launch = call.launch;
  const auto run = [&](const auto& update, const auto& times, const auto& shape) {
    update<<<launch.grid, kMapThreads, 0, launch.stream>>>(
        call.group, times, shape, call.distinct, call.gradients, launch.lanes, launch.sums);
  };
  WithUpdate(call, [&](const auto& times, const auto& shape) {
    using Times = std::remove_cvref_t<decltype(times)>;
    const EitherGradient either(shape);
    run(Update<Times, EitherGradient, 1, RowForm::kFp32, false, true>, times, either);
    run(Update<Times, EitherGradient, 1, RowForm::kFp32, true, true>, times, either);
  });
}

}  // namespace strata
