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

TEST(GpuFault, IsCaughtAndSaysWhatFailed) {
  bool was_destroyed = false;
  struct Held {
    ~Held() { *destroyed = IgnoresGpuFaults(); }
    bool* destroyed;
  };
  const Status status = CatchGpuFault([&]() -> Status {
    const Held held{&was_destroyed};
    EXPECT_FALSE(IgnoresGpuFaults());
    EndForGpuFault(3, Failed("an erase: CUDA: broken"));
  });
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_NE(status.message().find("GPU 3 failed: an erase: CUDA: broken"), std::string::npos);
  EXPECT_TRUE(was_destroyed);
  EXPECT_FALSE(IgnoresGpuFaults());
}

TEST(GpuFaultDeathTest, EndsTheProcessBehindAFaultThatWasCaught) {
  (void)CatchGpuFault([] { return Status(); });
  EXPECT_EXIT(EndForGpuFault(0, Failed("x")), testing::ExitedWithCode(70), "GPU 0 failed");
}

TEST(GpuFault, IsIgnoredWhileItsStoreIsDestroyed) {
  {
    const IgnoreGpuFaults ignore;
    EXPECT_TRUE(IgnoresGpuFaults());
  }
  EXPECT_FALSE(IgnoresGpuFaults());
}

}  // namespace
}  // namespace strata
