#include "tests/worker/gbdt/catboost/reference_catboost.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata {
namespace {

float Statistic(const CatBoostModel& model, const CatBoostCtr& ctr, const CatBoostRows& rows,
                size_t row) {
  const CtrTable& table = model.tables[ctr.table];
  const auto found = std::ranges::find(table.keys, ReferenceKey(model, table, rows, row));
  std::vector<double> numbers(table.width, 0);
  if (found != table.keys.end()) {
    const auto at = static_cast<size_t>(found - table.keys.begin()) * table.width;
    for (size_t k = 0; k < table.width; ++k) numbers[k] = table.numbers[at + k];
  }
  double good = numbers[0];
  double total = 0;
  if (table.IsCount()) {
    total = static_cast<double>(table.denominator);
  } else if (table.IsMean()) {
    total = numbers[1];
  } else {
    good = 0;
    for (size_t k = 0; k < table.width; ++k) {
      total += numbers[k];
      if (table.type == CtrType::kBorders && k > ctr.target_border) good += numbers[k];
      if (table.type == CtrType::kBuckets && k == ctr.target_border) good += numbers[k];
    }
  }
  const float share = (static_cast<float>(good) + ctr.prior_numerator) /
                      (static_cast<float>(total) + ctr.prior_denominator);
  return (share + ctr.shift) * ctr.scale;
}

bool Bit(const CatBoostModel& model, const CatBoostSplit& split, const CatBoostRows& rows,
         size_t row) {
  if (split.kind == SplitKind::kExactValue) {
    const int32_t value = model.categories[split.of].values[split.place];
    return static_cast<int32_t>(rows.Category(split.of)[row]) == value;
  }
  if (split.kind == SplitKind::kNumber) {
    const CatBoostNumber& number = model.numbers[split.of];
    const float value = rows.Number(split.of)[row];
    if (std::isnan(value)) return number.nan == NanTreatment::kAsTrue;
    return value > number.borders[split.place];
  }
  const CatBoostCtr& ctr = model.ctrs[split.of];
  return Statistic(model, ctr, rows, row) > ctr.borders[split.place];
}

size_t LeafOf(const CatBoostModel& model, const CatBoostTree& tree, const CatBoostRows& rows,
              size_t row) {
  size_t leaf = 0;
  for (size_t s = 0; s < tree.splits.size(); ++s) {
    if (Bit(model, model.splits[tree.splits[s]], rows, row)) leaf += size_t{1} << s;
  }
  if (tree.nodes.empty()) return leaf;
  int32_t at = 0;
  while (at >= 0) {
    const CatBoostNode& node = tree.nodes[static_cast<size_t>(at)];
    at = Bit(model, model.splits[node.split], rows, row) ? node.right : node.left;
  }
  return static_cast<size_t>(-1 - at);
}

}  // namespace

uint64_t ReferenceKey(const CatBoostModel& model, const CtrTable& table, const CatBoostRows& rows,
                      size_t row) {
  constexpr uint64_t kMagic = 0x4906ba494954cb65;
  uint64_t key = 0;
  for (const uint32_t c : table.projection.categories) {
    const auto hash = static_cast<int32_t>(rows.Category(c)[row]);
    key = kMagic * (key + kMagic * static_cast<uint64_t>(static_cast<int64_t>(hash)));
  }
  for (const uint32_t s : table.projection.splits) {
    key = kMagic * (key + kMagic * (Bit(model, model.splits[s], rows, row) ? 1 : 0));
  }
  return key;
}

double ReferenceRaw(const CatBoostModel& model, const CatBoostRows& rows, size_t row,
                    size_t output) {
  double sum = 0;
  for (const CatBoostTree& tree : model.trees) {
    sum += tree.values[LeafOf(model, tree, rows, row) * model.outputs + output];
  }
  return sum * model.scale + model.bias[output];
}

}  // namespace strata
