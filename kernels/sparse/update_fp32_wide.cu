#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateFp32Wide(const UpdateCall& call) {
  LaunchUpdates<RowForm::kFp32, UpdateLaunch::kStepsMost>(call);
}

}  // namespace strata
