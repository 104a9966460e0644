#include "worker/gbdt/predict/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/log.h"
#include "worker/gbdt/data/array_rows.h"

namespace strata {
namespace {

// Of a piece's rows as columns: they stay in a core's nearest cache while all trees go over them.
constexpr size_t kPieceBytes = 16 << 10;
constexpr size_t kTransformedRows = 4096;

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
  const size_t classes = model.classes;
  const size_t first_tree = begin * model.trees_per_iteration;
  const size_t end_tree = end * model.trees_per_iteration;
  predictor.outputs_ = classes;
  if (options.kind == PredictionKind::kTransformed) {
    STRATA_ASSIGN(predictor.transform_, OutputTransform::Of(model));
  }
  if (options.kind == PredictionKind::kLeaves) predictor.outputs_ = end_tree - first_tree;
  if (options.kind == PredictionKind::kContributions) {
    predictor.outputs_ = classes * (model.features() + 1);
    for (size_t t = first_tree; t < end_tree; ++t) {
      Result<TreeContributions> tree = TreeContributions::Make(model.trees[t]);
      if (!tree.ok()) return tree.status().Prefixed(fmt::format("tree {}", t));
      predictor.contributions_.push_back(std::move(*tree));
    }
  }
  if (options.early_stop.freq > 0) STRATA_TRY(CheckEarlyStop(model));
  predictor.stop_ = {.freq = options.early_stop.freq * model.trees_per_iteration,
                     .margin = options.early_stop.margin};
  const size_t row_bytes = predictor.trees_.columns() * sizeof(double);
  predictor.piece_rows_ = std::clamp<size_t>(kPieceBytes / row_bytes, 16, 1024);
  STRATA_TRY(predictor.OpenGpu());
  return predictor;
}

Status Predictor::OpenGpu() {
  if (options_.device.kind == DeviceKind::kCpu) return {};
  if (options_.kind == PredictionKind::kContributions) {
    Log(LogLevel::kInfo, "contributions are computed on the CPU, whatever device says");
    return {};
  }
  Result<std::unique_ptr<GpuForest>> gpu =
      GpuForest::Open(options_.device.ordinal.value_or(0), trees_.view(), model_->classes);
  if (gpu.ok()) {
    gpu_ = std::move(*gpu);
    return {};
  }
  if (options_.device.kind.has_value()) return gpu.status();
  Log(LogLevel::kInfo, "device = auto: the CPU predicts: {}", gpu.status().message());
  return {};
}

Status Predictor::Predict(const SparseRows& block, WorkPool& pool, std::vector<double>* out) const {
  if (on_gpu()) {
    std::vector<uint32_t> from(trees_.columns());
    std::iota(from.begin(), from.end(), 0U);
    const auto read = [&](uint64_t first, std::span<std::byte> to) -> Status {
      const std::span<double> rows(reinterpret_cast<double*>(to.data()),
                                   to.size() / sizeof(double));
      trees_.Fill(block, first, first + rows.size() / trees_.columns(), rows);
      return {};
    };
    return PredictOnGpu({.numbers = {.rows = block.rows(),
                                     .columns = trees_.columns(),
                                     .value_bytes = sizeof(double),
                                     .read = read},
                         .from = from},
                        pool, out);
  }
  out->assign(block.rows() * outputs_, 0);
  pool.RunPieces(block.rows(), piece_rows_, [&](size_t begin, size_t end) {
    PredictPiece(block, begin, end, out->data() + begin * outputs_);
  });
  return {};
}

Status Predictor::PredictArray(const ArrayRows& array, uint64_t first, uint64_t rows,
                               WorkPool& pool, std::vector<double>* out) const {
  STRATA_CHECK(on_gpu());
  const std::vector<uint32_t> of_feature = ColumnsOfFeatures(*array.roles);
  std::vector<uint32_t> from;
  for (const ForestColumn& column : trees_.view().columns) {
    from.push_back(column.feature < of_feature.size() ? of_feature[column.feature] : ~0U);
  }
  NumberArray part = array.numbers;
  part.rows = rows;
  part.read = [&](uint64_t row, std::span<std::byte> to) {
    return array.numbers.read(first + row, to);
  };
  return PredictOnGpu({.numbers = part, .from = from, .small_is_zero = true}, pool, out);
}

Status Predictor::PredictOnGpu(const ForestRows& rows, WorkPool& pool,
                               std::vector<double>* out) const {
  out->resize(rows.numbers.rows * outputs_);
  if (options_.kind == PredictionKind::kLeaves) return gpu_->Leaves(rows, pool, *out);
  STRATA_TRY(gpu_->Scores(rows, stop_, pool, *out));
  pool.RunPieces(rows.numbers.rows, kTransformedRows, [&](size_t begin, size_t end) {
    Transform(std::span(*out).subspan(begin * outputs_, (end - begin) * outputs_));
  });
  return {};
}

void Predictor::PredictPiece(const SparseRows& block, size_t begin, size_t end, double* out) const {
  const size_t count = end - begin;
  if (options_.kind == PredictionKind::kContributions) {
    std::vector<double> row(model_->features(), 0);
    const size_t classes = model_->classes;
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
  Transform({out, count * outputs_});
}

void Predictor::Transform(std::span<double> all) const {
  if (options_.kind == PredictionKind::kRaw) return;
  for (size_t begin = 0; begin < all.size(); begin += outputs_) {
    const std::span<double> scores = all.subspan(begin, outputs_);
    if (model_->average_output && end_ > begin_) {
      for (double& score : scores) score /= static_cast<double>(end_ - begin_);
    }
    transform_.Apply(scores);
  }
}

void Predictor::Scores(std::span<const double> rows, std::vector<uint32_t> which,
                       double* out) const {
  for (size_t t = 0; t < trees_.trees(); ++t) {
    trees_.AddScores(t, rows, which, out + t % outputs_, outputs_);
    if (!stop_.LooksAfter(t + 1)) continue;
    std::erase_if(which,
                  [&](uint32_t row) { return stop_.IsSure(out + row * outputs_, outputs_); });
  }
}

}  // namespace strata
