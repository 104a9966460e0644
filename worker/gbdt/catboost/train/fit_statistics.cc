#include "worker/gbdt/catboost/train/fit_statistics.h"

#include <algorithm>

#include "worker/gbdt/catboost/train/row_orders.h"

namespace strata {
namespace {

// Orders of the rows where there are statistics; else one, as they stand.
std::vector<RowOrder> Orders(const CategoryParameters& parameters,
                             const CategoryFeatures& categories, size_t rows, Random* random) {
  if (categories.with_statistics.empty()) return {RowOrder()};
  return MakeRowOrders(parameters, rows, random);
}

}  // namespace

FitStatistics::FitStatistics(const FitParameters& parameters, const CategoryFeatures& categories,
                             const SplitBins& bins, const FitRows& learn, const FitRows* test,
                             WorkPool& pool, CatBoostModel* model)
    : p_(parameters.categories),
      categories_(categories),
      bins_(bins),
      learn_(learn),
      test_(test),
      pool_(pool),
      model_(*model),
      random_(parameters.random_seed),
      kinds_(p_, *model, learn.labels,
             IsMultiClass(parameters.loss.type) ? learn.classes.of_outputs.size() : 0),
      columns_(kinds_, categories, bins, learn, Orders(p_, categories, learn.rows(), &random_),
               pool),
      used_(&columns_, test, model) {}

size_t FitStatistics::DrawFold() { return folds() == 1 ? 0 : random_.Below(folds() - 1); }

TreeCtrs FitStatistics::StartTree(size_t fold, size_t first_column) {
  return TreeCtrs(p_, categories_.with_statistics, model_, fold, first_column, &columns_, &used_);
}

template <typename ColumnOfCtr>
std::vector<uint16_t> FitStatistics::LeavesOf(std::span<const uint32_t> splits, const FitRows& rows,
                                              const ColumnOfCtr& column_of_ctr) const {
  struct SplitBits {
    std::span<const uint8_t> column;
    BinSplit split;
  };
  std::vector<SplitBits> bits;
  for (const uint32_t split : splits) {
    const CatBoostSplit& of = model_.splits[split];
    if (of.kind == SplitKind::kCtr) {
      bits.push_back(
          {.column = column_of_ctr(of.of), .split = {.least = static_cast<uint8_t>(of.place + 1)}});
    } else {
      bits.push_back(
          {.column = rows.Column(bins_.split(split).column), .split = bins_.split(split)});
    }
  }
  std::vector<uint16_t> leaves(rows.rows());
  pool_.RunPieces(leaves.size(), FitPiece(leaves.size()), [&](size_t begin, size_t end) {
    for (size_t k = 0; k < bits.size(); ++k) {
      const auto [column, split] = bits[k];
      for (size_t row = begin; row < end; ++row) {
        const uint32_t bit = split.Of(column[row]) ? 1U << k : 0U;
        leaves[row] = static_cast<uint16_t>(leaves[row] | bit);
      }
    }
  });
  return leaves;
}

std::vector<uint16_t> FitStatistics::Leaves(size_t fold, std::span<const uint32_t> splits) {
  return LeavesOf(splits, learn_,
                  [&](size_t ctr) { return columns_.Column(fold, used_.column(ctr)); });
}

std::vector<uint16_t> FitStatistics::TestLeaves(std::span<const uint32_t> splits) const {
  return LeavesOf(splits, *test_, [&](size_t ctr) { return used_.TestColumn(ctr); });
}

bool FitStatistics::HasStatistic(std::span<const uint32_t> splits) const {
  return std::ranges::any_of(
      splits, [this](uint32_t split) { return model_.splits[split].kind == SplitKind::kCtr; });
}

}  // namespace strata
