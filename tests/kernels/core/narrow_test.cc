#include "kernels/core/narrow.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace strata {
namespace {

constexpr ElementType kNarrowTypes[] = {ElementType::kBf16, ElementType::kFp16,
                                        ElementType::kSquare16};

struct Format {
  int fraction_bits;
  int exponent_min;  // of the least normal number
  int exponent_max;
  bool is_signed = true;
};
Format FormatOf(ElementType type) {
  if (type == ElementType::kSquare16) return {9, -62, 63, false};
  return type == ElementType::kBf16 ? Format{7, -126, 127} : Format{10, -14, 15};
}

// The distance of neighbours at a number of this size.
double UnitAt(const Format& format, double value) {
  const int exponent = value == 0 ? format.exponent_min : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.exponent_min) - format.fraction_bits);
}

double Bounded(const Format& format, double value) {
  const double max = std::ldexp(2.0 - std::ldexp(1.0, -format.fraction_bits), format.exponent_max);
  return std::abs(value) > max ? std::copysign(std::numeric_limits<double>::infinity(), value)
                               : value;
}

// By the definition of the format, in double.
double Meaning(const Format& format, uint16_t bits) {
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int exponent = (format.is_signed ? bits & 0x7fff : bits) >> format.fraction_bits;
  const double sign = format.is_signed && (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 2 * format.exponent_max + 1 && fraction == 0) {
    return sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 2 * format.exponent_max + 1) return std::numeric_limits<double>::quiet_NaN();
  const int hidden = exponent == 0 ? 0 : 1 << format.fraction_bits;
  return sign * std::ldexp(hidden + fraction,
                           std::max(exponent, 1) - 1 + format.exponent_min - format.fraction_bits);
}

std::vector<float> ManyFloats() {
  std::mt19937_64 random(1);
  std::vector<float> values = {0.0F,      -0.0F,     65504.0F,   65519.99F,  65520.0F, 65536.0F,
                               0x1p-24F,  0x1p-25F,  0x1.8p-25F, 0x1p-26F,   3.4e38F,  -3.4e38F,
                               0x1p-149F, 0x1p-133F, 0x1p-134F,  0x1.8p-134F};
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
    values.push_back(std::ldexp(static_cast<float>(random() % 65536) / 32768 - 1,
                                static_cast<int>(random() % 50) - 30));
  }
  return values;
}

TEST(NarrowTest, EveryPatternMeansWhatItsFormatSaysAndComesBack) {
  for (const ElementType type : kNarrowTypes) {
    for (uint32_t bits = 0; bits <= UINT16_MAX; ++bits) {
      const auto pattern = static_cast<uint16_t>(bits);
      const float wide = narrow::FromBits(type, pattern);
      const double meaning = Meaning(FormatOf(type), pattern);
      if (std::isnan(meaning)) {
        ASSERT_TRUE(std::isnan(wide)) << bits;
        ASSERT_TRUE(std::isnan(narrow::FromBits(type, narrow::ToBits(type, wide)))) << bits;
        ASSERT_TRUE(std::isnan(narrow::FromBits(type, narrow::ToBitsStochastic(type, wide, bits))));
        continue;
      }
      ASSERT_EQ(wide, meaning) << bits;
      ASSERT_EQ(narrow::ToBits(type, wide), pattern);
      for (const uint64_t random : {uint64_t{0}, uint64_t{UINT64_MAX}}) {
        ASSERT_EQ(narrow::ToBitsStochastic(type, wide, random), pattern) << random;
      }
    }
  }
}

TEST(NarrowTest, TheLargestNumberIsThatOfItsFormat) {
  for (const ElementType type : kNarrowTypes) {
    const Format format = FormatOf(type);
    const double unit = std::ldexp(1.0, format.exponent_max - format.fraction_bits);
    EXPECT_EQ(narrow::Largest(type), std::ldexp(2.0, format.exponent_max) - unit);
  }
}

TEST(NarrowTest, NearestIsTheReference) {
  const std::vector<float> values = ManyFloats();
  for (const ElementType type : kNarrowTypes) {
    const Format format = FormatOf(type);
    for (const float value : values) {
      if (value < 0 && !format.is_signed) {
        ASSERT_TRUE(std::isnan(narrow::FromBits(type, narrow::ToBits(type, value)))) << value;
        continue;
      }
      const double unit = UnitAt(format, value);
      const double expected = Bounded(format, std::nearbyint(value / unit) * unit);
      const float found = narrow::FromBits(type, narrow::ToBits(type, value));
      ASSERT_EQ(found, expected) << value;
      ASSERT_EQ(std::signbit(found), format.is_signed && std::signbit(value));
    }
  }
}

TEST(NarrowTest, StochasticGivesANeighbour) {
  const std::vector<float> values = ManyFloats();
  std::mt19937_64 random(2);
  for (const ElementType type : kNarrowTypes) {
    const Format format = FormatOf(type);
    for (const float value : values) {
      if (value < 0 && !format.is_signed) continue;
      const double unit = UnitAt(format, value);
      const double low = Bounded(format, std::floor(value / unit) * unit);
      const double high = Bounded(format, std::ceil(value / unit) * unit);
      const float found = narrow::FromBits(type, narrow::ToBitsStochastic(type, value, random()));
      ASSERT_TRUE(found == low || found == high) << value << " gave " << found;
    }
  }
}

TEST(NarrowTest, TheMeanOfStochasticRoundingIsTheNumber) {
  constexpr int kDraws = 100'000;
  std::mt19937_64 random(3);
  for (const ElementType type : kNarrowTypes) {
    for (const float value : {1.001F, -3.14159F, 0.1F, 1000.3F, 3e-6F, -1e-7F, 7e-9F}) {
      if (value < 0 && !FormatOf(type).is_signed) continue;
      const double unit = UnitAt(FormatOf(type), value);
      double sum = 0;
      for (int i = 0; i < kDraws; ++i) {
        sum += narrow::FromBits(type, narrow::ToBitsStochastic(type, value, random()));
      }
      // Six deviations, each draw's being at most half a unit.
      EXPECT_NEAR(sum / kDraws, value, 3 * unit / std::sqrt(kDraws)) << value;
    }
  }
}

}  // namespace
}  // namespace strata
