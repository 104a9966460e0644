#include "worker/gbdt/continue_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

constexpr uint64_t kModelBytesMax = uint64_t{16} << 30;

}  // namespace

Result<TreeModel> LoadTreeModel(Disk& disk, const std::string& path) {
  STRATA_ASSIGN(const std::string text, ReadFile(disk, path, kModelBytesMax));
  return ReadLightGbmText(text, path);
}

Status CheckContinues(const TreeModel& model, const TreeParameters& p, const TreeDataset& train) {
  const auto differs = [&](const char* what, const auto& found, const auto& expected) {
    return Invalid(fmt::format("{}: {} {}, training has {}: they cannot be one model",
                               p.input_model, what, found, expected));
  };
  if (model.ObjectiveName() != p.objective) {
    return differs("its objective is", model.objective, p.objective);
  }
  if (model.trees_per_iteration != static_cast<size_t>(p.num_class)) {
    return differs("trees of an iteration:", model.trees_per_iteration, p.num_class);
  }
  if (model.features() != train.features->names.size()) {
    return differs("features:", model.features(), train.features->names.size());
  }
  if (model.average_output != (p.boosting == "rf")) {
    return differs("boosting is", model.average_output ? "rf" : "not rf", p.boosting);
  }
  return {};
}

Status AddPredictions(const TreeModel& model, RowSource& source, WorkPool& pool,
                      TreeDataset* data) {
  STRATA_ASSIGN(const Predictor predictor, Predictor::Make(model, {.kind = PredictionKind::kRaw}));
  const size_t rows = data->rows();
  const size_t classes = predictor.outputs();
  data->init_scores.resize(rows * classes, 0);
  STRATA_TRY(source.Rewind());
  SparseRows block;
  std::vector<double> scores;
  for (size_t begin = 0; begin < rows; begin += block.rows()) {
    STRATA_TRY(source.Next(&block));
    if (block.rows() == 0 || block.rows() > rows - begin) {
      return Failed("the data's number of rows changed meanwhile");
    }
    STRATA_TRY(predictor.Predict(block, pool, &scores));
    for (size_t i = 0; i < block.rows(); ++i) {
      for (size_t k = 0; k < classes; ++k) {
        data->init_scores[k * rows + begin + i] += scores[i * classes + k];
      }
    }
  }
  return {};
}

}  // namespace strata
