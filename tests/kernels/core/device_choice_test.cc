#include "kernels/core/device_choice.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(DeviceChoice, IsWhatAPersonSays) {
  EXPECT_EQ(*ParseDevice("cpu"), (DeviceChoice{DeviceKind::kCpu, std::nullopt}));
  EXPECT_EQ(*ParseDevice("auto"), (DeviceChoice{std::nullopt, std::nullopt}));
  EXPECT_EQ(*ParseDevice("cuda"), (DeviceChoice{DeviceKind::kCuda, std::nullopt}));
  EXPECT_EQ(*ParseDevice("cuda:12"), (DeviceChoice{DeviceKind::kCuda, 12}));
}

TEST(DeviceChoice, RefusesAnythingElse) {
  for (const char* text :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999"}) {
    const auto parsed = ParseDevice(text);
    ASSERT_EQ(parsed.status().code(), StatusCode::kInvalid) << text;
    EXPECT_NE(parsed.status().message().find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace strata
