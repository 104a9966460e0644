// TreeContributions: what each feature adds to a tree's output for one row: Shapley values of the
// tree with features left out path by path (S. Lundberg, G. Erion, S. Lee, "Consistent
// individualized feature attribution for tree ensembles", arXiv 1802.03888, algorithm 2).
#pragma once

#include <span>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/model/tree.h"

namespace strata {

// Immutable; any number of threads. O(leaves x depth^2) a row.
class TreeContributions {
 public:
  // The tree outlives it. kInvalid: deeper than 1,024 nodes, or nodes that no row has reached: rows
  // decide how much each side counts, sums of hessians where a model (XGBoost's) has no rows.
  static Result<TreeContributions> Make(const Tree& tree);

  // Adds those of a row of all features' values to out, one a feature; to the last number of out
  // the tree's expected output. Together they are the tree's output for the row.
  void Add(std::span<const double> row, std::span<double> out) const;

 private:
  // A feature on the way from the root, with the share of rows that reach the node without knowing
  // it, whether this row does (1 or 0), and the weight of all subsets of that size.
  struct Step {
    int32_t feature;
    double zero;
    double one;
    double weight;
  };

  explicit TreeContributions(const Tree& tree) : tree_(&tree) {}
  void Visit(int32_t at, std::span<const double> row, std::span<double> out, Step* steps,
             size_t length, const Step& last) const;
  static void Extend(Step* steps, size_t length, const Step& last);
  static void Unwind(Step* steps, size_t length, size_t place);
  static double UnwoundSum(const Step* steps, size_t length, size_t place);
  double CoverOf(int32_t at) const;

  const Tree* tree_;
  bool by_rows_ = true;
  double expected_ = 0;
  size_t depth_ = 0;
};

}  // namespace strata
