#include "worker/gbdt/data/bin_mapper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/tree/bins/category.h"
#include "worker/gbdt/data/bin_bounds.h"
#include "worker/gbdt/data/sort_numbers.h"

namespace strata {
namespace {

constexpr double kCategoryRowsKept = 0.99F;  // rarer categories share bin 0

// Whether no split of these bins leaves `least` rows on both sides.
bool IsUnsplittable(std::span<const int64_t> rows_in_bin, int64_t rows, int64_t least,
                    bool categorical) {
  const auto enough = [&](int64_t left) { return left >= least && rows - left >= least; };
  if (categorical) {
    if (rows_in_bin.size() > 2) return false;
    return std::ranges::none_of(rows_in_bin, enough);
  }
  int64_t left = 0;
  for (size_t bin = 0; bin + 1 < rows_in_bin.size(); ++bin) {
    left += rows_in_bin[bin];
    if (enough(left)) return false;
  }
  return true;
}

}  // namespace

BinMapper BinMapper::Find(FeatureSample sample, const BinningRules& rules_of_all) {
  BinningRules rules = rules_of_all;
  if (sample.max_bin > 0) rules.max_bin = sample.max_bin;
  BinMapper mapper;
  mapper.shape_.categorical = sample.categorical;
  const size_t before = sample.values.size();
  std::erase_if(sample.values, [](double value) { return std::isnan(value); });
  const size_t missing =
      rules.use_missing && !rules.zero_as_missing ? before - sample.values.size() : 0;
  SortNumbers(&sample.values);
  std::vector<int64_t> rows_in_bin;
  if (sample.categorical) {
    mapper.FindCategories(sample, before - sample.values.size(), rules, &rows_in_bin);
  } else {
    mapper.FindNumeric(sample, missing, rules, &rows_in_bin);
  }
  mapper.shape_.bins = static_cast<uint32_t>(rows_in_bin.size());
  const auto least = static_cast<int64_t>(
      static_cast<double>(rules.min_data_in_leaf) * static_cast<double>(sample.rows) /
      static_cast<double>(std::max<size_t>(1, sample.rows_of_data)));
  if (mapper.shape_.bins > 1 && rules.pre_filter &&
      IsUnsplittable(rows_in_bin, static_cast<int64_t>(sample.rows), least, sample.categorical)) {
    mapper.shape_.bins = 1;
  }
  if (mapper.is_used()) mapper.shape_.default_bin = mapper.BinOf(0);
  return mapper;
}

void BinMapper::FindNumeric(const FeatureSample& sample, size_t missing, const BinningRules& rules,
                            std::vector<int64_t>* rows_in_bin) {
  const size_t zeros = sample.rows - sample.values.size() - missing;
  const DistinctValues distinct = FindDistinct(sample.values, zeros);
  smallest_ = distinct.values.front();
  largest_ = distinct.values.back();
  const auto rows = static_cast<int64_t>(sample.rows);
  shape_.missing = rules.zero_as_missing && rules.use_missing ? MissingKind::kZero
                   : missing > 0                              ? MissingKind::kNaN
                                                              : MissingKind::kNone;
  const bool has_nan_bin = shape_.missing == MissingKind::kNaN;
  const size_t max_bin = rules.max_bin - (has_nan_bin ? 1 : 0);
  const int64_t rows_with_value = rows - static_cast<int64_t>(missing);
  bounds_ = sample.forced_bounds.empty()
                ? FindBounds(distinct, max_bin, rows_with_value, rules.min_data_in_bin)
                : FindBoundsAround(distinct, sample.forced_bounds, max_bin, rows_with_value,
                                   rules.min_data_in_bin);
  if (shape_.missing == MissingKind::kZero && bounds_.size() == 2)
    shape_.missing = MissingKind::kNone;
  rows_in_bin->assign(bounds_.size(), 0);
  size_t bin = 0;
  for (size_t i = 0; i < distinct.values.size(); ++i) {
    while (distinct.values[i] > bounds_[bin] && bin + 1 < bounds_.size()) ++bin;
    (*rows_in_bin)[bin] += distinct.rows[i];
  }
  if (has_nan_bin) {
    bounds_.push_back(std::numeric_limits<double>::quiet_NaN());
    rows_in_bin->push_back(static_cast<int64_t>(missing));
  }
  MakeGrid();
}

void BinMapper::FindCategories(const FeatureSample& sample, size_t missing,
                               const BinningRules& rules, std::vector<int64_t>* rows_in_bin) {
  struct Category {
    int32_t number;
    int64_t rows;
  };
  std::vector<Category> found;
  auto without = static_cast<int64_t>(missing);
  const auto add = [&](double value, int64_t rows) {
    const int32_t number = CategoryOf(value);
    if (number == kNoCategory) {
      without += rows;
      return;
    }
    if (!found.empty() && found.back().number == number) {
      found.back().rows += rows;
    } else {
      found.push_back({number, rows});
    }
  };
  const auto zeros = static_cast<int64_t>(sample.rows - sample.values.size() - missing);
  const auto positive = std::ranges::find_if(sample.values, [](double v) { return v >= 0; });
  for (auto i = sample.values.begin(); i != positive; ++i) add(*i, 1);
  if (zeros > 0) add(0, zeros);
  for (auto i = positive; i != sample.values.end(); ++i) add(*i, 1);
  std::ranges::stable_sort(found,
                           [](const Category& a, const Category& b) { return a.rows > b.rows; });
  categories_ = {-1};
  *rows_in_bin = {0};
  const auto rows = static_cast<int64_t>(sample.rows);
  if (rows - without <= 0) return;
  const auto kept =
      static_cast<int64_t>(static_cast<double>(rows - without) * kCategoryRowsKept + 0.5);
  const size_t most = std::min<size_t>(found.size() + (without > 0 ? 1 : 0), rules.max_bin);
  int64_t used = 0;
  size_t next = 0;
  while (next < found.size() && (used < kept || categories_.size() < most)) {
    if (found[next].rows < rules.min_data_in_bin && next > 1) break;
    bin_of_category_[found[next].number] = static_cast<uint32_t>(categories_.size());
    categories_.push_back(found[next].number);
    rows_in_bin->push_back(found[next].rows);
    used += found[next].rows;
    ++next;
  }
  (*rows_in_bin)[0] = rows - used;
  shape_.missing = next == found.size() && without == 0 ? MissingKind::kNone : MissingKind::kNaN;
}

uint32_t BinMapper::BinOf(double value) const {
  if (shape_.categorical) {
    const auto found = bin_of_category_.find(CategoryOf(value));
    return found == bin_of_category_.end() ? 0 : found->second;
  }
  if (std::isnan(value)) {
    if (shape_.missing == MissingKind::kNaN) return shape_.bins - 1;
    value = 0;
  }
  return grid_.FirstNotBelow(value, bounds_.data());
}

void BinMapper::MakeGrid() {
  if (shape_.categorical) return;
  const size_t missing = shape_.missing == MissingKind::kNaN ? 1 : 0;
  const size_t values = std::max(bounds_.size(), missing + 1) - missing;
  value_bounds_ = values - 1;
  grid_ = BoundGrid(value_bounds());
}

std::string BinMapper::InfoText() const {
  if (!is_used()) return "none";
  if (shape_.categorical) return fmt::format("{}", fmt::join(categories_, ":"));
  return fmt::format("[{:.17g}:{:.17g}]", smallest_, largest_);
}

}  // namespace strata
