#include "worker/gbdt/catboost/split_bins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "worker/gbdt/catboost/ctr_value.h"

namespace strata {
namespace {

constexpr size_t kBinsOfColumn = 255;  // borders or values that a byte can tell

// How many of the borders, which ascend, are below the value; of NaN none.
uint8_t BordersBelow(std::span<const float> borders, float value) {
  size_t below = 0;
  for (size_t step = std::bit_floor(borders.size()); step > 0; step /= 2) {
    const size_t next = below + step;
    if (next <= borders.size() && borders[next - 1] < value) below = next;
  }
  return static_cast<uint8_t>(below);
}

}  // namespace

SplitBins::SplitBins(const CatBoostModel& model) : model_(model) {
  for (size_t f = 0; f < model.numbers.size(); ++f) {
    AddColumns(SplitKind::kNumber, f, model.numbers[f].borders.size());
  }
  for (size_t c = 0; c < model.categories.size(); ++c) {
    AddColumns(SplitKind::kExactValue, c, model.categories[c].values.size());
  }
  feature_columns_ = columns_.size();
  for (size_t c = 0; c < model.ctrs.size(); ++c) {
    AddColumns(SplitKind::kCtr, c, model.ctrs[c].borders.size());
  }
  for (const CtrTable& table : model.tables) indexes_.emplace_back(table.keys);
  columns_of_table_.resize(model.tables.size());
  for (size_t c = feature_columns_; c < columns_.size(); ++c) {
    columns_of_table_[model.ctrs[columns_[c].of].table].push_back(c);
  }
}

// In the order of the model's splits.
void SplitBins::AddColumns(SplitKind kind, size_t of, size_t count) {
  for (size_t begin = 0; begin < count; begin += kBinsOfColumn) {
    const size_t here = std::min(kBinsOfColumn, count - begin);
    for (size_t i = 0; i < here; ++i) {
      BinSplit split{.column = static_cast<uint32_t>(columns_.size())};
      if (kind == SplitKind::kExactValue) {
        split.mask = static_cast<uint8_t>(~(i + 1));  // so that the value's bin, alone, becomes 255
        split.least = 255;
      } else {
        split.least = static_cast<uint8_t>(i + 1);
      }
      splits_.push_back(split);
    }
    columns_.push_back({.kind = kind, .of = of, .begin = begin, .count = here});
  }
}

void SplitBins::Fill(const CatBoostRows& rows, std::span<uint8_t> bins) const {
  const size_t count = rows.rows();
  for (size_t c = 0; c < feature_columns_; ++c) {
    const Column& column = columns_[c];
    const std::span<uint8_t> to = bins.subspan(c * count, count);
    if (column.kind == SplitKind::kNumber) {
      FillNumbers(column, rows.Number(column.of), to);
      continue;
    }
    const std::span<const uint32_t> hashes = rows.Category(column.of);
    std::ranges::fill(to, uint8_t{0});
    for (size_t i = 0; i < column.count; ++i) {
      const auto value =
          static_cast<uint32_t>(model_.categories[column.of].values[column.begin + i]);
      const auto bin = static_cast<uint8_t>(i + 1);
      for (size_t row = 0; row < count; ++row) to[row] |= hashes[row] == value ? bin : uint8_t{0};
    }
  }
  for (size_t t = 0; t < columns_of_table_.size(); ++t) {
    if (!columns_of_table_[t].empty()) FillCtrs(t, rows, bins);
  }
}

std::span<const float> SplitBins::BordersOf(const Column& column) const {
  const std::vector<float>& all = column.kind == SplitKind::kNumber
                                      ? model_.numbers[column.of].borders
                                      : model_.ctrs[column.of].borders;
  return std::span(all).subspan(column.begin, column.count);
}

void SplitBins::FillNumbers(const Column& column, std::span<const float> values,
                            std::span<uint8_t> bins) const {
  const std::span<const float> borders = BordersOf(column);
  for (size_t row = 0; row < values.size(); ++row) bins[row] = BordersBelow(borders, values[row]);
  if (column.kind != SplitKind::kNumber || model_.numbers[column.of].nan != NanTreatment::kAsTrue) {
    return;
  }
  const auto above_all = static_cast<uint8_t>(borders.size());
  for (size_t row = 0; row < values.size(); ++row) {
    if (std::isnan(values[row])) bins[row] = above_all;
  }
}

void SplitBins::Keys(const CtrProjection& projection, const CatBoostRows& rows,
                     std::span<const uint8_t> bins, std::span<uint64_t> keys) const {
  std::ranges::fill(keys, 0);
  for (const uint32_t category : projection.categories) {
    const std::span<const uint32_t> hashes = rows.Category(category);
    for (size_t row = 0; row < keys.size(); ++row) {
      keys[row] = CombinedKey(keys[row], KeyOfCategory(hashes[row]));
    }
  }
  for (const uint32_t index : projection.splits) {
    const BinSplit& split = splits_[index];
    const uint8_t* const column = bins.data() + split.column * keys.size();
    for (size_t row = 0; row < keys.size(); ++row) {
      keys[row] = CombinedKey(keys[row], split.Of(column[row]) ? 1 : 0);
    }
  }
}

void SplitBins::FillCtrs(size_t table, const CatBoostRows& rows, std::span<uint8_t> bins) const {
  const size_t count = rows.rows();
  std::vector<uint64_t> keys(count);
  Keys(model_.tables[table].projection, rows, bins, keys);
  std::vector<uint32_t> found(count);
  for (size_t row = 0; row < count; ++row) found[row] = indexes_[table].Find(keys[row]);
  std::vector<float> values(count);
  for (const size_t c : columns_of_table_[table]) {
    const CatBoostCtr& ctr = model_.ctrs[columns_[c].of];
    for (size_t row = 0; row < count; ++row) {
      values[row] = CtrValue(model_.tables[table], ctr, found[row]);
    }
    FillNumbers(columns_[c], values, bins.subspan(c * count, count));
  }
}

}  // namespace strata
