#include "worker/gbdt/catboost/train/number_borders.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

void SetBordersOf(const FitParameters& parameters, const LearnRows& rows, size_t feature,
                  CatBoostNumber* number) {
  std::vector<float> values;
  values.reserve(rows.rows());
  for (const CatBoostRows& block : rows.blocks) {
    for (const float value : block.Number(feature)) {
      if (!std::isnan(value)) values.push_back(value);
    }
  }
  number->has_nans = values.size() < rows.rows();
  const size_t count = parameters.border_count - (number->has_nans ? 1 : 0);
  number->borders = SelectBorders(std::move(values), parameters.border_type, count);
  if (!number->has_nans) return;
  const bool is_above = parameters.nan_mode == NanMode::kMax;
  number->nan = is_above ? NanTreatment::kAsTrue : NanTreatment::kAsFalse;
  number->borders.insert(is_above ? number->borders.end() : number->borders.begin(),
                         is_above ? FLT_MAX : -FLT_MAX);
}

}  // namespace

void SetBorders(const FitParameters& parameters, const LearnRows& rows, WorkPool& pool,
                CatBoostModel* model) {
  pool.Run(model->numbers.size(),
           [&](size_t f) { SetBordersOf(parameters, rows, f, &model->numbers[f]); });
}

FitRows BinRows(const SplitBins& bins, LearnRows rows, WorkPool& pool) {
  FitRows binned;
  const size_t count = rows.rows();
  binned.bins.resize(bins.columns() * count);
  std::vector<size_t> begins;
  size_t begin = 0;
  for (const CatBoostRows& block : rows.blocks) {
    begins.push_back(begin);
    begin += block.rows();
  }
  pool.Run(rows.blocks.size(), [&](size_t b) {
    const CatBoostRows& block = rows.blocks[b];
    std::vector<uint8_t> of_block(bins.columns() * block.rows());
    bins.Fill(block, of_block);
    for (size_t column = 0; column < bins.columns(); ++column) {
      std::copy_n(of_block.data() + column * block.rows(), block.rows(),
                  binned.bins.data() + column * count + begins[b]);
    }
  });
  binned.labels = std::move(rows.labels);
  binned.weights = std::move(rows.weights);
  binned.classes = std::move(rows.classes);
  binned.weight_sum = SumRows(count, pool, [&](size_t row) { return binned.weights[row]; });
  return binned;
}

}  // namespace strata
