#include "worker/tasks/trees/evaluate_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "kernels/core/device_choice.h"
#include "worker/gbdt/data/side_files.h"
#include "worker/gbdt/from_model/model_differences.h"
#include "worker/gbdt/input/open_rows.h"
#include "worker/gbdt/metric/metric.h"
#include "worker/gbdt/model/model_format.h"
#include "worker/gbdt/predict/predictor.h"
#include "worker/tasks/trees/predict_task.h"

namespace strata {
namespace {

class EvaluateTask {
 public:
  EvaluateTask(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool)
      : p_(parameters), objective_(parameters.objective), context_(context), pool_(pool) {}

  Status Run(TreeTaskResult* result) {
    if (p_.task.input_model.empty())
      return Invalid("input_model is missing: expected input_model = FILE");
    STRATA_ASSIGN(const TreeModel model, ReadModelFile(context_.disk, p_.task.input_model));
    STRATA_TRY(CheckNoneContradicts(model, p_));
    UseObjectiveOf(model);
    const TimeNs begin = context_.clock.Now();
    STRATA_TRY(ReadRows(model));
    STRATA_TRY(ReadBesides());
    if (model.average_output) STRATA_TRY(data_.CheckNoInitScores());
    STRATA_ASSIGN(const auto metrics, MakeMetrics(p_.metric, objective_, data_, pool_));
    Evaluation evaluation = {.data = "data", .metrics = {}};
    const std::vector<double> scores = Scores(model.average_output ? rounds_ : 1);
    for (const auto& metric : metrics) {
      for (MetricValue& value : metric->Evaluate(scores)) {
        evaluation.metrics.push_back(std::move(value));
      }
    }
    result->rows = data_.rows();
    result->samples = data_.rows();
    result->bad_rows = data_.left_out.size();
    result->features = model.features();
    result->rounds = rounds_;
    result->train_seconds = SecondsBetween(begin, context_.clock.Now());
    result->evaluations = {std::move(evaluation)};
    return {};
  }

 private:
  // "binary sigmoid:1": metrics read scores as the model means them.
  void UseObjectiveOf(const TreeModel& model) {
    objective_.num_class = static_cast<int64_t>(model.classes);
    objective_.reg_sqrt = false;
    std::string_view text = model.objective;
    for (bool first = true; !text.empty(); first = false) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), word.size() + 1));
      constexpr std::string_view kSigmoid = "sigmoid:";
      if (first) objective_.name = word;
      if (word == "sqrt") objective_.reg_sqrt = true;
      if (word.starts_with(kSigmoid)) {
        std::from_chars(word.data() + kSigmoid.size(), word.data() + word.size(),
                        objective_.sigmoid);
      }
    }
  }

  Status ReadRows(const TreeModel& model) {
    STRATA_ASSIGN(const DeviceChoice device, ParseDevice(p_.machine.device_type));
    STRATA_ASSIGN(const Predictor predictor,
                  MakePredictor(p_, model, {.kind = PredictionKind::kRaw, .device = device}));
    rounds_ = predictor.rounds();
    STRATA_ASSIGN(const std::unique_ptr<RowSource> source,
                  OpenRowsOf(context_.disk, p_.data, p_.data.path, model,
                             {.model_file = p_.task.input_model}));
    SparseRows block;
    std::vector<double> scores;
    std::vector<int64_t> queries;
    while (true) {
      STRATA_TRY(context_.check());
      STRATA_TRY(source->Next(&block));
      for (const BadRow& bad : block.bad) data_.left_out.push_back(data_.rows() + bad.row);
      if (block.rows() == 0) break;
      if (source->features() > model.features()) {
        return Invalid(fmt::format("{}: {} features, the model {} has {}", p_.data.path,
                                   source->features(), p_.task.input_model, model.features()));
      }
      STRATA_TRY(predictor.Predict(block, pool_, &scores));
      by_row_.insert(by_row_.end(), scores.begin(), scores.end());
      data_.labels.insert(data_.labels.end(), block.labels.begin(), block.labels.end());
      data_.weights.insert(data_.weights.end(), block.weights.begin(), block.weights.end());
      queries.insert(queries.end(), block.queries.begin(), block.queries.end());
    }
    if (data_.rows() == 0) return Invalid(p_.data.path + ": holds no rows");
    data_.path = p_.data.path;
    if (!queries.empty()) {
      STRATA_ASSIGN(data_.query_begins, QueriesFromColumn(queries, p_.data.path));
    }
    return {};
  }

  // What LightGBM's side files say, where there are any.
  Status ReadBesides() {
    const SidePart all = {
        .first = 0, .rows = data_.rows(), .all = data_.rows(), .left_out = data_.left_out};
    const bool has_weights = !data_.weights.empty();
    STRATA_ASSIGN(SideFiles files,
                  ReadSideFiles(context_.disk, p_.data.path, all,
                                static_cast<size_t>(objective_.num_class), has_weights));
    if (!has_weights) data_.weights = std::move(files.weights);
    data_.init_scores = std::move(files.init_scores);
    if (data_.query_begins.empty()) {
      STRATA_ASSIGN(data_.query_begins, ReadQueryFile(context_.disk, p_.data.path, all));
    }
    return {};
  }

  // Class * rows + row: what the trees add to the scores to start from, divided by `divisor`.
  std::vector<double> Scores(size_t divisor) const {
    const size_t rows = data_.rows();
    const size_t classes = by_row_.size() / rows;
    std::vector<double> scores = data_.init_scores;
    scores.resize(by_row_.size());
    for (size_t row = 0; row < rows; ++row) {
      for (size_t k = 0; k < classes; ++k) scores[k * rows + row] += by_row_[row * classes + k];
    }
    if (divisor != 1) {
      for (double& score : scores) score /= static_cast<double>(divisor);
    }
    return scores;
  }

  const TreeParameters& p_;
  ObjectiveParameters objective_;  // the model's
  const TreeTaskContext& context_;
  WorkPool& pool_;
  TreeDataset data_;  // without bins
  std::vector<double> by_row_;
  size_t rounds_ = 0;  // of the model that predict
};

}  // namespace

Status RunEvaluate(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
                   TreeTaskResult* result) {
  return EvaluateTask(parameters, context, pool).Run(result);
}

}  // namespace strata
