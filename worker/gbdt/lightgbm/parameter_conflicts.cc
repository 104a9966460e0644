#include "worker/gbdt/lightgbm/parameter_conflicts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/parameters/interaction_sets.h"
#include "worker/gbdt/parameters/metric_names.h"

namespace strata {
namespace {

using Conflict = std::optional<ParameterConflict>;
using P = TreeParameters;

bool IsMulticlass(const P& p) {
  return p.objective.name == "multiclass" || p.objective.name == "multiclassova";
}

Conflict OfObjective(const P& p) {
  const bool multiclass = IsMulticlass(p);
  if (multiclass && p.objective.num_class < 2) {
    return {{{"objective", "num_class"},
             fmt::format("objective = {} needs num_class of at least 2", p.objective.name)}};
  }
  if (!multiclass && p.objective.num_class != 1) {
    return {{{"num_class", "objective"},
             fmt::format("num_class = {} has no effect on objective = {}: remove it",
                         p.objective.num_class, p.objective.name)}};
  }
  if (p.objective.is_unbalance && p.objective.scale_pos_weight != 1) {
    return {{{"is_unbalance", "scale_pos_weight"},
             "is_unbalance and scale_pos_weight exclude each other: remove one"}};
  }
  if (p.objective.name == "quantile" && p.objective.alpha >= 1) {
    return {{{"alpha"}, "alpha: expected below 1 for quantile"}};
  }
  return {};
}

// Of evaluate the model says the objective.
Conflict OfMetrics(const P& p) {
  for (const std::string& asked : p.metric.names) {
    const std::string name = CanonicalMetric(asked);
    if (MeasuresNothing(name)) continue;
    if (!IsMetric(name)) {
      return {{{"metric"},
               fmt::format("metric = {}: not known: expected some of {}, none", ShownBytes(asked),
                           MetricNames())}};
    }
    const bool fits_any = name == "accuracy" || name == "ndcg" || name == "map";
    if (p.task.name == "train" && !fits_any && IsMetricOfClasses(name) != IsMulticlass(p)) {
      return {{{"metric", "objective"},
               fmt::format("metric = {} does not fit objective = {} with num_class = {}", asked,
                           p.objective.name, p.objective.num_class)}};
    }
  }
  return {};
}

Conflict OfDevice(const P& all) {
  const MachineParameters& p = all.machine;
  const Result<DeviceChoice> device = ParseDevice(p.device_type);
  if (p.device_type == "gpu") {
    return {{{"device_type"},
             "device_type = gpu is LightGBM's OpenCL, which is not here: set device_type = cuda"}};
  }
  if (!device.ok()) {
    return {{{"device_type"}, fmt::format("device_type: {}", device.status().message())}};
  }
  if (device->ordinal.has_value() && p.num_gpu > 1 && !p.gpu_device_id_list.empty()) {
    return {{{"device_type", "gpu_device_id_list"},
             fmt::format("device_type = {} and gpu_device_id_list both name GPUs: set device_type "
                         "= cuda, or remove gpu_device_id_list",
                         p.device_type)}};
  }
  return {};
}

Conflict OfGradients(const P& p) {
  const int64_t bits = p.boosting.gradient_bits;
  if (bits == 0 || bits == 16 || bits == 32) return {};
  return {{{"gradient_bits"},
           fmt::format("gradient_bits: expected 16, 32, or 0 for the one that fits the data; "
                       "found {}",
                       bits)}};
}

Conflict OfGoss(const BoostingParameters& p, bool bags) {
  if (p.top_rate + p.other_rate > 1) {
    return {{{"top_rate", "other_rate"},
             fmt::format("top_rate + other_rate is {}: expected at most 1",
                         p.top_rate + p.other_rate)}};
  }
  if (!bags && !p.bagging_by_query) return {};
  return {{{"boosting", "data_sample_strategy", "bagging_freq", "bagging_by_query"},
           "goss and bagging exclude each other: remove one"}};
}

Conflict OfBagging(const P& p, bool balanced, bool bags) {
  if (balanced && bags && p.objective.name != "binary") {
    return {{{"pos_bagging_fraction", "neg_bagging_fraction", "objective"},
             "pos_bagging_fraction and neg_bagging_fraction need objective = binary"}};
  }
  if (balanced && bags && (p.boosting.bagging_fraction != 1 || p.boosting.bagging_by_query)) {
    return {
        {{"pos_bagging_fraction", "neg_bagging_fraction", "bagging_fraction", "bagging_by_query"},
         "pos_bagging_fraction and neg_bagging_fraction exclude bagging_fraction and "
         "bagging_by_query: remove one of them"}};
  }
  if (p.task.name == "train" && p.boosting.mode == "rf" && !bags &&
      p.growth.feature_fraction == 1) {
    return {{{"boosting"},
             "boosting = rf needs trees that differ: set bagging_freq and bagging_fraction, or "
             "feature_fraction"}};
  }
  return {};
}

Conflict OfSampling(const P& p) {
  const BoostingParameters& boosting = p.boosting;
  const bool balanced = boosting.pos_bagging_fraction != 1 || boosting.neg_bagging_fraction != 1;
  const bool bags = boosting.bagging_freq > 0 && (boosting.bagging_fraction != 1 || balanced);
  if (boosting.data_sample_strategy == "goss") return OfGoss(boosting, bags);
  return OfBagging(p, balanced, bags);
}

Conflict OfMonotoneConstraints(const P& p) {
  if (!p.growth.is_monotone()) return {};
  constexpr std::string_view kRenewed[] = {"regression_l1", "quantile", "mape"};
  if (std::ranges::count(kRenewed, p.objective.name) > 0) {
    return {{{"monotone_constraints", "objective"},
             fmt::format("monotone_constraints cannot be kept with objective = {}, which gives "
                         "leaves outputs of their own: remove one",
                         p.objective.name)}};
  }
  if (p.task.name == "refit") {
    return {
        {{"monotone_constraints"}, "monotone_constraints in task = refit is not supported yet"}};
  }
  if (p.growth.monotone_constraints_method != "basic") {
    if (p.boosting.renews_leaves()) {
      return {{{"monotone_constraints_method", "quant_train_renew_leaf"},
               fmt::format("monotone_constraints_method = {} bounds leaves by each other's "
                           "outputs, which quant_train_renew_leaf gives them anew: remove one",
                           p.growth.monotone_constraints_method)}};
    }
    if (p.machine.tree_learner == "voting") {
      return {{{"monotone_constraints_method", "tree_learner"},
               fmt::format("monotone_constraints_method = {} is not supported with tree_learner = "
                           "voting, whose ranks keep no sums of leaves to search them again: set "
                           "tree_learner = data",
                           p.growth.monotone_constraints_method)}};
    }
  }
  if (!p.growth.forcedsplits_filename.empty()) {
    return {{{"forcedsplits_filename", "monotone_constraints"},
             "forcedsplits_filename and monotone_constraints exclude each other, as a forced split "
             "may break a constraint: remove one"}};
  }
  return {};
}

Conflict OfGrowth(const P& p) {
  const auto sets = InteractionSets(p.growth.interaction_constraints);
  if (sets.ok()) return OfMonotoneConstraints(p);
  return {{{"interaction_constraints"}, std::string(sets.status().message())}};
}

Conflict OfTask(const P& p) {
  const bool measures_nothing =
      !p.metric.names.empty() && std::ranges::all_of(p.metric.names, [](const std::string& name) {
        return MeasuresNothing(CanonicalMetric(name));
      });
  if (p.task.name == "train" && p.patience() > 0 && measures_nothing) {
    return {{{"early_stopping_round", "metric"},
             fmt::format("early_stopping_round has nothing to go by with metric = {}: remove one",
                         p.metric.names.front())}};
  }
  if (p.task.name == "refit" && p.growth.rules.path_smooth > 0) {
    return {{{"path_smooth"}, "path_smooth in task = refit is not supported yet"}};
  }
  if (p.predict.raw_score + p.predict.leaf_index + p.predict.contributions > 1) {
    return {{{"predict_raw_score", "predict_leaf_index", "predict_contrib"},
             "predict_raw_score, predict_leaf_index and predict_contrib exclude each other: keep "
             "one"}};
  }
  if (p.predict.early_stop && (p.predict.leaf_index || p.predict.contributions)) {
    return {{{"pred_early_stop", "predict_leaf_index", "predict_contrib"},
             "pred_early_stop goes with scores, not with predict_leaf_index, predict_contrib"}};
  }
  return {};
}

}  // namespace

Conflict FindConflict(const P& parameters) {
  for (const auto find :
       {OfObjective, OfMetrics, OfDevice, OfGradients, OfSampling, OfGrowth, OfTask}) {
    if (Conflict conflict = find(parameters); conflict.has_value()) return conflict;
  }
  return {};
}

}  // namespace strata
