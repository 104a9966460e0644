#include "worker/gbdt/from_model/refit.h"

#include <fmt/format.h>

#include <numeric>

#include "worker/gbdt/engine/quantise.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata {
namespace {

// The leaf of each row in each tree, tree * rows + row.
Result<std::vector<uint32_t>> FindLeaves(const TreeModel& model, size_t rows, RowSource& source,
                                         WorkPool& pool) {
  STRATA_ASSIGN(const Predictor predictor,
                Predictor::Make(model, {.kind = PredictionKind::kLeaves}));
  std::vector<uint32_t> leaves(model.trees.size() * rows);
  STRATA_TRY(source.Rewind());
  SparseRows block;
  std::vector<double> found;
  for (size_t begin = 0; begin < rows; begin += block.rows()) {
    STRATA_TRY(source.Next(&block));
    if (block.rows() == 0 || block.rows() > rows - begin) {
      return Failed("the data's number of rows changed meanwhile");
    }
    STRATA_TRY(predictor.Predict(block, pool, &found));
    for (size_t i = 0; i < block.rows(); ++i) {
      for (size_t t = 0; t < model.trees.size(); ++t) {
        leaves[t * rows + begin + i] = static_cast<uint32_t>(found[i * model.trees.size() + t]);
      }
    }
  }
  return leaves;
}

void RefitTree(const QuantisedGradients& gradients, std::span<const uint32_t> leaves,
               const SplitRules& rules, double decay_rate, const RowShare& share, Tree* tree) {
  // Of each leaf: gradients, hessians, rows.
  std::vector<int64_t> sums(tree->leaves.size() * 3, 0);
  for (size_t row = 0; row < leaves.size(); ++row) {
    const Row32& gradient = gradients.view().rows32[row];
    int64_t* const of_leaf = &sums[size_t{leaves[row]} * 3];
    of_leaf[0] += gradient.gradient;
    of_leaf[1] += gradient.hessian;
    ++of_leaf[2];
  }
  share.Sum(sums);
  for (size_t leaf = 0; leaf < tree->leaves.size(); ++leaf) {
    const int64_t* const of_leaf = &sums[leaf * 3];
    const double output =
        LeafOutput(static_cast<double>(of_leaf[0]) * gradients.units().gradient,
                   static_cast<double>(of_leaf[1]) * gradients.units().hessian + kHessianEpsilon,
                   rules.lambda_l2, of_leaf[2], rules, 0);
    double& value = tree->leaves[leaf].value;
    value = decay_rate * value + (1 - decay_rate) * (output * tree->shrinkage);
  }
}

}  // namespace

Result<TreeModel> RefitModel(TreeModel model, const SplitRules& rules, double decay_rate,
                             const TreeDataset& data, const TreeObjective& objective,
                             RowSource& source, WorkPool& pool) {
  const size_t rows = data.rows();
  const size_t classes = model.classes;
  model.trees_per_iteration = classes;  // parallel trees get their leaves one after the other
  STRATA_ASSIGN(const std::vector<uint32_t> leaves, FindLeaves(model, rows, source, pool));
  std::vector<double> scores = data.init_scores;
  scores.resize(rows * classes, 0);
  std::vector<float> gradients(rows * classes);
  std::vector<float> hessians(rows * classes);
  QuantisedGradients quantised;
  for (size_t iteration = 0; iteration < model.iterations(); ++iteration) {
    objective.Gradients(scores, iteration, pool, gradients, hessians);
    for (size_t k = 0; k < classes; ++k) {
      const size_t t = iteration * classes + k;
      const uint64_t not_finite = quantised.Quantise(
          std::span(gradients).subspan(k * rows, rows), std::span(hessians).subspan(k * rows, rows),
          {.width = GradientWidth::k32}, t, data.share, pool);
      if (not_finite > 0) {
        return Failed(fmt::format("tree {}: the gradients of {} of {} rows are not finite", t,
                                  not_finite, rows));
      }
      const std::span<const uint32_t> of_tree = std::span(leaves).subspan(t * rows, rows);
      RefitTree(quantised, of_tree, rules, decay_rate, data.share, &model.trees[t]);
      STRATA_TRY(data.share.status());
      for (size_t row = 0; row < rows; ++row) {
        scores[k * rows + row] += model.trees[t].leaves[of_tree[row]].value;
      }
    }
  }
  return model;
}

}  // namespace strata
