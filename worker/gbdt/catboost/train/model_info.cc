#include "worker/gbdt/catboost/train/model_info.h"

#include <nlohmann/json.hpp>
#include <string>
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

// The classes' names as integers where all of them are, as CatBoost has them from arrays.
Json ClassesJson(const ClassLabels& classes) {
  const bool are_integers = AreIntegers(classes.names);
  Json names = Json::array();
  if (!classes.are_counted) {
    for (const std::string& name : classes.names) {
      names.push_back(are_integers ? Json(std::stoi(name)) : Json(name));
    }
  }
  return {{"class_label_type", are_integers ? "Integer" : "String"},
          {"class_names", std::move(names)},
          {"class_to_label", classes.of_outputs},
          {"classes_count", classes.are_counted ? classes.names.size() : 0}};
}

}  // namespace

void DescribeModel(const LossSpec& loss, const ClassLabels& classes, CatBoostModel* model) {
  model->loss = FitLossName(loss.type);
  Json info;
  info["params"]["loss_function"] = LossJson(loss);
  // What get_params() says of a loaded model; without it CatBoost warns of invalid parameters.
  info["params"]["flat_params"] = {{"loss_function", LossText(loss)}};
  if (loss.type == FitLoss::kCrossEntropy) {
    info["class_params"] = ClassesJson({.names = {}, .of_outputs = {0, 1}});
    model->class_labels = {"0", "1"};
  } else if (HasClasses(loss.type)) {
    info["class_params"] = ClassesJson(classes);
    model->class_labels = classes.names;
    if (IsMultiClass(loss.type)) {
      model->outputs = classes.of_outputs.size();
      model->class_of_output = classes.of_outputs;
    }
  }
  model->info = info.dump();
}

}  // namespace strata
