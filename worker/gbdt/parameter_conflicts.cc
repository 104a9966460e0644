#include "worker/gbdt/parameter_conflicts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/growth_parameters.h"
#include "worker/gbdt/metric_names.h"

namespace strata {
namespace {

using Conflict = std::optional<ParameterConflict>;
using P = TreeParameters;

bool IsMulticlass(const P& p) {
  return p.objective == "multiclass" || p.objective == "multiclassova";
}

Conflict OfObjective(const P& p) {
  const bool multiclass = IsMulticlass(p);
  if (multiclass && p.num_class < 2) {
    return {{{"objective", "num_class"},
             fmt::format("objective = {} needs num_class of at least 2", p.objective)}};
  }
  if (!multiclass && p.num_class != 1) {
    return {{{"num_class", "objective"},
             fmt::format("num_class = {} has no effect on objective = {}: remove it", p.num_class,
                         p.objective)}};
  }
  if (p.is_unbalance && p.scale_pos_weight != 1) {
    return {{{"is_unbalance", "scale_pos_weight"},
             "is_unbalance and scale_pos_weight exclude each other: remove one"}};
  }
  if (p.objective == "quantile" && p.alpha >= 1) {
    return {{{"alpha"}, "alpha: expected below 1 for quantile"}};
  }
  return {};
}

// Of evaluate the model says the objective.
Conflict OfMetrics(const P& p) {
  for (const std::string& asked : p.metrics) {
    const std::string name = CanonicalMetric(asked);
    if (MeasuresNothing(name)) continue;
    if (!IsMetric(name)) {
      return {{{"metric"},
               fmt::format("metric = {}: not known: expected some of {}, none", ShownBytes(asked),
                           MetricNames())}};
    }
    const bool fits_any = name == "accuracy" || name == "ndcg" || name == "map";
    if (p.task == "train" && !fits_any && IsMetricOfClasses(name) != IsMulticlass(p)) {
      return {{{"metric", "objective"},
               fmt::format("metric = {} does not fit objective = {} with num_class = {}", asked,
                           p.objective, p.num_class)}};
    }
  }
  return {};
}

Conflict OfDevice(const P& p) {
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
  if (p.gradient_bits != 0 && p.gradient_bits != 16 && p.gradient_bits != 32) {
    return {{{"gradient_bits"},
             fmt::format("gradient_bits: expected 16, 32, or 0 for the one that fits the data; "
                         "found {}",
                         p.gradient_bits)}};
  }
  return {};
}

Conflict OfGoss(const P& p, bool bags) {
  if (p.data_sample_strategy != "goss") return {};
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
  if (balanced && bags && p.objective != "binary") {
    return {{{"pos_bagging_fraction", "neg_bagging_fraction", "objective"},
             "pos_bagging_fraction and neg_bagging_fraction need objective = binary"}};
  }
  if (balanced && bags && (p.bagging_fraction != 1 || p.bagging_by_query)) {
    return {
        {{"pos_bagging_fraction", "neg_bagging_fraction", "bagging_fraction", "bagging_by_query"},
         "pos_bagging_fraction and neg_bagging_fraction exclude bagging_fraction and "
         "bagging_by_query: remove one of them"}};
  }
  if (p.task == "train" && p.boosting == "rf" && !bags && p.feature_fraction == 1) {
    return {{{"boosting"},
             "boosting = rf needs trees that differ: set bagging_freq and bagging_fraction, or "
             "feature_fraction"}};
  }
  return {};
}

Conflict OfSampling(const P& p) {
  const bool balanced = p.pos_bagging_fraction != 1 || p.neg_bagging_fraction != 1;
  const bool bags = p.bagging_freq > 0 && (p.bagging_fraction != 1 || balanced);
  if (p.data_sample_strategy == "goss") return OfGoss(p, bags);
  return OfBagging(p, balanced, bags);
}

Conflict OfTask(const P& p) {
  const bool measures_nothing =
      !p.metrics.empty() && std::ranges::all_of(p.metrics, [](const std::string& name) {
        return MeasuresNothing(CanonicalMetric(name));
      });
  if (p.task == "train" && p.patience() > 0 && measures_nothing) {
    return {{{"early_stopping_round", "metric"},
             fmt::format("early_stopping_round has nothing to go by with metric = {}: remove one",
                         p.metrics.front())}};
  }
  if (p.task == "refit" && p.rules.path_smooth > 0) {
    return {{{"path_smooth"}, "path_smooth in task = refit is not supported yet"}};
  }
  if (p.predict_raw_score + p.predict_leaf_index + p.predict_contrib > 1) {
    return {{{"predict_raw_score", "predict_leaf_index", "predict_contrib"},
             "predict_raw_score, predict_leaf_index and predict_contrib exclude each other: keep "
             "one"}};
  }
  if (p.pred_early_stop && (p.predict_leaf_index || p.predict_contrib)) {
    return {{{"pred_early_stop", "predict_leaf_index", "predict_contrib"},
             "pred_early_stop goes with scores, not with predict_leaf_index, predict_contrib"}};
  }
  return {};
}

}  // namespace

Conflict FindConflict(const P& parameters) {
  for (const auto find : {OfObjective, OfMetrics, OfDevice, OfSampling, GrowthConflict, OfTask}) {
    if (Conflict conflict = find(parameters); conflict.has_value()) return conflict;
  }
  return {};
}

}  // namespace strata
