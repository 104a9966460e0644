#include "kernels/sparse/update_kernel.cuh"

namespace strata {

size_t UpdateScratchBytes(size_t keys, uint32_t dim_max) {
  return OftenSumFloats(keys, dim_max) * sizeof(float);
}

void UpdateRows(const Exec& exec, const TableGroup& group, const OptimizerSpec& optimizer,
                uint64_t step, const DistinctKeys& distinct, const BatchGradients& gradients,
                std::span<std::byte> scratch) {
  if (group.keys == 0) return;
  const UpdateCall call{group,    optimizer, step,
                        distinct, gradients, {exec, group, distinct, gradients, {}, scratch}};
  const bool wide = group.dim_max > 4 * call.launch.lanes;
  if (group.IsNarrow()) {
    if (!call.launch.aligned || wide) return UpdateNarrow(call);
    return group.IsBf16() ? UpdateBf16Aligned(call) : UpdateNarrowAligned(call);
  }
  if (wide) return UpdateFp32Wide(call);
  return call.launch.aligned ? UpdateFp32Aligned(call) : UpdateFp32(call);
}

}  // namespace strata
