// What a tree task has to say in the end, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "worker/tasks/trees/tree_task.h"

namespace strata {

// A table of names and values.
std::string TreeResultText(const TreeTaskResult& result);
// One object, without a line end.
std::string TreeResultJson(const TreeTaskResult& result);

// By data set, and of the first validation set (without one, of the training data) without its name
// too: {"auc": 0.9, "training": {"auc": 0.95}, "valid_1": {"auc": 0.9}}.
nlohmann::ordered_json MetricsJson(const std::vector<Evaluation>& evaluations);

}  // namespace strata
