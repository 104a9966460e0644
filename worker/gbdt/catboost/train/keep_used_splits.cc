#include "worker/gbdt/catboost/train/keep_used_splits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace strata {
namespace {

class Keeping {
 public:
  explicit Keeping(CatBoostModel* model)
      : model_(*model), old_(std::move(model->splits)), now_(old_.size()) {}

  void Run() && {
    FindUsed();
    model_.splits.clear();
    KeepFeatures();
    model_.ListFeatureSplits();
    KeepCtrs();
    model_.ListCtrSplits();
    for (CatBoostTree& tree : model_.trees) {
      for (uint32_t& split : tree.splits) split = *model_.FindSplit(now_[split]);
    }
  }

 private:
  void FindUsed() {
    for (const CatBoostTree& tree : model_.trees) {
      used_.insert(tree.splits.begin(), tree.splits.end());
    }
    std::set<uint32_t> of_projections;
    for (const uint32_t split : used_) {
      if (old_[split].kind != SplitKind::kCtr) continue;
      const CtrTable& table = model_.tables[model_.ctrs[old_[split].of].table];
      of_projections.insert(table.projection.splits.begin(), table.projection.splits.end());
    }
    used_.merge(of_projections);
  }

  void KeepFeatures() {
    std::vector<std::vector<float>> borders(model_.numbers.size());
    std::vector<std::vector<std::pair<int32_t, uint32_t>>> values(model_.categories.size());
    for (const uint32_t split : used_) {
      const CatBoostSplit& old = old_[split];
      if (old.kind == SplitKind::kNumber) {
        now_[split] = {.kind = old.kind, .of = old.of, .place = borders[old.of].size()};
        borders[old.of].push_back(model_.numbers[old.of].borders[old.place]);
      } else if (old.kind == SplitKind::kExactValue) {
        values[old.of].emplace_back(model_.categories[old.of].values[old.place], split);
      }
    }
    for (size_t f = 0; f < borders.size(); ++f) model_.numbers[f].borders = std::move(borders[f]);
    for (size_t c = 0; c < values.size(); ++c) {
      std::ranges::sort(values[c]);
      model_.categories[c].values.clear();
      for (const auto& [value, split] : values[c]) {
        now_[split] = {
            .kind = SplitKind::kExactValue, .of = c, .place = model_.categories[c].values.size()};
        model_.categories[c].values.push_back(value);
      }
    }
  }

  void KeepCtrs() {
    std::map<size_t, std::vector<uint32_t>> splits;  // by ctr
    std::set<size_t> used_tables;
    for (const uint32_t split : used_) {
      if (old_[split].kind != SplitKind::kCtr) continue;
      splits[old_[split].of].push_back(split);
      used_tables.insert(model_.ctrs[old_[split].of].table);
    }
    for (const size_t table : used_tables) {
      for (uint32_t& split : model_.tables[table].projection.splits) {
        split = *model_.FindSplit(now_[split]);
      }
    }
    std::vector<size_t> order;
    for (const auto& [ctr, of_ctr] : splits) order.push_back(ctr);
    std::ranges::sort(order, {}, [this](size_t ctr) { return NameOf(model_.ctrs[ctr]); });
    std::map<size_t, size_t> tables;  // by old place
    std::vector<CatBoostCtr> kept;
    std::vector<CtrTable> kept_tables;
    for (const size_t of : order) {
      CatBoostCtr& ctr = model_.ctrs[of];
      std::vector<float> borders;
      for (const uint32_t split : splits[of]) {
        now_[split] = {.kind = SplitKind::kCtr, .of = kept.size(), .place = borders.size()};
        borders.push_back(ctr.borders[old_[split].place]);
      }
      const auto [table, is_new] = tables.try_emplace(ctr.table, kept_tables.size());
      if (is_new) kept_tables.push_back(std::move(model_.tables[ctr.table]));
      kept.push_back(std::move(ctr));
      kept.back().table = table->second;
      kept.back().borders = std::move(borders);
    }
    model_.ctrs = std::move(kept);
    model_.tables = std::move(kept_tables);
  }

  // By which CatBoost sorts.
  using Name = std::pair<std::pair<CtrProjection, CtrType>, std::pair<uint32_t, float>>;
  Name NameOf(const CatBoostCtr& ctr) const {
    const CtrTable& table = model_.tables[ctr.table];
    return {{table.projection, table.type},
            {ctr.target_border, ctr.prior_numerator / ctr.prior_denominator}};
  }

  CatBoostModel& model_;
  const std::vector<CatBoostSplit> old_;
  std::vector<CatBoostSplit> now_;  // by old number
  std::set<uint32_t> used_;         // old numbers
};

}  // namespace

void KeepUsedSplits(CatBoostModel* model) { Keeping(model).Run(); }

}  // namespace strata
