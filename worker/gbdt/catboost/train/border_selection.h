// Where the borders of a number are put: CatBoost's ways to choose them from the values of the
// training rows (library/cpp/grid_creator of its sources describes them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace strata {

enum class BorderType : uint8_t {
  kGreedyLogSum,
  kMedian,
  kUniform,
  kUniformAndQuantiles,
  kMinEntropy,  // this one and the next take time and memory as ExactBorders says
  kMaxLogSum,
};

// By CatBoost's name; nothing: there is none of it.
std::optional<BorderType> FindBorderType(std::string_view name);

// Up to `count` borders, ascending, of finite or infinite values, none of which is NaN. Values that
// are all the same have none. It takes time for sorting the values.
std::vector<float> SelectBorders(std::vector<float> values, BorderType type, size_t count);

}  // namespace strata
