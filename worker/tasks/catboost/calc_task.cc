#include "worker/tasks/catboost/calc_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/file/output_file.h"
#include "base/print.h"
#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/catboost_predictor.h"
#include "worker/gbdt/catboost/prediction_type.h"
#include "worker/gbdt/tree_pool.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 256;  // that one thread reads or writes at a time

class CalcTask {
 public:
  CalcTask(const CalcOptions& options, const TreeTaskContext& context)
      : o_(options), context_(context), streams_(IsStandardOutput(options.output_path)) {}

  Result<TreeTaskResult> Run() {
    std::vector<NamedFile> inputs = o_.inputs;
    inputs.insert(inputs.end(), context_.files.begin(), context_.files.end());
    const NamedFile output = {fmt::format("output_path = {}", o_.output_path), o_.output_path};
    STRATA_TRY(CheckOutputFiles(context_.disk, {&output, 1}, inputs));
    const TimeNs begin = context_.clock.Now();
    STRATA_ASSIGN(model_, ReadCatBoostFile(context_.disk, o_.model_file));
    STRATA_TRY(o_.task == "convert" ? Convert() : Predict());
    if (!streams_ || o_.task == "convert") {
      STRATA_TRY(WriteOutput(context_.disk, o_.output_path, out_));
    }
    result_.task = o_.task;
    result_.samples = result_.rows;
    result_.features = model_.features();
    result_.rounds = model_.trees.size();
    result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
    result_.output = o_.output_path;
    return std::move(result_);
  }

 private:
  Status Convert() {
    Result<std::string> written = WriteCatBoostJson(model_);
    if (!written.ok()) return written.status().Prefixed(o_.model_file);
    out_ = *std::move(written);
    return {};
  }

  Status Predict() {
    STRATA_ASSIGN(const PredictedValues values, PredictedValues::Make(model_, o_.prediction_type));
    STRATA_ASSIGN(const std::unique_ptr<PoolFile> file,
                  PoolFile::Open(context_.disk, o_.rows, model_, context_.check));
    STRATA_ASSIGN(const CatBoostPredictor predictor, CatBoostPredictor::Make(model_, o_.device));
    MachineParameters machine;
    machine.num_threads = o_.threads;
    STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, StartTreePool(machine));
    out_ = fmt::format("SampleId\t{}\n", fmt::join(values.Names(), "\t"));
    TextBlock block;
    while (true) {
      STRATA_TRY(context_.check());
      STRATA_ASSIGN(const bool more, file->Next(&block));
      if (!more) return {};
      STRATA_TRY(PredictBlock(*file, block, predictor, values, *pool));
      if (!streams_) continue;
      STRATA_TRY(WriteStdout(out_));
      out_.clear();
    }
  }

  Status PredictBlock(const PoolFile& file, const TextBlock& block,
                      const CatBoostPredictor& predictor, const PredictedValues& values,
                      WorkPool& pool) {
    const std::vector<Line> lines = file.RowsOf(block);
    CatBoostRows rows(model_, lines.size());
    std::vector<std::string> ids(lines.size());
    std::vector<Status> read((lines.size() + kPieceRows - 1) / kPieceRows);
    pool.RunPieces(lines.size(), kPieceRows, [&](size_t begin, size_t end) {
      read[begin / kPieceRows] = ReadLines(file, block, lines, begin, end, &rows, ids);
    });
    for (const Status& status : read) STRATA_TRY(status);
    std::vector<double> raw(lines.size() * model_.outputs);
    STRATA_TRY(predictor.Predict(rows, pool, raw));
    std::vector<std::string> texts(read.size());
    pool.RunPieces(lines.size(), kPieceRows, [&](size_t begin, size_t end) {
      AppendRows(values, raw, ids, begin, end, &texts[begin / kPieceRows]);
    });
    for (const std::string& text : texts) out_ += text;
    result_.rows += lines.size();
    return {};
  }

  Status ReadLines(const PoolFile& file, const TextBlock& block, std::span<const Line> lines,
                   size_t begin, size_t end, CatBoostRows* rows, std::span<std::string> ids) const {
    CsvFields fields;
    for (size_t row = begin; row < end; ++row) {
      std::string_view id;
      const Status read = file.ReadRow(lines[row].text, row, rows, &fields, &id);
      if (!read.ok()) return file.Placed(read, block, lines[row]);
      ids[row] = file.has_sample_ids() ? std::string(id) : fmt::format("{}", result_.rows + row);
    }
    return {};
  }

  void AppendRows(const PredictedValues& values, std::span<const double> raw,
                  std::span<const std::string> ids, size_t begin, size_t end,
                  std::string* text) const {
    std::vector<double> predicted(values.columns());
    for (size_t row = begin; row < end; ++row) {
      values.Of(raw.subspan(row * model_.outputs, model_.outputs), predicted);
      *text += ids[row];
      *text += '\t';
      values.AppendText(predicted, text);
      *text += '\n';
    }
  }

  const CalcOptions& o_;
  const TreeTaskContext& context_;
  const bool streams_;  // lines go to standard output as they are made
  CatBoostModel model_;
  std::string out_;  // what is not written yet
  TreeTaskResult result_;
};

}  // namespace

Result<TreeTaskResult> RunCalcTask(const CalcOptions& options, const TreeTaskContext& context) {
  return CalcTask(options, context).Run();
}

}  // namespace strata
