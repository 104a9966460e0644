// FlatTrees: a model's trees laid out for the prediction of many rows: nodes of 16 bytes, two
// children side by side, leaves that lead to themselves, so that several rows descend a tree at a
// time without a branch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  // What a column makes of a feature's value.
  struct Column {
    uint32_t feature = 0;
    bool categorical = false;
    MissingKind missing = MissingKind::kNone;
    bool default_left = false;

    auto operator<=>(const Column&) const = default;
    double Of(double value) const;
  };
  // Right of a node is the place behind its left. A leaf is its own left.
  struct Node {
    double threshold;
    uint32_t column;
    uint32_t left;
  };
  struct FlatTree {
    size_t begin = 0;  // in nodes_
    bool categorical = false;
  };

  void AddColumns(const TreeModel& model, size_t begin, size_t end);
  Column ColumnOf(const TreeNode& node) const;
  void AddTree(const Tree& tree);
  template <typename Take>
  void Descend(size_t tree, std::span<const double> rows, std::span<const uint32_t> which,
               const Take& take) const;
  uint32_t DescendSlowly(const FlatTree& tree, const double* row) const;

  std::vector<Column> all_columns_;   // by feature
  std::vector<uint32_t> of_feature_;  // columns of feature f: from of_feature_[f] to [f + 1]
  std::vector<double> empty_row_;     // columns where all features are 0
  std::vector<FlatTree> trees_;
  std::vector<Node> nodes_;
  // By the place of a leaf in nodes_.
  std::vector<double> values_;
  std::vector<uint32_t> leaves_;
  // Of categorical nodes, by their place in nodes_: the set's first word and words, the side of
  // missing values.
  struct Set {
    uint32_t begin = 0;
    uint32_t words = 0;
    bool is_set = false;
    bool default_left = false;
  };
  std::vector<Set> sets_;  // empty without categorical nodes
  std::vector<uint32_t> set_words_;
};

}  // namespace strata
