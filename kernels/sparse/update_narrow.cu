#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateNarrow(const UpdateCall& call) {
  LaunchUpdates<RowForm::kNarrow, UpdateLaunch::kStepsMost>(call);
}

}  // namespace strata
