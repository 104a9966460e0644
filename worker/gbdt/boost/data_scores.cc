#include "worker/gbdt/boost/data_scores.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 16;

}  // namespace

DataScores::DataScores(const TreeDataset& data, size_t classes, WorkPool& pool)
    : data_(data), pool_(pool), scores_(data.init_scores.begin(), data.init_scores.end()) {
  if (scores_.empty()) scores_.resize(data.rows() * classes);
}

Status DataScores::MoveToGpu(int device) {
  const size_t classes = scores_.size() / data_.rows();
  STRATA_ASSIGN(std::unique_ptr<GpuScores> gpu,
                GpuScores::Open(device, data_.bins, data_.features->shapes, classes));
  STRATA_TRY(gpu->Set(scores_));
  gpu_ = std::move(gpu);
  return {};
}

Result<std::span<const double>> DataScores::Fetch(std::vector<double>* made) const {
  if (gpu_ == nullptr) return all();
  made->resize(scores_.size());
  STRATA_TRY(gpu_->Get(*made));
  return std::span<const double>(*made);
}

Status DataScores::AddConstant(size_t k, double value) {
  if (value == 0) return {};
  if (gpu_ != nullptr) return gpu_->AddConstant(k, value);
  for (double& score : MutableOfClass(k)) score += value;
  return {};
}

Status DataScores::AddTree(size_t k, const GrownTree& tree, std::span<const double> leaf_values) {
  if (gpu_ != nullptr) return gpu_->AddTree(k, tree, leaf_values);
  const std::span<double> scores = MutableOfClass(k);
  const BinnedTraversal traversal(tree, data_.features->shapes);
  pool_.RunPieces(scores.size(), kPieceRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      scores[row] += leaf_values[traversal.LeafOf(data_.bins, row)];
    }
  });
  return {};
}

void DataScores::AddGrown(size_t k, const GrownTree& tree, std::span<const double> leaf_values) {
  const std::span<double> scores = MutableOfClass(k);
  pool_.Run(tree.leaves.size(), [&](size_t leaf) {
    for (const uint32_t row : tree.RowsOf(tree.leaves[leaf])) scores[row] += leaf_values[leaf];
  });
}

}  // namespace strata
