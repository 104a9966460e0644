#include "kernels/sparse/update_kernel.cuh"

namespace strata {

void UpdateBf16Aligned(const UpdateCall& call) { LaunchUpdates<RowForm::kBf16Aligned, 1>(call); }

}  // namespace strata
