// TreeParameters: all that boosted trees are told, cut by what it governs. Who needs one part
// includes that part's header alone.
//
// Members are named as LightGBM names its parameters, where it has a name that says what they are.
// Which names people may write, other names of them and rules that concern several of them are in a
// folder of their own (lightgbm/): those of another program stand beside it, over the same parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/gbdt/parameters/boosting_parameters.h"
#include "worker/gbdt/parameters/data_parameters.h"
#include "worker/gbdt/parameters/growth_parameters.h"
#include "worker/gbdt/parameters/machine_parameters.h"
#include "worker/gbdt/parameters/metric_parameters.h"
#include "worker/gbdt/parameters/objective_parameters.h"
#include "worker/gbdt/parameters/predict_parameters.h"
#include "worker/gbdt/parameters/task_parameters.h"

namespace strata {

struct TreeParameters {
  TaskParameters task;
  DataParameters data;
  ObjectiveParameters objective;
  MetricParameters metric;
  BoostingParameters boosting;
  GrowthParameters growth;
  MachineParameters machine;
  PredictParameters predict;

  int64_t seed = 0;  // if it is set, the seeds of the parts follow from it

  std::vector<std::string> warnings;  // of what was given and has no effect

  // "key: value" of all that was set, for model files.
  std::vector<std::pair<std::string, std::string>> set;

  // Rounds that are no better and end training; 0: none do. DART changes trees of earlier rounds.
  int64_t patience() const {
    return boosting.mode == "dart" ? 0 : std::max<int64_t>(0, metric.early_stopping_round);
  }
};

}  // namespace strata
