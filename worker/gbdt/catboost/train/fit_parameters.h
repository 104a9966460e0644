// What governs a training of CatBoost's trees, under CatBoost's own names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/device_choice.h"
#include "worker/gbdt/catboost/train/bootstrap_sampler.h"
#include "worker/gbdt/catboost/train/border_selection.h"
#include "worker/gbdt/catboost/train/category_parameters.h"
#include "worker/gbdt/catboost/train/feature_rules.h"
#include "worker/gbdt/catboost/train/fit_metric.h"
#include "worker/gbdt/catboost/train/loss_spec.h"
#include "worker/gbdt/catboost/train/model_shrinkage.h"
#include "worker/gbdt/catboost/train/overfitting_detector.h"

namespace strata {

// By what a split is judged. The Newton ones weigh rows by their second derivatives.
enum class ScoreFunction : uint8_t { kCosine, kL2, kNewtonCosine, kNewtonL2 };

// What a missing value is: below all others, above all others, or an error.
enum class NanMode : uint8_t { kMin, kMax, kForbidden };

// Weights of classes that follow from those of their rows.
enum class AutoClassWeights : uint8_t { kNone, kBalanced, kSqrtBalanced };

// Where none is chosen: a float, as all parameters of CatBoost are.
inline constexpr double kDefaultLearningRate = 0.03F;

struct FitParameters {
  DeviceChoice device;  // that grows trees
  LossSpec loss;
  std::optional<MetricSpec> eval_metric;  // nothing: the loss
  bool allow_const_label = false;         // labels to learn from may all be the same
  std::vector<std::string> class_names;   // of a loss of classes, in their order; empty: by rows
  size_t classes_count = 0;  // of a loss of several classes, which are numbers; 0: it is not given
  std::vector<float> class_weights;  // of the classes in their order; empty: 1 each
  AutoClassWeights auto_class_weights = AutoClassWeights::kNone;
  size_t iterations = 1000;
  std::optional<double> learning_rate;  // nothing: AutoLearningRate
  size_t depth = 6;                     // splits of a tree: up to 16
  double l2_leaf_reg = 3;               // times the mean weight of a row
  ScoreFunction score = ScoreFunction::kCosine;
  LeafMethod leaf_method = LeafMethod::kNewton;  // one that the loss has
  std::optional<size_t> leaf_iterations;         // nothing: CatBoost's choice
  bool backtracking = true;                      // steps of leaves are halved until the loss falls
  bool boost_from_average = true;
  bool use_best_model = false;                 // the trees after the best test rows are left out
  size_t best_model_min_trees = 1;             // that stay then, if there are so many
  std::optional<DetectorParameters> detector;  // nothing: all iterations are run
  BootstrapParameters sampling;
  double random_strength = 1;  // of the noise of scores
  double rsm = 1;              // probability with which a level of a tree looks at a column
  uint64_t random_seed = 0;
  FeatureRules features;
  ShrinkParameters shrink;
  BorderType border_type = BorderType::kGreedyLogSum;
  size_t border_count = 254;  // of a number: up to 255
  NanMode nan_mode = NanMode::kMin;
  CategoryParameters categories;

  // What is measured after each round. The first one decides which model is the best.
  std::vector<MetricSpec> Metrics() const {
    const MetricSpec of_loss = {.kind = MetricKind::kLoss, .loss = loss};
    if (!eval_metric.has_value()) return {of_loss};
    return {*eval_metric, of_loss};
  }
};

}  // namespace strata
