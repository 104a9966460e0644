#include "worker/gbdt/catboost/train/model_info.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace strata {
namespace {

using Json = nlohmann::json;

// The loss under its name, with its parameters as texts and their order.
Json LossJson(const LossSpec& loss) {
  Json params = Json::object();
  Json order = Json::array();
  for (const auto& [name, value] : loss.given) {
    params[name] = value;
    order.push_back(name);
  }
  if (!order.empty()) params["__params_key_order"] = order.dump();
  return {{"type", FitLossName(loss.type)}, {"params", std::move(params)}};
}

}  // namespace

void DescribeModel(const LossSpec& loss, CatBoostModel* model) {
  model->loss = FitLossName(loss.type);
  Json info;
  info["params"]["loss_function"] = LossJson(loss);
  if (IsBinary(loss.type)) {
    auto names = Json::array();
    if (loss.type == FitLoss::kLogloss) names = {0, 1};
    info["class_params"] = {{"class_label_type", "Integer"},
                            {"class_names", std::move(names)},
                            {"class_to_label", {0, 1}},
                            {"classes_count", 0}};
    model->class_labels = {"0", "1"};
  }
  model->info = info.dump();
}

}  // namespace strata
