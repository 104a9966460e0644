#include "cluster/gpu/gpu_reduction.h"

#include <fmt/format.h>

namespace strata {
namespace {

uint16_t DetailOf(ElementType type, ReduceOp op) {
  switch (type) {
    case ElementType::kInt32:
      return MakeReduction<int32_t>(op).detail;
    case ElementType::kInt64:
      return MakeReduction<int64_t>(op).detail;
    case ElementType::kFloat:
      return MakeReduction<float>(op).detail;
    case ElementType::kDouble:
      return MakeReduction<double>(op).detail;
    case ElementType::kHalf:
    case ElementType::kBfloat16:
      break;  // the CPU has none
  }
  return 0;
}

}  // namespace

size_t ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kHalf:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kFloat:
      return 4;
    case ElementType::kInt64:
    case ElementType::kDouble:
      break;
  }
  return 8;
}

Result<GpuReduction> OnGpus(const Reduction& reduction) {
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kInt32, ElementType::kInt64}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      if (reduction.detail != 0 && reduction.detail == DetailOf(type, op)) {
        return GpuReduction{type, op};
      }
    }
  }
  return Invalid(
      fmt::format("a group of GPUs reduces float, double, int32 and int64 by sum, min, max and "
                  "product; found '{}': reduce it in a group over links",
                  DescribeReduction(reduction.detail)));
}

}  // namespace strata
