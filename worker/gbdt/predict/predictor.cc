#include "worker/gbdt/predict/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strata {
namespace {

// Of a piece's rows as columns: they stay in a core's nearest cache while all trees go over them.
constexpr size_t kPieceBytes = 16 << 10;

Status CheckEarlyStop(const TreeModel& model) {
  const std::string name = model.ObjectiveName();
  const bool fits = name == "binary" || name == "multiclass" || name == "multiclassova" ||
                    name == "lambdarank" || name == "rank_xendcg";
  if (fits && !model.average_output) return {};
  return Invalid(
      fmt::format("pred_early_stop leaves out trees that objective = {}{} needs: remove it",
                  name.empty() ? "none" : name, model.average_output ? " of a random forest" : ""));
}

}  // namespace

Predictor::Predictor(const TreeModel& model, const PredictOptions& options, size_t begin,
                     size_t end)
    : model_(&model), options_(options), begin_(begin), end_(end), trees_(model, begin, end) {}

Result<Predictor> Predictor::Make(const TreeModel& model, const PredictOptions& options) {
  const size_t begin = std::min(options.start_iteration, model.iterations());
  const size_t left = model.iterations() - begin;
  const size_t end = begin + (options.iterations > 0 ? std::min(options.iterations, left) : left);
  Predictor predictor(model, options, begin, end);
  const size_t classes = model.trees_per_iteration;
  predictor.outputs_ = classes;
  if (options.kind == PredictionKind::kTransformed) {
    STRATA_ASSIGN(predictor.transform_, OutputTransform::Of(model));
  }
  if (options.kind == PredictionKind::kLeaves) predictor.outputs_ = (end - begin) * classes;
  if (options.kind == PredictionKind::kContributions) {
    predictor.outputs_ = classes * (model.features() + 1);
    for (size_t t = begin * classes; t < end * classes; ++t) {
      Result<TreeContributions> tree = TreeContributions::Make(model.trees[t]);
      if (!tree.ok()) return tree.status().Prefixed(fmt::format("tree {}", t));
      predictor.contributions_.push_back(std::move(*tree));
    }
  }
  if (options.early_stop_freq > 0) STRATA_TRY(CheckEarlyStop(model));
  const size_t row_bytes = predictor.trees_.columns() * sizeof(double);
  predictor.piece_rows_ = std::clamp<size_t>(kPieceBytes / row_bytes, 16, 1024);
  return predictor;
}

void Predictor::Predict(const SparseRows& block, WorkPool& pool, std::vector<double>* out) const {
  out->assign(block.rows() * outputs_, 0);
  pool.RunPieces(block.rows(), piece_rows_, [&](size_t begin, size_t end) {
    PredictPiece(block, begin, end, out->data() + begin * outputs_);
  });
}

void Predictor::PredictPiece(const SparseRows& block, size_t begin, size_t end, double* out) const {
  const size_t count = end - begin;
  if (options_.kind == PredictionKind::kContributions) {
    std::vector<double> row(model_->features(), 0);
    const size_t classes = model_->trees_per_iteration;
    for (size_t i = begin; i < end; ++i, out += outputs_) {
      for (size_t v = block.begins[i]; v < block.begins[i + 1]; ++v) {
        if (block.columns[v] < row.size()) row[block.columns[v]] = block.values[v];
      }
      for (size_t t = 0; t < contributions_.size(); ++t) {
        contributions_[t].Add(row, std::span(out + t % classes * (row.size() + 1), row.size() + 1));
      }
      for (size_t v = block.begins[i]; v < block.begins[i + 1]; ++v) {
        if (block.columns[v] < row.size()) row[block.columns[v]] = 0;
      }
    }
    return;
  }
  std::vector<double> rows(count * trees_.columns());
  trees_.Fill(block, begin, end, rows);
  std::vector<uint32_t> which(count);
  std::iota(which.begin(), which.end(), 0U);
  if (options_.kind == PredictionKind::kLeaves) {
    std::vector<uint32_t> leaves(count);
    for (size_t t = 0; t < trees_.trees(); ++t) {
      trees_.Leaves(t, rows, which, leaves.data(), 1);
      for (size_t i = 0; i < count; ++i) out[i * outputs_ + t] = leaves[i];
    }
    return;
  }
  Scores(rows, std::move(which), out);
  if (options_.kind == PredictionKind::kRaw) return;
  for (size_t i = 0; i < count; ++i) {
    const std::span<double> scores(out + i * outputs_, outputs_);
    if (model_->average_output && end_ > begin_) {
      for (double& score : scores) score /= static_cast<double>(end_ - begin_);
    }
    transform_.Apply(scores);
  }
}

void Predictor::Scores(std::span<const double> rows, std::vector<uint32_t> which,
                       double* out) const {
  for (size_t iteration = 0; begin_ + iteration < end_; ++iteration) {
    for (size_t k = 0; k < outputs_; ++k) {
      trees_.AddScores(iteration * outputs_ + k, rows, which, out + k, outputs_);
    }
    if (options_.early_stop_freq == 0 || (iteration + 1) % options_.early_stop_freq != 0) continue;
    std::erase_if(which, [&](uint32_t row) { return IsSure(out + row * outputs_); });
  }
}

bool Predictor::IsSure(const double* scores) const {
  if (outputs_ == 1) return 2 * std::fabs(scores[0]) > options_.early_stop_margin;
  double best = std::max(scores[0], scores[1]);
  double second = std::min(scores[0], scores[1]);
  for (size_t k = 2; k < outputs_; ++k) {
    second = std::max(second, std::min(best, scores[k]));
    best = std::max(best, scores[k]);
  }
  return best - second > options_.early_stop_margin;
}

}  // namespace strata
