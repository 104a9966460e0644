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

FitStatistics::SplitBits FitStatistics::LearnBits(size_t fold, uint32_t split) {
  const CatBoostSplit& of = model_.splits[split];
  if (of.kind == SplitKind::kCtr) {
    return {.column = columns_.Column(fold, used_.column(of.of)),
            .split = {.least = static_cast<uint8_t>(of.place + 1)}};
  }
  return {.column = learn_.Column(bins_.split(split).column), .split = bins_.split(split)};
}

FitStatistics::SplitBits FitStatistics::TestBits(uint32_t split) const {
  const CatBoostSplit& of = model_.splits[split];
  if (of.kind == SplitKind::kCtr) {
    return {.column = used_.TestColumn(of.of),
            .split = {.least = static_cast<uint8_t>(of.place + 1)}};
  }
  return {.column = test_->Column(bins_.split(split).column), .split = bins_.split(split)};
}

std::vector<uint16_t> FitStatistics::LeavesOf(std::span<const SplitBits> splits,
                                              size_t rows) const {
  std::vector<uint16_t> leaves(rows);
  pool_.RunPieces(rows, FitPiece(rows), [&](size_t begin, size_t end) {
    for (size_t k = 0; k < splits.size(); ++k) {
      const auto [column, split] = splits[k];
      for (size_t row = begin; row < end; ++row) {
        const uint32_t bit = split.Of(column[row]) ? 1U << k : 0U;
        leaves[row] = static_cast<uint16_t>(leaves[row] | bit);
      }
    }
  });
  return leaves;
}

std::vector<uint16_t> FitStatistics::Leaves(size_t fold, std::span<const uint32_t> splits) {
  std::vector<SplitBits> bits;
  for (const uint32_t split : splits) bits.push_back(LearnBits(fold, split));
  return LeavesOf(bits, learn_.rows());
}

std::vector<uint16_t> FitStatistics::TestLeaves(std::span<const uint32_t> splits) const {
  std::vector<SplitBits> bits;
  for (const uint32_t split : splits) bits.push_back(TestBits(split));
  return LeavesOf(bits, test_->rows());
}

bool FitStatistics::HasStatistic(std::span<const uint32_t> splits) const {
  return std::ranges::any_of(
      splits, [this](uint32_t split) { return model_.splits[split].kind == SplitKind::kCtr; });
}

}  // namespace strata
