#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateFp32(const UpdateCall& call) { LaunchUpdates<RowForm::kFp32, 1>(call); }

}  // namespace strata
