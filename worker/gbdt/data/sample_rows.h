// Which rows bin boundaries are found from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

// `wanted` of `rows` rows, ascending; all of them where there are no more. LightGBM's choice (its
// utils/random.h), so that both see the same rows.
std::vector<size_t> SampleRows(size_t rows, size_t wanted, int64_t seed);

}  // namespace strata
