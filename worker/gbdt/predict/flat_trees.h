// FlatTrees: a model's trees laid out for the prediction of many rows
// (kernels/tree/score/forest.h), so that several rows descend a tree at a time without a branch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/score/forest.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

// Immutable; any number of threads. The same leaves as Tree::LeafOf, whatever the values.
class FlatTrees {
 public:
  // Of iterations [begin, end) of the model, which need not outlive it.
  FlatTrees(const TreeModel& model, size_t begin, size_t end);

  // Trees read a row as columns: what one feature means to nodes that treat missing values alike.
  size_t columns() const { return empty_row_.size(); }
  size_t trees() const { return trees_.size(); }
  ForestView view() const {
    return {.columns = all_columns_,
            .trees = trees_,
            .nodes = nodes_,
            .values = values_,
            .leaves = leaves_,
            .sets = sets_,
            .set_words = set_words_};
  }

  // Rows [begin, end) of the block as columns, row by row. Features that the model does not have
  // are left out.
  void Fill(const SparseRows& block, size_t begin, size_t end, std::span<double> rows) const;

  // Adds the value of the leaf that each of these rows reaches to scores[row * stride].
  void AddScores(size_t tree, std::span<const double> rows, std::span<const uint32_t> which,
                 double* scores, size_t stride) const;
  // The leaf that each of these rows reaches, by its number in the model, to leaves[row * stride].
  void Leaves(size_t tree, std::span<const double> rows, std::span<const uint32_t> which,
              uint32_t* leaves, size_t stride) const;

 private:
  void AddColumns(const TreeModel& model, size_t begin, size_t end);
  static ForestColumn ColumnOf(const TreeNode& node);
  void AddTree(const Tree& tree);
  template <typename Take>
  void Descend(size_t tree, std::span<const double> rows, std::span<const uint32_t> which,
               const Take& take) const;
  uint32_t DescendSlowly(const ForestTree& tree, const double* row) const;

  std::vector<ForestColumn> all_columns_;  // by feature
  std::vector<uint32_t> of_feature_;       // columns of feature f: from of_feature_[f] to [f + 1]
  std::vector<double> empty_row_;          // columns where all features are 0
  std::vector<ForestTree> trees_;
  std::vector<ForestNode> nodes_;
  // By the place of a node: see ForestView.
  std::vector<double> values_;
  std::vector<uint32_t> leaves_;
  std::vector<ForestSet> sets_;
  std::vector<uint32_t> set_words_;
};

}  // namespace strata
