#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateAligned(const UpdateCall& call) {
  const UpdateLaunch& launch = call.launch;
  const auto run = [&](const auto& update, const auto& times, const auto& shape) {
    update<<<launch.grid, kMapThreads, 0, launch.stream>>>(
        call.group, times, shape, call.distinct, call.gradients, launch.lanes, launch.sums);
  };
  WithUpdate(call, [&](const auto& times, const auto& shape) {
    using Times = std::remove_cvref_t<decltype(times)>;
    using Given = std::remove_cvref_t<decltype(shape)>;
    const EitherGradient either(shape);
    if (call.gradients.bags == nullptr) {
      run(Update<Times, Given, 1, RowForm::kAligned, false, false>, times, shape);
    } else {
      run(Update<Times, EitherGradient, 1, RowForm::kAligned, false, true>, times, either);
    }
    run(Update<Times, EitherGradient, 1, RowForm::kAligned, true, true>, times, either);
  });
}

}  // namespace strata
