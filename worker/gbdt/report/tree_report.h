// The report of a training: what was learned from, how the metrics went, which features matter and
// where the time went, for programs (JSON) and for people (one HTML page that needs nothing else).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/gbdt/metric/metric.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

// What one feature is good for, over all trees.
struct FeatureImportance {
  std::string feature;
  uint64_t splits = 0;
  double gain = 0;
};
// Of the features that split, the most gain first.
std::vector<FeatureImportance> Importances(const TreeModel& model);

struct TreeReport {
  std::string title;
  std::vector<std::pair<std::string, std::string>> parameters;  // those that were set
  // "training", "valid_1", ... and their rows.
  std::vector<std::pair<std::string, uint64_t>> data;
  uint64_t features = 0;       // columns
  uint64_t used_features = 0;  // those that can be split
  uint64_t bins = 0;           // over all used features

  size_t rounds = 0;  // of the model
  size_t trees = 0;
  size_t leaves = 0;  // of all trees
  std::optional<size_t> best_round;
  double load_seconds = 0;                             // until the first round
  double train_seconds = 0;                            // rounds with their metrics
  std::vector<std::pair<std::string, double>> phases;  // name and seconds
  // After each round that was measured.
  std::vector<std::pair<size_t, std::vector<Evaluation>>> history;
  std::vector<FeatureImportance> importances;
};

// Values that are not finite are null.
std::string ReportJson(const TreeReport& report);
std::string ReportHtml(const TreeReport& report);

}  // namespace strata
