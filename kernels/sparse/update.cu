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
  if (group.IsNarrow()) return UpdateNarrow(call);
  if (group.dim_max > 4 * call.launch.lanes) return UpdateWide(call);
  return call.launch.aligned ? UpdateAligned(call) : UpdateOneByOne(call);
}

}  // namespace strata
