#include "worker/gbdt/lightgbm/idle_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "kernels/core/device_choice.h"

namespace strata {
namespace {

// One rule: what is set, whether it is without effect, and what it would need.
struct Idle {
  bool holds;
  std::string_view keys;
  std::string needs;
};

}  // namespace

std::vector<std::string> WhatHasNoEffect(const TreeParameters& p) {
  const ObjectiveParameters& objective = p.objective;
  const BoostingParameters& boosting = p.boosting;
  const MachineParameters& machine = p.machine;
  const Result<DeviceChoice> device = ParseDevice(machine.device_type);
  const bool on_cpu = device.ok() && device->kind == DeviceKind::kCpu;
  const bool takes_sides = objective.name == "binary" || objective.name == "multiclassova";
  const bool sides = boosting.pos_bagging_fraction != 1 || boosting.neg_bagging_fraction != 1;
  const bool bags = boosting.bagging_freq > 0 && (boosting.bagging_fraction != 1 || sides);
  const Idle rules[] = {
      {objective.reg_sqrt && objective.name != "regression", "reg_sqrt",
       fmt::format("objective = {}: it is for regression", objective.name)},
      {(objective.is_unbalance || objective.scale_pos_weight != 1) && !takes_sides,
       objective.is_unbalance ? "is_unbalance" : "scale_pos_weight",
       fmt::format("objective = {}: it is for binary and multiclassova", objective.name)},
      {machine.num_gpu > 1 && on_cpu, "num_gpu",
       fmt::format("device_type = {}: it is for cuda", machine.device_type)},
      {!machine.gpu_device_id_list.empty() && on_cpu, "gpu_device_id_list",
       fmt::format("device_type = {}: it is for cuda", machine.device_type)},
      {!machine.gpu_device_id_list.empty() && !on_cpu && machine.num_gpu == 1, "gpu_device_id_list",
       "num_gpu = 1: it is for several GPUs; device_type = cuda:N names one"},
      {boosting.bagging_freq == 0 && boosting.bagging_fraction != 1, "bagging_fraction",
       "bagging_freq = 0: set bagging_freq = 1 to draw rows"},
      {boosting.bagging_freq == 0 && sides, "pos_bagging_fraction or neg_bagging_fraction",
       "bagging_freq = 0: set bagging_freq = 1 to draw rows"},
      {boosting.bagging_by_query && !bags && boosting.data_sample_strategy == "bagging",
       "bagging_by_query", "all rows: set bagging_freq and bagging_fraction to draw queries"},
      {p.metric.early_stopping_round > 0 && p.patience() == 0, "early_stopping_round",
       "boosting = dart, which changes trees of earlier rounds"},
      {boosting.quant_train_renew_leaf && !boosting.renews_leaves(), "quant_train_renew_leaf",
       "use_quantized_grad = false"},
      {p.growth.monotone_penalty > 0 && !p.growth.is_monotone(), "monotone_penalty",
       "no monotone_constraints"},
      {!p.metric.auc_mu_weights.empty() && std::ranges::count(p.metric.names, "auc_mu") == 0,
       "auc_mu_weights", "other metrics: it is for auc_mu"}};
  std::vector<std::string> all;
  for (const Idle& rule : rules) {
    if (rule.holds) all.push_back(fmt::format("{} has no effect with {}", rule.keys, rule.needs));
  }
  return all;
}

}  // namespace strata
