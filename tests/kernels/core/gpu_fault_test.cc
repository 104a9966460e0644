#include "kernels/core/gpu_fault.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(GpuFaultDeathTest, EndsTheProcessWithALineThatSaysWhatToDo) {
  EXPECT_EXIT(EndForGpuFault(3, Failed("an erase: CUDA: broken")), testing::ExitedWithCode(70),
              "GPU 3 failed: an erase: CUDA: broken: .*start it again");
  EXPECT_EXIT(EndForGpuFault(std::nullopt, Failed("x")), testing::ExitedWithCode(70),
              "GPU . failed");
}

}  // namespace
}  // namespace strata
