// The peer of the host table: what one writes by hand over boost::unordered_flat_map.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/row_schema.h"

namespace strata::bench {

// A map from key to row number; rows of `dim` values, and as many AdaGrad sums behind them, in
// slabs that never move.
class FlatMapTable {
 public:
  FlatMapTable(uint32_t dim, bool adagrad) : dim_(dim), width_(adagrad ? 2 * dim : dim) {}

  void Lookup(std::span<const Key> keys, float* out) const {
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = index_.find(keys[i]);
      const float* row = Row(found->second);
      std::copy_n(row, dim_, out + i * dim_);
    }
  }

  // AdaGrad, a key at a time. Keys that are missing are made, of zeros.
  void Update(std::span<const Key> keys, const float* gradients, float rate) {
    for (size_t i = 0; i < keys.size(); ++i) {
      float* row = Row(NumberOf(keys[i]));
      const float* gradient = gradients + i * dim_;
      float* sums = row + dim_;
      for (uint32_t e = 0; e < dim_; ++e) {
        sums[e] += gradient[e] * gradient[e];
        row[e] -= rate * gradient[e] / (std::sqrt(sums[e]) + 1e-7F);
      }
    }
  }

  // Values in; keys that are missing are made.
  void Assign(std::span<const Key> keys, const float* values) {
    for (size_t i = 0; i < keys.size(); ++i) {
      std::copy_n(values + i * dim_, dim_, Row(NumberOf(keys[i])));
    }
  }

 private:
  static constexpr uint64_t kSlabRows = 4096;

  float* Row(uint64_t number) { return slabs_[number / kSlabRows].get() + Place(number); }
  const float* Row(uint64_t number) const {
    return slabs_[number / kSlabRows].get() + Place(number);
  }
  size_t Place(uint64_t number) const { return number % kSlabRows * width_; }

  uint64_t NumberOf(Key key) {
    const auto [found, is_new] = index_.try_emplace(key, static_cast<uint32_t>(index_.size()));
    if (is_new && found->second % kSlabRows == 0) {
      slabs_.push_back(std::make_unique<float[]>(kSlabRows * width_));
    }
    return found->second;
  }

  const uint32_t dim_;
  const uint32_t width_;
  boost::unordered_flat_map<Key, uint32_t> index_;
  std::vector<std::unique_ptr<float[]>> slabs_;
};

}  // namespace strata::bench
