#include "worker/gbdt/idle_parameters.h"

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
  const Result<DeviceChoice> device = ParseDevice(p.device_type);
  const bool on_cpu = device.ok() && device->kind == DeviceKind::kCpu;
  const bool takes_sides = p.objective == "binary" || p.objective == "multiclassova";
  const bool sides = p.pos_bagging_fraction != 1 || p.neg_bagging_fraction != 1;
  const bool bags = p.bagging_freq > 0 && (p.bagging_fraction != 1 || sides);
  const auto is_constraint = [](int64_t way) { return way != 0; };
  const Idle rules[] = {
      {p.reg_sqrt && p.objective != "regression", "reg_sqrt",
       fmt::format("objective = {}: it is for regression", p.objective)},
      {(p.is_unbalance || p.scale_pos_weight != 1) && !takes_sides,
       p.is_unbalance ? "is_unbalance" : "scale_pos_weight",
       fmt::format("objective = {}: it is for binary and multiclassova", p.objective)},
      {p.num_gpu > 1 && on_cpu, "num_gpu",
       fmt::format("device_type = {}: it is for cuda", p.device_type)},
      {!p.gpu_device_id_list.empty() && on_cpu, "gpu_device_id_list",
       fmt::format("device_type = {}: it is for cuda", p.device_type)},
      {!p.gpu_device_id_list.empty() && !on_cpu && p.num_gpu == 1, "gpu_device_id_list",
       "num_gpu = 1: it is for several GPUs; device_type = cuda:N names one"},
      {p.bagging_freq == 0 && p.bagging_fraction != 1, "bagging_fraction",
       "bagging_freq = 0: set bagging_freq = 1 to draw rows"},
      {p.bagging_freq == 0 && sides, "pos_bagging_fraction or neg_bagging_fraction",
       "bagging_freq = 0: set bagging_freq = 1 to draw rows"},
      {p.bagging_by_query && !bags && p.data_sample_strategy == "bagging", "bagging_by_query",
       "all rows: set bagging_freq and bagging_fraction to draw queries"},
      {p.early_stopping_round > 0 && p.patience() == 0, "early_stopping_round",
       "boosting = dart, which changes trees of earlier rounds"},
      {p.quant_train_renew_leaf && !p.renews_leaves(), "quant_train_renew_leaf",
       "use_quantized_grad = false"},
      {p.monotone_penalty > 0 && std::ranges::none_of(p.monotone_constraints, is_constraint),
       "monotone_penalty", "no monotone_constraints"},
      {!p.auc_mu_weights.empty() && std::ranges::count(p.metrics, "auc_mu") == 0, "auc_mu_weights",
       "other metrics: it is for auc_mu"}};
  std::vector<std::string> all;
  for (const Idle& rule : rules) {
    if (rule.holds) all.push_back(fmt::format("{} has no effect with {}", rule.keys, rule.needs));
  }
  return all;
}

}  // namespace strata
