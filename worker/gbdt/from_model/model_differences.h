// Where parameters and a saved model say different things of what the model's scores mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// One parameter: its name, the model's value and the given one.
struct ModelDifference {
  std::string_view parameter;
  std::string of_model;
  std::string given;
};

// Those of objective, num_class, sigmoid, reg_sqrt and boosting that differ, in this order.
// Defaults of parameters count as given.
std::vector<ModelDifference> DifferencesFrom(const TreeModel& model, const TreeParameters& p);

// kInvalid: one of them was set to another value than the model's. Who applies a model seldom sets
// them, so that defaults do not count; nor does the objective of a model that says none.
Status CheckNoneContradicts(const TreeModel& model, const TreeParameters& p);

}  // namespace strata
