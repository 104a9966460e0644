#include "worker/tasks/trees/predict_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "base/file/output_file.h"
#include "base/print.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/from_model/model_differences.h"
#include "worker/gbdt/input/open_rows.h"
#include "worker/gbdt/lightgbm/parameter_place.h"
#include "worker/gbdt/model/model_format.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

constexpr uint64_t kPartNumbers = 1 << 24;  // of an array's predictions that are made at a time

class PredictTask {
 public:
  PredictTask(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
              TreeTaskResult* result)
      : p_(parameters),
        context_(context),
        pool_(pool),
        streams_(IsStandardOutput(parameters.task.output_result)),
        result_(*result) {}

  Status Run() {
    const std::string& path = p_.task.input_model;
    if (path.empty()) return Invalid("input_model is missing: expected input_model = FILE");
    STRATA_ASSIGN(const TreeModel model, ReadModelFile(context_.disk, path));
    STRATA_TRY(CheckNoneContradicts(model, p_));
    STRATA_ASSIGN(const PredictOptions options, Options());
    STRATA_ASSIGN(const Predictor predictor, MakePredictor(p_, model, options));
    const TimeNs begin = context_.clock.Now();
    STRATA_ASSIGN(
        const std::unique_ptr<RowSource> source,
        OpenRowsOf(
            context_.disk, p_.data, p_.data.path, model,
            {.model_file = path, .predicts = true, .any_width = p_.predict.disable_shape_check}));
    const std::optional<ArrayRows> array =
        predictor.on_gpu() ? source->Array() : std::optional<ArrayRows>();
    STRATA_TRY(array.has_value() ? PredictArray(predictor, *array)
                                 : PredictBlocks(predictor, model, *source));
    if (!streams_) STRATA_TRY(WriteOutput(context_.disk, p_.task.output_result, out_));
    bad_.Log(0);
    result_.bad_rows = bad_.count();
    result_.samples = result_.rows;
    result_.features = model.features();
    result_.rounds = model.iterations();
    result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
    result_.output = p_.task.output_result;
    return {};
  }

 private:
  Result<PredictOptions> Options() const {
    STRATA_ASSIGN(const DeviceChoice device, ParseDevice(p_.machine.device_type));
    PredictOptions options = {
        .early_stop = {.freq = p_.predict.early_stop
                                   ? static_cast<size_t>(p_.predict.early_stop_freq)
                                   : 0,
                       .margin = p_.predict.early_stop_margin},
        .device = device};
    if (p_.predict.raw_score) options.kind = PredictionKind::kRaw;
    if (p_.predict.leaf_index) options.kind = PredictionKind::kLeaves;
    if (p_.predict.contributions) options.kind = PredictionKind::kContributions;
    return options;
  }

  // Rows of libsvm may have features of any number.
  Status CheckFeatures(const TreeModel& model, size_t features) const {
    if (features <= model.features() || p_.predict.disable_shape_check) return {};
    return Invalid(
        fmt::format("{}: {} features, the model {} has {}: predict_disable_shape_check = true "
                    "leaves out what the model does not know",
                    p_.data.path, features, p_.task.input_model, model.features()));
  }

  Status PredictBlocks(const Predictor& predictor, const TreeModel& model, RowSource& source) {
    SparseRows block;
    std::vector<double> numbers;
    while (true) {
      STRATA_TRY(context_.check());
      STRATA_TRY(source.Next(&block));
      if (block.rows() == 0) return {};
      STRATA_TRY(CheckFeatures(model, source.features()));
      STRATA_TRY(predictor.Predict(block, pool_, &numbers));
      for (const BadRow& bad : block.bad) {
        std::fill_n(numbers.begin() + static_cast<ptrdiff_t>(bad.row * predictor.outputs()),
                    predictor.outputs(), std::numeric_limits<double>::quiet_NaN());
        bad_.Add(result_.rows + bad.row, bad.reason);
      }
      STRATA_TRY(AddLines(numbers, block.rows(), predictor.outputs()));
      result_.rows += block.rows();
    }
  }

  Status PredictArray(const Predictor& predictor, const ArrayRows& array) {
    const uint64_t part = std::max<uint64_t>(1, kPartNumbers / (1 + predictor.outputs()));
    std::vector<double> numbers;
    while (result_.rows < array.numbers.rows) {
      STRATA_TRY(context_.check());
      const uint64_t rows = std::min<uint64_t>(part, array.numbers.rows - result_.rows);
      STRATA_TRY(predictor.PredictArray(array, result_.rows, rows, pool_, &numbers));
      STRATA_TRY(AddLines(numbers, rows, predictor.outputs()));
      result_.rows += rows;
    }
    return {};
  }

  Status AddLines(std::span<const double> numbers, size_t rows, size_t outputs) {
    constexpr size_t kPiece = 256;
    std::vector<std::string> texts((rows + kPiece - 1) / kPiece);
    pool_.RunPieces(rows, kPiece, [&](size_t begin, size_t end) {
      std::string& text = texts[begin / kPiece];
      for (size_t i = begin; i < end; ++i) {
        for (size_t k = 0; k < outputs; ++k) {
          fmt::format_to(std::back_inserter(text), "{}", numbers[i * outputs + k]);
          text += k + 1 < outputs ? '\t' : '\n';
        }
        if (outputs == 0) text += '\n';
      }
    });
    for (const std::string& text : texts) out_ += text;
    if (!streams_) return {};
    STRATA_TRY(WriteStdout(out_));
    out_.clear();
    return {};
  }

  const TreeParameters& p_;
  const TreeTaskContext& context_;
  WorkPool& pool_;
  const bool streams_;  // lines go to standard output as they are made
  std::string out_;     // lines that are not written yet
  TreeTaskResult& result_;
  BadRows bad_;
};

}  // namespace

Result<Predictor> MakePredictor(const TreeParameters& p, const TreeModel& model,
                                PredictOptions options) {
  options.start_iteration = static_cast<size_t>(p.predict.start_iteration);
  options.iterations = static_cast<size_t>(std::max<int64_t>(0, p.predict.iterations));
  if (options.start_iteration > 0 && options.start_iteration >= model.iterations()) {
    return Invalid(fmt::format("{} = {}: {} has {} rounds, the first is 0",
                               KeyOf(p, "start_iteration_predict"), options.start_iteration,
                               p.task.input_model, model.iterations()));
  }
  Result<Predictor> predictor = Predictor::Make(model, options);
  if (!predictor.ok()) return predictor.status().Prefixed(p.task.input_model);
  return predictor;
}

Status RunPredict(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
                  TreeTaskResult* result) {
  return PredictTask(parameters, context, pool, result).Run();
}

}  // namespace strata
