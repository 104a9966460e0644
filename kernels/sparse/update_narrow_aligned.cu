#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateNarrowAligned(const UpdateCall& call) {
  LaunchUpdates<RowForm::kNarrowAligned, 1>(call);
}

}  // namespace strata
