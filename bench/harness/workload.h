// The keys and rows that contenders are given, all of them the same.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/row_schema.h"

namespace strata::bench {

enum class Distribution { kUniform, kZipf };
std::string_view DistributionName(Distribution distribution);

// The exponent of Zipf's law for kZipf: that of the published recommender benchmarks.
constexpr double kZipfExponent = 1.05;

// The n-th key of a table: spread over all 64 bits, no two alike.
Key KeyAt(uint64_t n);
// The n of such a key.
uint64_t NumberOf(Key key);

// `count` keys among the first `rows` of a table, the same for the same seed. With kZipf the row of
// rank r is drawn in proportion to r^-1.05.
std::vector<Key> DrawKeys(Distribution distribution, uint64_t rows, size_t count, uint64_t seed);

// `count` floats between -1 and 1.
std::vector<float> DrawFloats(size_t count, uint64_t seed);

}  // namespace strata::bench
