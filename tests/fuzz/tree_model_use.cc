#include "tests/fuzz/tree_model_use.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/model/model_format.h"
#include "worker/gbdt/model/xgboost_json.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata::fuzz {
namespace {

// Values at the edges, the same for all features.
SparseRows EdgeRows(size_t features) {
  SparseRows rows;
  for (const double value :
       {0.0, 1.0, -0.5, 40.0, 1e300, -1e300, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    for (size_t f = 0; f < features; ++f) {
      rows.columns.push_back(static_cast<uint32_t>(f));
      rows.values.push_back(value);
    }
    rows.begins.push_back(rows.values.size());
    rows.labels.push_back(0);
  }
  return rows;
}

void Predict(const TreeModel& model) {
  const auto pool = WorkPool::Start("fuzz", 0);
  const SparseRows rows = EdgeRows(model.features());
  std::vector<double> out;
  for (const PredictionKind kind : {PredictionKind::kTransformed, PredictionKind::kRaw,
                                    PredictionKind::kLeaves, PredictionKind::kContributions}) {
    const Result<Predictor> predictor = Predictor::Make(model, {.kind = kind});
    if (!predictor.ok()) continue;
    STRATA_CHECK(predictor->Predict(rows, **pool, &out).ok());
    STRATA_CHECK(out.size() == rows.rows() * predictor->outputs());
    if (kind != PredictionKind::kLeaves) continue;
    std::vector<double> row(model.features());
    for (size_t i = 0; i < rows.rows(); ++i) {
      std::copy_n(rows.values.begin() + static_cast<ptrdiff_t>(rows.begins[i]), row.size(),
                  row.begin());
      for (size_t t = 0; t < model.trees.size(); ++t) {
        const auto leaf = static_cast<double>(model.trees[t].LeafOf(row));
        STRATA_CHECK(out[i * model.trees.size() + t] == leaf);
      }
    }
  }
}

}  // namespace

void UseTreeModel(const TreeModel& model) {
  // Any size is fine for the readers; this is about what is done with small ones.
  if (model.features() > 1000 || model.trees_per_iteration > 1000) return;
  Predict(model);
  for (const ModelFormat format :
       {ModelFormat::kLightGbm, ModelFormat::kXgboost, ModelFormat::kJson, ModelFormat::kCpp}) {
    const Result<std::string> text = WriteModelAs(model, format);
    if (!text.ok()) continue;
    if (format == ModelFormat::kXgboost) {
      const auto again = ReadXgboostJson(*text, "written");
      STRATA_CHECK_MSG(again.ok(), again.status().ToString());
    }
    if (format != ModelFormat::kLightGbm) continue;
    const auto again = ReadLightGbmText(*text, "written");
    STRATA_CHECK_MSG(again.ok(), again.status().ToString());
    const Result<std::string> twice = WriteLightGbmText(*again);
    STRATA_CHECK(twice.ok() && *twice == *text);
  }
}

void UseTreeModel(const Result<TreeModel>& model) {
  if (model.ok()) return UseTreeModel(*model);
  STRATA_CHECK_MSG(model.status().message().starts_with("the model:"), model.status().message());
}

}  // namespace strata::fuzz
