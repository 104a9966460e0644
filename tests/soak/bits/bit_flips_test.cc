// The flipping of bits itself: what readers make of them is counted, the death of a reader too.
#include "tests/soak/bits/bit_flips.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/support/sim_disk.h"

namespace strata::soak {
namespace {

constexpr uint64_t kBytes = 8;

// A reader that notices bytes 0 to 2, does not look at bytes 3 to 5, believes byte 6, and dies of
// byte 7.
FileKind Careless() {
  auto disk = std::make_shared<SimDisk>();
  STRATA_CHECK(WriteFileAtomically(*disk, "file", std::string(kBytes, 'x')).ok());
  return {.disk = disk.get(), .files = {"file"}, .judge = [disk](const std::string& file) {
            const std::string content = *ReadFile(*disk, file, kBytes);
            if (content[7] != 'x') std::abort();
            if (content[6] != 'x') return Verdict::kWrong;
            return content.starts_with("xxx") ? Verdict::kHarmless : Verdict::kDetected;
          }};
}

TEST(BitFlips, EachIsTriedAndCountedThoughReadersDie) {
  const auto heads = FlipBits("careless", Careless, 0, 1);
  ASSERT_TRUE(heads.ok()) << heads.status().ToString();
  EXPECT_EQ(heads->bits, kBytes * 8);
  EXPECT_EQ(heads->detected, 24U);
  EXPECT_EQ(heads->harmless, 24U);
  EXPECT_EQ(heads->wrong, 8U);
  EXPECT_EQ(heads->crashes, 8U);

  const auto more = FlipBits("careless", Careless, 200, 1);
  ASSERT_TRUE(more.ok()) << more.status().ToString();
  EXPECT_EQ(more->bits, kBytes * 8 + 200);
  EXPECT_EQ(more->detected + more->harmless + more->wrong + more->crashes, more->bits);
  EXPECT_GT(more->crashes, heads->crashes);
}

TEST(BitFlips, WhatIsNotReadUndamagedProvesNothing) {
  const auto make = [] {
    FileKind kind = Careless();
    kind.judge = [](const std::string& /*file*/) { return Verdict::kDetected; };
    return kind;
  };
  EXPECT_EQ(FlipBits("refused", make, 10, 1).status().code(), StatusCode::kFailed);
}

}  // namespace
}  // namespace strata::soak
