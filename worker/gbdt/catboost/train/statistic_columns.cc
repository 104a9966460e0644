#include "worker/gbdt/catboost/train/statistic_columns.h"

#include "worker/gbdt/catboost/ctr_value.h"
#include "worker/gbdt/catboost/key_index.h"
#include "worker/gbdt/catboost/train/value_numbers.h"

namespace strata {

StatisticColumns::StatisticColumns(const CtrKinds& kinds, const CategoryFeatures& categories,
                                   const SplitBins& bins, const FitRows& learn,
                                   std::vector<RowOrder> orders, WorkPool& pool)
    : kinds_(kinds),
      categories_(categories),
      bins_(bins),
      learn_(learn),
      orders_(std::move(orders)),
      pool_(pool) {}

void StatisticColumns::Make(size_t fold, std::span<const CtrProjection> projections) {
  std::vector<std::pair<const CtrProjection*, Projection*>> without_keys;
  for (const CtrProjection& projection : projections) {
    Projection& of = projections_[projection];
    if (of.keys.empty()) without_keys.emplace_back(&projection, &of);
  }
  pool_.Run(without_keys.size(),
            [&](size_t i) { SetKeys(*without_keys[i].first, without_keys[i].second); });
  struct Task {
    const CtrKind* kind = nullptr;
    RowKeys keys;
    std::vector<CtrBins>* to = nullptr;
  };
  std::vector<Task> tasks;
  for (const CtrProjection& projection : projections) {
    Projection& of = projections_[projection];
    const std::vector<CtrKind>& kinds = kinds_.Of(projection);
    for (size_t k = 0; k < kinds.size(); ++k) {
      std::vector<CtrBins>& to = of.columns[fold][k];
      if (to.empty()) tasks.push_back({&kinds[k], KeysOf(projection, of), &to});
    }
  }
  pool_.Run(tasks.size(), [&](size_t i) {
    *tasks[i].to = OrderedCtrs(*tasks[i].kind, tasks[i].keys, orders_[fold]);
  });
}

std::span<const uint8_t> StatisticColumns::Column(size_t fold, const CtrColumn& column) {
  Projection& of = Find(column.projection);
  std::vector<CtrBins>& bins = of.columns[fold][column.kind];
  if (bins.empty()) {
    bins = OrderedCtrs(kinds_.Of(column.projection)[column.kind], KeysOf(column.projection, of),
                       orders_[fold]);
  }
  return bins[column.prior];
}

size_t StatisticColumns::KeyCount(const CtrProjection& projection) {
  return Find(projection).keys.size();
}

void StatisticColumns::DropCombinations() {
  std::erase_if(projections_, [](const auto& entry) { return !entry.first.IsSimple(); });
}

CtrTable StatisticColumns::Table(const CtrProjection& projection, size_t kind) {
  const Projection& of = Find(projection);
  CtrTable table = CountKeys(kinds_.Of(projection)[kind], KeysOf(projection, of));
  table.projection = projection;
  table.keys = of.keys;
  return table;
}

CtrBins StatisticColumns::TableColumn(const CtrColumn& column, const CtrTable& table,
                                      const FitRows& rows) const {
  const CtrKind& kind = kinds_.Of(column.projection)[column.kind];
  const float prior = kind.priors[column.prior];
  if (column.projection.IsSimple()) {
    return TableCtrs(kind, prior, table, rows.categories[column.projection.categories[0]]);
  }
  const KeyIndex index(table.keys);
  std::vector<uint32_t> numbers;
  numbers.reserve(rows.rows());
  for (const uint64_t key : CombinedKeys(column.projection, rows)) {
    numbers.push_back(index.Find(key));
  }
  return TableCtrs(kind, prior, table, numbers);
}

StatisticColumns::Projection& StatisticColumns::Find(const CtrProjection& projection) {
  Projection& of = projections_[projection];
  if (of.keys.empty()) SetKeys(projection, &of);
  return of;
}

void StatisticColumns::SetKeys(const CtrProjection& projection, Projection* of) const {
  of->columns.assign(orders_.size(),
                     std::vector<std::vector<CtrBins>>(kinds_.Of(projection).size()));
  if (projection.IsSimple()) {
    const uint32_t category = projection.categories[0];
    const std::span<const uint64_t> hashes = categories_.values[category].values();
    for (const uint64_t hash : hashes.first(categories_.learned[category])) {
      of->keys.push_back(CombinedKey(0, KeyOfCategory(static_cast<uint32_t>(hash))));
    }
    return;
  }
  ValueNumbers numbers;
  of->combined = numbers.Of(CombinedKeys(projection, learn_));
  of->keys.assign(numbers.values().begin(), numbers.values().end());
}

std::vector<uint64_t> StatisticColumns::CombinedKeys(const CtrProjection& projection,
                                                     const FitRows& rows) const {
  std::vector<uint64_t> keys(rows.rows());
  for (const uint32_t category : projection.categories) {
    const std::span<const uint64_t> hashes = categories_.values[category].values();
    const std::vector<uint32_t>& numbers = rows.categories[category];
    for (size_t row = 0; row < keys.size(); ++row) {
      const auto hash = static_cast<uint32_t>(hashes[numbers[row]]);
      keys[row] = CombinedKey(keys[row], KeyOfCategory(hash));
    }
  }
  for (const uint32_t index : projection.splits) {
    const BinSplit& split = bins_.split(index);
    const std::span<const uint8_t> column = rows.Column(split.column);
    for (size_t row = 0; row < keys.size(); ++row) {
      keys[row] = CombinedKey(keys[row], split.Of(column[row]) ? 1 : 0);
    }
  }
  return keys;
}

RowKeys StatisticColumns::KeysOf(const CtrProjection& projection, const Projection& of) const {
  if (projection.IsSimple()) {
    return {.of_rows = learn_.categories[projection.categories[0]], .count = of.keys.size()};
  }
  return {.of_rows = of.combined, .count = of.keys.size()};
}

}  // namespace strata
