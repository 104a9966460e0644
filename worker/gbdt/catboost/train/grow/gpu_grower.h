// GpuGrower: a TreeGrower whose rows and histograms are in a GPU's memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/tree/oblivious/gpu_oblivious.h"
#include "worker/gbdt/catboost/train/grow/fixed_rows.h"
#include "worker/gbdt/catboost/train/grow/tree_grower.h"

namespace strata {

class GpuGrower : public TreeGrower {
 public:
  // The pool outlives it.
  GpuGrower(std::unique_ptr<GpuOblivious> gpu, size_t rows, const ScoreRule& rule, WorkPool& pool)
      : gpu_(std::move(gpu)), row_count_(rows), rule_(rule), pool_(pool) {}

  Status Begin(std::span<const double> gradients, std::span<const double> weights) override;
  Status AddColumns(std::span<const GrowColumn> columns) override { return Add(columns, false); }
  Status AddFixedColumns(std::span<const GrowColumn> columns) override {
    return Add(columns, true);
  }
  Status SetGradients(std::span<const double> gradients, std::span<const double> weights) override;
  Result<const LevelScores*> Score() override;
  Result<bool> Split(const GrowSplit& split) override;
  size_t levels() const override { return splits_.size(); }
  Result<GrownObliviousTree> Take() override;
  GpuGrower* gpu() override { return this; }

  // Where rows may stay between trees.
  GpuOblivious& device() { return *gpu_; }
  // Like Begin, by the raw values of rows that stay. Such a tree's leaves stay, too: Take leaves
  // them out.
  Status BeginFromRows();
  Result<bool> BeginFromSample(const RowDraw& sample);  // false: there is no row in it
  // Takes all splits of the tree, each the one with the largest score, without the host. Columns
  // have come at once, and have no directions.
  Status Grow();

 private:
  void StartTree(bool is_resident);
  // After it has parted the rows as counts_ says.
  bool AddSplit(const GrowSplit& split);
  Status Add(std::span<const GrowColumn> columns, bool are_fixed);
  ObliviousGradients Round(std::span<const double> gradients, std::span<const double> weights);
  Status ScoreMonotone();

  const std::unique_ptr<GpuOblivious> gpu_;
  const size_t row_count_;
  const ScoreRule rule_;
  WorkPool& pool_;
  FixedRows rows_;
  std::vector<GrowColumn> columns_;
  LevelScores scores_;
  std::vector<GrowSplit> splits_;
  std::vector<uint32_t> counts_;
  bool is_resident_ = false;         // the tree's rows stay
  std::optional<size_t> redundant_;  // the split that has been left out, which ends the tree
};

}  // namespace strata
