// What trains trees on the arrays of suite "trees": ours in this process, LightGBM in its own.
#pragma once

#include <string>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata::bench {

// One training from files to predictions.
struct TreeRun {
  std::string name;              // "lightgbm 4.7.0"
  double construct_seconds = 0;  // reading and binning; LightGBM's arrays are in memory already
  double train_seconds = 0;
  double predict_seconds = 0;  // of the test rows
  double auc = 0;              // of the test rows, labels above 0 against others; one score a row
  TreeModel model = {};        // ours
};

// Arrays of WriteTreeArrays in `folder`, LightGBM's parameters as "key=value"; num_iterations and
// num_threads are among them. With is_provide_training_metric, metrics of each round are part of
// the training.
Result<TreeRun> RunOurTrees(const std::string& folder, const std::vector<std::string>& parameters);
// Seconds from the rows of such an array to what `model` predicts of them, on the parameters'
// device.
Result<double> PredictByOurs(const TreeModel& model, const std::string& path,
                             const std::vector<std::string>& parameters);
// By its Python package, in a process of its own. kNotFound: it is not installed.
Result<TreeRun> RunLightGbm(const std::string& folder, const std::vector<std::string>& parameters);

}  // namespace strata::bench
