#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateFp32Aligned(const UpdateCall& call) { LaunchUpdates<RowForm::kFp32Aligned, 1>(call); }

}  // namespace strata
