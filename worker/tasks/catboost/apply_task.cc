#include "worker/tasks/catboost/apply_task.h"

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "base/file/output_file.h"
#include "base/log.h"
#include "base/print.h"
#include "worker/data/file/bad_rows.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/catboost_predictor.h"
#include "worker/gbdt/catboost/job_pool.h"
#include "worker/gbdt/catboost/prediction_type.h"
#include "worker/gbdt/catboost/train/class_weights.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/learn_rows.h"
#include "worker/gbdt/catboost/train/row_sums.h"
#include "worker/gbdt/tree_pool.h"

namespace strata {
namespace {

// The model's classes as training has them; none where labels are no classes.
ClassLabels ClassesOf(const CatBoostModel& model, FitLoss loss) {
  ClassLabels classes;
  if (!HasClasses(loss)) return classes;
  classes.names = model.class_labels;
  classes.of_outputs = model.class_of_output;
  if (classes.of_outputs.empty()) {
    classes.of_outputs.resize(IsBinary(loss) ? 2 : model.outputs);
    std::iota(classes.of_outputs.begin(), classes.of_outputs.end(), 0U);
  }
  for (size_t k = classes.names.size(); k <= classes.of_outputs.back(); ++k) {
    classes.names.push_back(fmt::format("{}", k));
  }
  return classes;
}

class ApplyTask {
 public:
  ApplyTask(const ApplyOptions& options, const TreeTaskContext& context)
      : o_(options), context_(context) {}

  Result<TreeTaskResult> Run() {
    const bool predicts = o_.task == "predict";
    const NamedFile output = {fmt::format("output.predictions = {}", o_.output_path),
                              o_.output_path};
    std::vector<NamedFile> inputs = {{"output.model", o_.model_file}};
    inputs.insert(inputs.end(), context_.files.begin(), context_.files.end());
    if (predicts) STRATA_TRY(CheckOutputFiles(context_.disk, {&output, 1}, inputs));
    const TimeNs begin = context_.clock.Now();
    STRATA_ASSIGN(model_, ReadCatBoostFile(context_.disk, o_.model_file));
    MachineParameters machine;
    machine.num_threads = o_.threads;
    STRATA_ASSIGN(pool_, StartTreePool(machine));
    Result<CatBoostPredictor> predictor = CatBoostPredictor::Make(model_, o_.parameters.device);
    STRATA_TRY(predictor.status());
    STRATA_TRY(predicts ? Predict(*predictor) : Evaluate(*predictor));
    result_.task = o_.task;
    result_.samples = result_.rows;
    result_.features = model_.features();
    result_.rounds = model_.trees.size();
    result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
    return std::move(result_);
  }

 private:
  Status CheckLoss() const {
    const std::string_view loss = FitLossName(o_.parameters.loss.type);
    if (model_.loss.empty() || model_.loss == loss) return {};
    return Invalid(fmt::format(
        "{}: the model was trained for {}, and loss_function of the job is {}: expected the same",
        o_.model_file, model_.loss, loss));
  }

  Status Evaluate(const CatBoostPredictor& predictor) {
    STRATA_TRY(CheckLoss());
    const FitParameters& p = o_.parameters;
    const ClassLabels classes = ClassesOf(model_, p.loss.type);
    const LearnReader reader = {
        .disk = context_.disk, .pool = *pool_, .check = context_.check, .parameters = p};
    STRATA_ASSIGN(LearnRows read, ReadRowsToTest(reader, o_.rows, model_,
                                                 {.columns = o_.rows.of_job->features.size(),
                                                  .classes = classes,
                                                  .categories = {}}));
    STRATA_TRY(Weigh(&read));
    STRATA_ASSIGN(const std::vector<double> raw, RawOf(read, predictor));
    FitRows rows;
    rows.labels = std::move(read.labels);
    rows.weights = std::move(read.weights);
    rows.weight_sum =
        SumRows(rows.rows(), *pool_, [&](size_t row) { return double{rows.weights[row]}; });
    Evaluation evaluation = {.data = "data", .metrics = {}};
    for (const MetricSpec& metric : p.Metrics()) {
      MetricValue& value = evaluation.metrics.emplace_back();
      value.name = MetricText(metric);
      value.value = MeasureMetric(metric, rows, raw, *pool_);
      value.higher_is_better = metric.kind != MetricKind::kLoss;
    }
    result_.rows = rows.rows();
    result_.bad_rows = read.bad_rows;
    result_.evaluations = {std::move(evaluation)};
    return {};
  }

  // The rows' raw values, output after output as metrics have them.
  Result<std::vector<double>> RawOf(const LearnRows& rows, const CatBoostPredictor& predictor) {
    const size_t outputs = model_.outputs;
    std::vector<double> all(rows.rows() * outputs);
    size_t done = 0;
    for (const CatBoostRows& block : rows.blocks) {
      STRATA_TRY(context_.check());
      std::vector<double> raw(block.rows() * outputs);
      STRATA_TRY(predictor.Predict(block, *pool_, raw));
      for (size_t i = 0; i < raw.size(); ++i) {
        all[i % outputs * rows.rows() + done + i / outputs] = raw[i];
      }
      done += block.rows();
    }
    return all;
  }

  Status Weigh(LearnRows* rows) const {
    FitParameters p = o_.parameters;
    if (p.auto_class_weights != AutoClassWeights::kNone) {
      Log(LogLevel::kWarning,
          "auto_class_weights has no effect on evaluate, as the weights come from rows to learn "
          "from: metrics go by weights of rows alone");
      p.auto_class_weights = AutoClassWeights::kNone;
    }
    STRATA_ASSIGN(const std::vector<float> weights, ClassWeights(p, *rows));
    return WeighRows(weights, rows).Prefixed(o_.rows.path);
  }

  Status Predict(const CatBoostPredictor& predictor) {
    STRATA_ASSIGN(const PredictedValues values, PredictedValues::Make(model_, o_.prediction_type));
    STRATA_ASSIGN(const std::unique_ptr<JobPool> rows,
                  JobPool::Open(context_.disk, o_.rows.path, *o_.rows.of_job, false));
    STRATA_ASSIGN(std::vector<ModelColumn> places,
                  MatchColumns(model_, rows->Features(), o_.rows.path));
    rows->SetPlaces(std::move(places));
    const bool streams = IsStandardOutput(o_.output_path);
    std::string text;
    BadRows bad;
    while (true) {
      STRATA_TRY(context_.check());
      STRATA_ASSIGN(const JobBlock block, rows->Next(model_));
      if (block.features.rows() == 0) break;
      STRATA_TRY(AppendLines(predictor, values, block, &text));
      for (const BadRow& row : block.bad) bad.Add(result_.rows + row.row, row.reason);
      result_.rows += block.features.rows();
      if (!streams) continue;
      STRATA_TRY(WriteStdout(text));
      text.clear();
    }
    bad.Log(0);
    result_.bad_rows = bad.count();
    result_.output = o_.output_path;
    return streams ? Status() : WriteOutput(context_.disk, o_.output_path, text);
  }

  Status AppendLines(const CatBoostPredictor& predictor, const PredictedValues& values,
                     const JobBlock& block, std::string* text) {
    std::vector<double> raw(block.features.rows() * model_.outputs);
    STRATA_TRY(predictor.Predict(block.features, *pool_, raw));
    std::vector<double> predicted(values.columns());
    auto bad = block.bad.begin();
    for (size_t row = 0; row < block.features.rows(); ++row) {
      if (bad != block.bad.end() && bad->row == row) {
        ++bad;
        for (size_t k = 0; k < values.columns(); ++k) *text += k == 0 ? "nan" : "\tnan";
      } else {
        values.Of(std::span(raw).subspan(row * model_.outputs, model_.outputs), predicted);
        values.AppendText(predicted, text);
      }
      *text += '\n';
    }
    return {};
  }

  const ApplyOptions& o_;
  const TreeTaskContext& context_;
  CatBoostModel model_;
  std::unique_ptr<WorkPool> pool_;
  TreeTaskResult result_;
};

}  // namespace

Result<TreeTaskResult> RunApplyTask(const ApplyOptions& options, const TreeTaskContext& context) {
  return ApplyTask(options, context).Run();
}

}  // namespace strata
