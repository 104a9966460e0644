#include "worker/gbdt/predict_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/open_rows.h"

namespace strata {
namespace {

constexpr uint64_t kModelBytesMax = uint64_t{16} << 30;

class PredictTask {
 public:
  PredictTask(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
              TreeTaskResult* result)
      : p_(parameters), context_(context), pool_(pool), result_(*result) {}

  Status Run() {
    const std::string& path = p_.input_model;
    if (path.empty()) return Invalid("input_model is missing: expected input_model = FILE");
    STRATA_ASSIGN(const std::string text, ReadFile(context_.disk, path, kModelBytesMax));
    STRATA_ASSIGN(const TreeModel model, ReadLightGbmText(text, path));
    STRATA_ASSIGN(const OutputTransform transform, OutputTransform::Of(model));
    const TimeNs begin = context_.clock.Now();
    STRATA_ASSIGN(const std::unique_ptr<RowSource> source, OpenRows(context_.disk, p_, p_.data));
    std::string out;
    SparseRows block;
    while (true) {
      STRATA_TRY(context_.check());
      STRATA_TRY(source->Next(&block));
      if (block.rows() == 0) break;
      if (source->features() > model.features()) {
        return Invalid(fmt::format("{}: {} features, the model {} has {}", p_.data,
                                   source->features(), path, model.features()));
      }
      PredictBlock(model, transform, block, &out);
      result_.rows += block.rows();
    }
    STRATA_TRY(WriteFileAtomically(context_.disk, p_.output_result, out));
    result_.features = model.features();
    result_.rounds = model.iterations();
    result_.train_seconds =
        static_cast<double>(context_.clock.Now() - begin) / static_cast<double>(kSecond);
    result_.output = p_.output_result;
    return {};
  }

 private:
  void PredictBlock(const TreeModel& model, const OutputTransform& transform,
                    const SparseRows& block, std::string* out) {
    const size_t first =
        std::min(static_cast<size_t>(p_.start_iteration_predict), model.iterations());
    const size_t last =
        p_.num_iteration_predict > 0
            ? std::min(first + static_cast<size_t>(p_.num_iteration_predict), model.iterations())
            : model.iterations();
    constexpr size_t kPiece = 256;
    std::vector<std::string> texts((block.rows() + kPiece - 1) / kPiece);
    pool_.RunPieces(block.rows(), kPiece, [&](size_t begin, size_t end) {
      std::vector<double> row(model.features(), 0);
      std::vector<double> scores(model.trees_per_iteration);
      std::string& text = texts[begin / kPiece];
      for (size_t i = begin; i < end; ++i) {
        for (size_t v = block.begins[i]; v < block.begins[i + 1]; ++v) {
          row[block.columns[v]] = block.values[v];
        }
        if (p_.predict_leaf_index) {
          for (size_t t = first * scores.size(); t < last * scores.size(); ++t) {
            text += fmt::format("{}{}", t > first * scores.size() ? "\t" : "",
                                model.trees[t].LeafOf(row));
          }
        } else {
          PredictRaw(model, row, first, last, scores);
          if (!p_.predict_raw_score) transform.Apply(scores);
          for (size_t k = 0; k < scores.size(); ++k) {
            text += fmt::format("{}{}", k > 0 ? "\t" : "", scores[k]);
          }
        }
        text += '\n';
        for (size_t v = block.begins[i]; v < block.begins[i + 1]; ++v) row[block.columns[v]] = 0;
      }
    });
    for (const std::string& text : texts) *out += text;
  }

  const TreeParameters& p_;
  const TreeTaskContext& context_;
  WorkPool& pool_;
  TreeTaskResult& result_;
};

}  // namespace

Status RunPredict(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
                  TreeTaskResult* result) {
  return PredictTask(parameters, context, pool, result).Run();
}

}  // namespace strata
