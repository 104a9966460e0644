#include "worker/gbdt/catboost/split_bins.h"

#include <algorithm>
#include <map>
#include <optional>

#include "worker/gbdt/catboost/border_bins.h"
#include "worker/gbdt/catboost/ctr_value.h"

namespace strata {

SplitBins::SplitBins(const CatBoostModel& model) {
  AddNumbers(model);
  AddCategories(model);
  AddCtrs(model);
}

template <typename Add>
void SplitBins::AddColumns(size_t count, bool is_exact, const Add& add) {
  for (size_t begin = 0; begin < count; begin += kBinsOfColumn) {
    const size_t here = std::min(kBinsOfColumn, count - begin);
    for (size_t i = 0; i < here; ++i) {
      BinSplit split{.column = static_cast<uint32_t>(column_count_)};
      if (is_exact) {
        split.mask = static_cast<uint8_t>(~(i + 1));  // so that the value's bin, alone, becomes 255
        split.least = 255;
      } else {
        split.least = static_cast<uint8_t>(i + 1);
      }
      splits_.push_back(split);
    }
    add(begin, here);
    ++column_count_;
  }
}

// The three of them in the order of the model's splits.
void SplitBins::AddNumbers(const CatBoostModel& model) {
  for (size_t f = 0; f < model.numbers.size(); ++f) {
    const CatBoostNumber& number = model.numbers[f];
    AddColumns(number.borders.size(), false, [&](size_t begin, size_t count) {
      numbers_.push_back({.number = static_cast<uint32_t>(f),
                          .begin = static_cast<uint32_t>(borders_.size() + begin),
                          .count = static_cast<uint32_t>(count),
                          .nan_is_above = number.nan == NanTreatment::kAsTrue});
    });
    borders_.insert(borders_.end(), number.borders.begin(), number.borders.end());
  }
}

void SplitBins::AddCategories(const CatBoostModel& model) {
  for (size_t c = 0; c < model.categories.size(); ++c) {
    const std::vector<int32_t>& values = model.categories[c].values;
    AddColumns(values.size(), true, [&](size_t begin, size_t count) {
      categories_.push_back({.category = static_cast<uint32_t>(c),
                             .begin = static_cast<uint32_t>(values_.size() + begin),
                             .count = static_cast<uint32_t>(count)});
    });
    values_.insert(values_.end(), values.begin(), values.end());
  }
}

void SplitBins::AddCtrs(const CatBoostModel& model) {
  std::map<CtrProjection, std::vector<size_t>> by_projection;  // places in ctr_columns_
  for (size_t c = 0; c < model.ctrs.size(); ++c) {
    const CtrProjection& projection = model.tables[model.ctrs[c].table].projection;
    AddColumns(model.ctrs[c].borders.size(), false, [&](size_t begin, size_t count) {
      by_projection[projection].push_back(ctr_columns_.size());
      ctr_columns_.push_back({.ctr = c, .begin = begin, .count = count});
    });
  }
  size_t keys = 0;
  for (const CtrTable& table : model.tables) keys += table.keys.size();
  keys_.reserve(keys);  // they stay where they are, for the indexes
  for (const auto& [projection, columns] : by_projection) AddTable(model, projection, columns);
}

// Of all tables of the projection together. Keys are few beside the rows that ask for them, so that
// the bins of each are computed here.
void SplitBins::AddTable(const CatBoostModel& model, const CtrProjection& projection,
                         std::span<const size_t> columns) {
  KeyTable to;
  to.categories = {key_categories_.size(), projection.categories.size()};
  key_categories_.insert(key_categories_.end(), projection.categories.begin(),
                         projection.categories.end());
  to.splits = {key_splits_.size(), projection.splits.size()};
  for (const uint32_t split : projection.splits) key_splits_.push_back(splits_[split]);
  to.columns = {key_columns_.size(), columns.size()};
  const size_t features = numbers_.size() + categories_.size();
  std::vector<uint64_t> keys;
  std::map<size_t, KeyIndex> indexes;  // of the model's tables
  for (const size_t column : columns) {
    key_columns_.push_back(static_cast<uint32_t>(features + column));
    const size_t table = model.ctrs[ctr_columns_[column].ctr].table;
    const std::vector<uint64_t>& of_table = model.tables[table].keys;
    if (indexes.try_emplace(table, of_table).second) {
      keys.insert(keys.end(), of_table.begin(), of_table.end());
    }
  }
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  to.keys = {keys_.size(), keys.size()};
  to.bins = key_bins_.size();
  const auto add_bins = [&](const std::optional<uint64_t>& key) {
    for (const size_t column : columns) {
      const CtrColumn& own = ctr_columns_[column];
      const CatBoostCtr& ctr = model.ctrs[own.ctr];
      const uint32_t place = key ? indexes.at(ctr.table).Find(*key) : KeyIndex::kNone;
      const BorderColumn borders{.begin = static_cast<uint32_t>(own.begin),
                                 .count = static_cast<uint32_t>(own.count)};
      const float value = CtrValue(model.tables[ctr.table], ctr, place);
      key_bins_.push_back(borders.BinOf(ctr.borders.data(), value));
    }
  };
  for (const uint64_t key : keys) {
    keys_.push_back(key);
    add_bins(key);
  }
  add_bins(std::nullopt);
  indexes_.emplace_back(to.keys.Of(std::span<const uint64_t>(keys_)));
  tables_.push_back(to);
}

BinColumnsView SplitBins::view() const {
  return {.numbers = numbers_,
          .borders = borders_,
          .categories = categories_,
          .values = values_,
          .tables = tables_,
          .key_categories = key_categories_,
          .key_splits = key_splits_,
          .keys = keys_,
          .key_columns = key_columns_,
          .key_bins = key_bins_,
          .columns = column_count_};
}

void SplitBins::FillPiece(const CatBoostRows& rows, const RowPiece& piece,
                          std::span<uint8_t> bins) const {
  uint8_t* to = bins.data();
  for (const BorderColumn& column : numbers_) {
    BinNumbers(column, borders_, rows.Number(column.number).subspan(piece.begin, piece.count), to);
    to += piece.count;
  }
  for (const ValueColumn& column : categories_) {
    const uint32_t* const hashes = rows.Category(column.category).data() + piece.begin;
    std::fill_n(to, piece.count, uint8_t{0});
    for (uint32_t i = 0; i < column.count; ++i) {
      const uint32_t value = values_[column.begin + i];
      const auto bin = static_cast<uint8_t>(i + 1);
      for (size_t row = 0; row < piece.count; ++row) {
        to[row] |= hashes[row] == value ? bin : uint8_t{0};
      }
    }
    to += piece.count;
  }
  for (size_t t = 0; t < tables_.size(); ++t) FillKeyBins(t, rows, piece, bins);
}

void SplitBins::FillKeyBins(size_t table, const CatBoostRows& rows, const RowPiece& piece,
                            std::span<uint8_t> bins) const {
  const KeyTable& of = tables_[table];
  std::vector<uint64_t> keys(piece.count, 0);
  for (const uint32_t category : of.categories.Of(std::span(key_categories_))) {
    const uint32_t* const hashes = rows.Category(category).data() + piece.begin;
    for (size_t row = 0; row < piece.count; ++row) {
      keys[row] = CombinedKey(keys[row], KeyOfCategory(hashes[row]));
    }
  }
  for (const BinSplit& split : of.splits.Of(std::span(key_splits_))) {
    const uint8_t* const column = bins.data() + split.column * piece.count;
    for (size_t row = 0; row < piece.count; ++row) {
      keys[row] = CombinedKey(keys[row], split.Of(column[row]) ? 1 : 0);
    }
  }
  for (const uint64_t key : keys) indexes_[table].Prefetch(key);
  const std::span<const uint32_t> columns = of.columns.Of(std::span(key_columns_));
  for (size_t row = 0; row < piece.count; ++row) {
    const uint32_t found = indexes_[table].Find(keys[row]);
    const size_t place = found == KeyIndex::kNone ? of.keys.count : found;
    const uint8_t* const from = key_bins_.data() + of.BinsOf(place);
    for (size_t i = 0; i < columns.size(); ++i) {
      bins[columns[i] * piece.count + row] = from[i];
    }
  }
}

}  // namespace strata
