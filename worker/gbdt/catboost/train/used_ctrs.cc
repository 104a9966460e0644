#include "worker/gbdt/catboost/train/used_ctrs.h"

namespace strata {

uint32_t UsedCtrs::SplitOf(const CtrColumn& column, size_t place) {
  const auto [found, is_new] =
      first_splits_.try_emplace(column, static_cast<uint32_t>(model_.splits.size()));
  if (is_new) {
    const CtrKind& kind = columns_.KindsOf(column.projection)[column.kind];
    CatBoostCtr ctr = ModelCtr(kind, kind.priors[column.prior]);
    ctr.table = TableOf(column);
    for (size_t border = 0; border < ctr.borders.size(); ++border) {
      model_.splits.push_back({.kind = SplitKind::kCtr, .of = model_.ctrs.size(), .place = border});
    }
    OfCtr& of = of_ctrs_.emplace_back(OfCtr{.column = column, .test = {}});
    if (test_ != nullptr) of.test = columns_.TableColumn(column, model_.tables[ctr.table], *test_);
    model_.ctrs.push_back(std::move(ctr));
  }
  return found->second + static_cast<uint32_t>(place);
}

size_t UsedCtrs::TableOf(const CtrColumn& column) {
  const CtrType type = columns_.KindsOf(column.projection)[column.kind].type;
  const auto [found, is_new] = tables_.try_emplace({type, column.projection}, model_.tables.size());
  if (is_new) model_.tables.push_back(columns_.Table(column.projection, column.kind));
  return found->second;
}

}  // namespace strata
