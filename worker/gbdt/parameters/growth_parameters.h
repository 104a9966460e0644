// GrowthParameters: how one tree grows: its size, what its splits keep to, and which features they
// may be of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tree/split/split.h"

namespace strata {

struct GrowthParameters {
  std::string grow_policy = "lossguide";  // ours, by XGBoost's name
  int64_t num_leaves = 31;
  int64_t max_depth = -1;  // 0 or less: no bound
  SplitRules rules;

  double feature_fraction = 1;
  double feature_fraction_bynode = 1;
  int64_t feature_fraction_seed = 2;
  bool extra_trees = false;
  int64_t extra_seed = 6;

  // Of each feature; empty: nothing of any.
  std::vector<int64_t> monotone_constraints;  // -1, 0 or 1
  std::string monotone_constraints_method = "basic";
  double monotone_penalty = 0;
  std::vector<double> feature_contri;   // its gains are multiplied with
  std::string interaction_constraints;  // InteractionSets
  std::string forcedsplits_filename;

  bool is_monotone() const;
};

// The parameter for whose sake the host grows trees even with device = cuda, while a GPU has the
// rows; null: there is none.
const char* GrowsOnHost(const GrowthParameters& growth);

}  // namespace strata
