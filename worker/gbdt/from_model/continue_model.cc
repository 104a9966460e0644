#include "worker/gbdt/from_model/continue_model.h"

#include <fmt/format.h>

#include "worker/gbdt/data/feature_names.h"
#include "worker/gbdt/from_model/model_differences.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

template <typename T, typename U>
Status Differs(const TreeParameters& p, const std::string& what, const T& found,
               const U& expected) {
  return Invalid(fmt::format("{}: {} {}, the parameters have {}: they cannot be one model",
                             p.task.input_model, what, found, expected));
}

Status Differs(const TreeParameters& p, const ModelDifference& difference) {
  return Differs(p, fmt::format("its {} is", difference.parameter), difference.of_model,
                 difference.given);
}

// OK if the parameters' objective means by a score what the model does, and the model can be
// written again.
Status CheckSameScores(const TreeModel& model, const TreeParameters& p) {
  if (!model.foreign_loss.empty()) {
    return Invalid(fmt::format(
        "{}: its trees were grown for {}, a loss that no objective here has: it can predict, but "
        "neither be refitted nor go on",
        p.task.input_model, model.foreign_loss));
  }
  STRATA_TRY(OutputTransform::Of(model).status());
  for (const ModelDifference& difference : DifferencesFrom(model, p)) {
    if (difference.parameter != "boosting") return Differs(p, difference);
  }
  return CheckLightGbmCanSay(model).Prefixed(p.task.input_model);
}

}  // namespace

Status CheckContinues(const TreeModel& model, const TreeParameters& p, const TreeDataset& train) {
  STRATA_TRY(CheckSameScores(model, p));
  if (model.features() != train.features->names.size()) {
    return Differs(p, "features:", model.features(), train.features->names.size());
  }
  const std::vector<ModelDifference> of_boosting = DifferencesFrom(model, p);
  return of_boosting.empty() ? Status::Ok() : Differs(p, of_boosting.front());
}

Status CheckRefits(const TreeModel& model, const TreeParameters& p, const TreeDataset& data) {
  if (model.average_output) return Invalid("task = refit does not know random forests");
  STRATA_TRY(CheckSameScores(model, p));
  STRATA_TRY(ModelFeatureNames(model.feature_names).status().Prefixed(p.task.input_model));
  if (model.features() != data.features->names.size()) {
    return Invalid(fmt::format("{}: {} features, {} has {}", p.task.input_model, model.features(),
                               p.data.path, data.features->names.size()));
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
