#include "worker/gbdt/catboost/catboost_predictor.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "worker/gbdt/catboost/oblivious_sums.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 256;  // whose bins stay in a core's nearest caches

}  // namespace

CatBoostPredictor::CatBoostPredictor(const CatBoostModel& model)
    : bins_(model), bias_(model.bias), scale_(model.scale) {
  for (const CatBoostTree& tree : model.trees) {
    trees_.push_back({.first_split = splits_.size(),
                      .splits = static_cast<uint32_t>(tree.splits.size() + tree.nodes.size()),
                      .first_value = values_.size()});
    for (const uint32_t split : tree.splits) splits_.push_back(bins_.split(split));
    for (const CatBoostNode& node : tree.nodes) {
      splits_.push_back(bins_.split(node.split));
      children_.push_back({.left = node.left, .right = node.right});
    }
    values_.insert(values_.end(), tree.values.begin(), tree.values.end());
  }
}

Result<CatBoostPredictor> CatBoostPredictor::Make(const CatBoostModel& model,
                                                  const DeviceChoice& device) {
  CatBoostPredictor predictor(model);
  STRATA_TRY(predictor.OpenGpu(device));
  return predictor;
}

Status CatBoostPredictor::OpenGpu(const DeviceChoice& device) {
  if (device.kind == DeviceKind::kCpu) return {};
  Result<std::unique_ptr<GpuBinForest>> gpu =
      GpuBinForest::Open(device.ordinal.value_or(0), bins_.view(), forest());
  if (gpu.ok()) {
    gpu_ = std::move(*gpu);
    return {};
  }
  if (device.kind.has_value()) return gpu.status();
  Log(LogLevel::kInfo, "device = auto: the CPU predicts: {}", gpu.status().message());
  return {};
}

BinForestView CatBoostPredictor::forest() const {
  return {.trees = trees_,
          .splits = splits_,
          .children = children_,
          .values = values_,
          .bias = bias_,
          .scale = scale_};
}

Status CatBoostPredictor::Predict(const CatBoostRows& rows, WorkPool& pool,
                                  std::span<double> out) const {
  if (!on_gpu()) {
    pool.RunPieces(rows.rows(), kPieceRows, [&](size_t begin, size_t end) {
      RawOf(rows, {.begin = begin, .count = end - begin}, out);
    });
    return {};
  }
  const auto read = [&](size_t first, size_t count, uint32_t* to) {
    rows.CopyRows(first, count, to);
  };
  return gpu_->Raw({.rows = rows.rows(),
                    .numbers = rows.numbers(),
                    .categories = rows.categories(),
                    .read = read},
                   pool, out);
}

void CatBoostPredictor::Raw(const CatBoostRows& rows, std::span<double> out) const {
  RunPieces(nullptr, rows.rows(), kPieceRows, [&](size_t begin, size_t end) {
    RawOf(rows, {.begin = begin, .count = end - begin}, out);
  });
}

// Into the place of the rows among all.
void CatBoostPredictor::RawOf(const CatBoostRows& rows, const RowPiece& piece,
                              std::span<double> all) const {
  const size_t outputs = bias_.size();
  const std::span<double> out = all.subspan(piece.begin * outputs, piece.count * outputs);
  std::vector<uint8_t> bins(bins_.columns() * piece.count + kObliviousSlack);
  bins_.FillPiece(rows, piece, bins);
  std::ranges::fill(out, 0);
  if (children_.empty()) {
    AddObliviousTrees(forest(), bins.data(), out);
  } else {
    AddOther(bins.data(), out);
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = out[i] * scale_ + bias_[i % outputs];
}

void CatBoostPredictor::AddOther(const uint8_t* bins, std::span<double> out) const {
  const size_t outputs = bias_.size();
  const size_t rows = out.size() / outputs;
  for (const BinTree& tree : trees_) {
    for (size_t row = 0; row < rows; ++row) {
      int32_t at = tree.splits == 0 ? ~0 : 0;
      while (at >= 0) {
        const size_t node = tree.first_split + static_cast<size_t>(at);
        const bool is_set = splits_[node].Of(bins[splits_[node].column * rows + row]);
        at = is_set ? children_[node].right : children_[node].left;
      }
      const double* const values =
          values_.data() + tree.first_value + static_cast<size_t>(~at) * outputs;
      for (size_t k = 0; k < outputs; ++k) out[row * outputs + k] += values[k];
    }
  }
}

}  // namespace strata
