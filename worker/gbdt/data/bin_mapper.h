// BinMapper: how one feature's values become bins, by LightGBM's rules (its bin.cpp), so that both
// find the same boundaries from the same sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/tree/score/forest.h"
#include "kernels/tree/split/split_search.h"
#include "strata/status.h"
#include "worker/gbdt/data/bound_grid.h"

namespace strata {

struct BinningRules {
  uint32_t max_bin = 255;  // of one feature; at most 65,535
  int64_t min_data_in_bin = 3;
  bool use_missing = true;
  bool zero_as_missing = false;
  bool pre_filter = true;         // a feature that cannot be split is left out
  int64_t min_data_in_leaf = 20;  // for the filter
};

// A sample of one feature's values: those that are not 0, in any order, NaN among them.
struct FeatureSample {
  std::vector<double> values;
  size_t rows = 0;                         // sampled, those with a 0 included
  size_t rows_of_data = 0;                 // from which they were sampled
  bool categorical = false;                // values are category numbers
  uint32_t max_bin = 0;                    // of this feature; 0: the rules'
  std::vector<double> forced_bounds = {};  // of bins, around which others are found
};

// Immutable; any number of threads.
class BinMapper {
 public:
  BinMapper() = default;  // of a feature that is left out
  static BinMapper Find(FeatureSample sample, const BinningRules& rules);

  // The bin of a value; NaN is a missing value. A value that is no category
  // (kernels/tree/bins/category.h) and a category that is not known are in bin 0.
  uint32_t BinOf(double value) const;

  bool is_used() const { return shape_.bins > 1; }
  const FeatureShape& shape() const { return shape_; }
  // Of a number: the finite upper bounds of its bins, and the bin of a missing value.
  std::span<const double> value_bounds() const { return std::span(bounds_).first(value_bounds_); }
  uint32_t missing_bin() const { return BinOf(std::numeric_limits<double>::quiet_NaN()); }
  // The largest value of a bin: what a model's threshold is.
  double UpperBound(uint32_t bin) const { return bounds_[bin]; }
  // Of a categorical feature: the category of each bin; -1 for bin 0.
  std::span<const int32_t> categories() const { return categories_; }
  double smallest() const { return smallest_; }
  double largest() const { return largest_; }
  // For another rank, and back. kCorrupt: bytes that are none of a mapper's.
  std::vector<std::byte> ToBytes() const;
  static Result<BinMapper> FromBytes(std::span<const std::byte> bytes);
  // As model files have it: "[min:max]", "3:1:0", or "none".
  std::string InfoText() const;

 private:
  void FindNumeric(const FeatureSample& sample, size_t missing, const BinningRules& rules,
                   std::vector<int64_t>* rows_in_bin);
  void FindCategories(const FeatureSample& sample, size_t missing, const BinningRules& rules,
                      std::vector<int64_t>* rows_in_bin);

  // Of numeric bounds, once they are there.
  void MakeGrid();

  FeatureShape shape_;
  double smallest_ = 0;
  double largest_ = 0;
  std::vector<double> bounds_;       // numeric: ascending; of a bin for NaN: NaN
  size_t value_bounds_ = 0;          // those of values, but for the last one, which is infinite
  BoundGrid grid_;                   // over them
  std::vector<int32_t> categories_;  // categorical
  std::unordered_map<int32_t, uint32_t> bin_of_category_;
};

}  // namespace strata
