// Keys and pushes where a test does not care which: ranges of keys, gradients of ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "storage/memory/local_table.h"
#include "strata/status.h"

namespace strata {

// first, first + 1, ...: `count` of them.
inline std::vector<Key> Range(Key first, size_t count) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

// One step with the gradient 1 in every element of every row.
inline Status Push(LocalTable& table, std::span<const Key> keys, uint64_t step = 1) {
  const std::vector<float> gradients(keys.size() * table.spec().dim, 1.0F);
  const GradientPart part{keys, gradients};
  return table.ApplyGradients({&part, 1}, step);
}

}  // namespace strata
