#include "kernels/core/initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace strata {
namespace {

constexpr InitializerSpec kUniform{InitializerKind::kUniform, 0.05F};
constexpr InitializerSpec kNormal{InitializerKind::kNormal, 0.05F};

TEST(InitializerTest, RowsAndElementsAgree) {
  const std::vector<uint64_t> keys = {0, 1, uint64_t{1} << 63, UINT64_MAX, 42};
  for (const InitializerSpec& spec : {InitializerSpec{}, kUniform, kNormal}) {
    for (const uint32_t dim : {1U, 2U, 7U, 1024U}) {
      std::vector<float> rows(keys.size() * dim), row(dim);
      InitialRows(Exec{}, spec, 9, keys, dim, rows);
      for (size_t i = 0; i < keys.size(); ++i) {
        InitialRow(spec, 9, keys[i], row);
        for (uint32_t d = 0; d < dim; ++d) {
          ASSERT_EQ(rows[i * dim + d], InitialElement(spec, 9, keys[i], d));
          ASSERT_EQ(rows[i * dim + d], row[d]);
        }
      }
    }
  }
}

// Frozen: rows that were never updated exist nowhere but in this function.
TEST(InitializerTest, ValuesAreFrozen) {
  EXPECT_EQ(InitialSequence(1, 2), 0xf73e9023897899b7ULL);
  EXPECT_EQ(InitialElement(kUniform, 1, 2, 0), -0x1.6fd58ep-7F);
  EXPECT_EQ(InitialElement(kUniform, 1, 2, 1), -0x1.12a804p-5F);
  EXPECT_EQ(InitialElement(kNormal, 1, 2, 0), 0x1.1fd7fap-5F);
  EXPECT_EQ(InitialElement(kNormal, 1, 2, 1), 0x1.e4cfccp-5F);
  EXPECT_EQ(InitialElement(InitializerSpec{}, 1, 2, 0), 0.0F);
}

TEST(InitializerTest, DependsOnSeedKeyAndElement) {
  for (const InitializerSpec& spec : {kUniform, kNormal}) {
    const float value = InitialElement(spec, 1, 2, 3);
    EXPECT_NE(value, InitialElement(spec, 2, 2, 3));
    EXPECT_NE(value, InitialElement(spec, 1, 3, 3));
    EXPECT_NE(value, InitialElement(spec, 1, 2, 4));
    EXPECT_NE(InitialElement(spec, 1, 2, 3), InitialElement(spec, 2, 1, 3));
  }
}

TEST(InitializerTest, DistributionsFitTheirNames) {
  for (const InitializerSpec& spec : {kUniform, kNormal}) {
    const bool uniform = spec.kind == InitializerKind::kUniform;
    constexpr uint32_t kKeys = 20'000, kDim = 16;
    double sum = 0.0, squares = 0.0;
    std::vector<float> row(kDim);
    for (uint64_t key = 0; key < kKeys; ++key) {
      InitialRow(spec, 77, key, row);
      for (const float x : row) {
        ASSERT_TRUE(!uniform || (x >= -spec.scale && x < spec.scale)) << x;
        sum += x;
        squares += double{x} * x;
      }
    }
    constexpr double kCount = double{kKeys} * kDim;
    const double deviation = uniform ? spec.scale / std::sqrt(3.0) : spec.scale;
    // Six standard deviations of the mean, and of the mean square of the wider one (the normal).
    EXPECT_NEAR(sum / kCount, 0.0, 6 * deviation / std::sqrt(kCount));
    EXPECT_NEAR(squares / kCount / (deviation * deviation), 1.0, 6 * std::sqrt(2.0 / kCount));
  }
}

}  // namespace
}  // namespace strata
