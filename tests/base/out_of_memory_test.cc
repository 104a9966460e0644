#include "base/out_of_memory.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace strata {
namespace {

constexpr size_t kReserve = size_t{1} << 20;

// What operator new does when malloc has nothing.
bool NewHandlerHelps() {
  try {
    std::get_new_handler()();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

TEST(OutOfMemory, EndsWhatMayFailWithAnError) {
  const Status status = OrOutOfMemory("a thing", []() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_NE(status.message().find("out of memory: a thing"), std::string::npos);
  EXPECT_EQ(*OrOutOfMemory("a thing", []() -> Result<int> { return 7; }), 7);
}

TEST(OutOfMemory, TheReserveIsForWhatMustNotFail) {
  KeepReserve(kReserve);
  EXPECT_FALSE(NewHandlerHelps());
  EXPECT_TRUE(HasReserve());
  {
    const MustAllocate must;
    EXPECT_TRUE(NewHandlerHelps());
    EXPECT_FALSE(HasReserve());
    EXPECT_FALSE(NewHandlerHelps()) << "there is only one";
  }
  KeepReserve(kReserve);
  EXPECT_TRUE(HasReserve());
}

TEST(OutOfMemory, WhatMayFailWithinWhatMustNotLeavesTheReserve) {
  KeepReserve(kReserve);
  const MustAllocate must;
  const Status status = OrOutOfMemory("a thing", []() -> Status {
    EXPECT_FALSE(NewHandlerHelps());
    return {};
  });
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(HasReserve());
  EXPECT_TRUE(NewHandlerHelps());
}

// A scope that is opened within the other one, and closed after it.
TEST(OutOfMemory, ScopesMayCross) {
  KeepReserve(kReserve);
  std::optional<MustAllocate> opened_within;
  {
    const MustAllocate must;
    {
      const MayFail may;
      opened_within.emplace();
    }
    opened_within.reset();
    EXPECT_TRUE(NewHandlerHelps());
  }
  KeepReserve(kReserve);
  EXPECT_FALSE(NewHandlerHelps());
}

}  // namespace
}  // namespace strata
