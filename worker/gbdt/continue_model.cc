#include "worker/gbdt/continue_model.h"

#include <fmt/format.h>

#include <cmath>

#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

constexpr double kSigmoidDigits = 1e-5;  // model files have six

template <typename T, typename U>
Status Differs(const TreeParameters& p, const char* what, const T& found, const U& expected) {
  return Invalid(fmt::format("{}: {} {}, the parameters have {}: they cannot be one model",
                             p.input_model, what, found, expected));
}

bool UsesSigmoid(const std::string& objective) {
  return objective == "binary" || objective == "multiclassova";
}

}  // namespace

Status CheckSameScores(const TreeModel& model, const TreeParameters& p) {
  if (!model.foreign_loss.empty()) {
    return Invalid(fmt::format(
        "{}: its trees were grown for {}, a loss that no objective here has: it can predict, but "
        "neither be refitted nor go on",
        p.input_model, model.foreign_loss));
  }
  if (model.ObjectiveName() != p.objective) {
    return Differs(p, "its objective is", model.objective, p.objective);
  }
  if (model.classes != static_cast<size_t>(p.num_class)) {
    return Differs(p, "its num_class is", model.classes, p.num_class);
  }
  if (UsesSigmoid(p.objective)) {
    STRATA_ASSIGN(const double sigmoid, model.Sigmoid());
    if (std::fabs(sigmoid - p.sigmoid) > kSigmoidDigits * p.sigmoid) {
      return Differs(p, "its sigmoid is", sigmoid, p.sigmoid);
    }
  }
  STRATA_ASSIGN(const OutputTransform transform, OutputTransform::Of(model));
  const bool has_root = transform.kind() == OutputTransform::Kind::kSquare;
  if (has_root != p.reg_sqrt && p.objective.starts_with("regression")) {
    return Differs(p, "its reg_sqrt is", has_root, p.reg_sqrt);
  }
  return CheckLightGbmCanSay(model).Prefixed(p.input_model);
}

Status CheckContinues(const TreeModel& model, const TreeParameters& p, const TreeDataset& train) {
  STRATA_TRY(CheckSameScores(model, p));
  if (model.features() != train.features->names.size()) {
    return Differs(p, "features:", model.features(), train.features->names.size());
  }
  if (model.average_output != (p.boosting == "rf")) {
    return Differs(p, "boosting is", model.average_output ? "rf" : "not rf", p.boosting);
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
