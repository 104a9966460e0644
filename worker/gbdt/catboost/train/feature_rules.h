// FeatureRules: what a training should do with single features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/split_choice.h"

namespace strata {

// Numbers of features, each by its index or its name, as parameters give them.
using FeatureNumbers = std::vector<std::pair<std::string, double>>;

struct FeatureRules {
  FeatureNumbers weights;              // what its splits gain is multiplied by: at least 0
  FeatureNumbers first_use_penalties;  // its scores lose until a tree uses it: at least 0
  double penalties_coefficient = 1;    // penalties are multiplied by
  FeatureNumbers directions;           // 1: predictions may not fall with it; -1: not rise; 0: free
  // Nothing is learned from them: indices, ranges of indices ("3-5") and names.
  std::vector<std::string> ignored;
};

// The directions by the model's features, in the order of its data, 0 for those without one. A text
// that is a name counts as one, even if it could be an index. kInvalid: a feature is not there, or
// a category has a direction; the parameter is named.
Result<std::vector<double>> Directions(const FeatureRules& rules, const CatBoostModel& model);

// Takes borders and values of ignored features from a model whose splits are not listed yet, and
// takes them out of the categories that have statistics, so that no split is of them. kInvalid: a
// feature is not there.
Status IgnoreFeatures(const FeatureRules& rules, CatBoostModel* model,
                      std::vector<uint32_t>* with_statistics);

// The rules of a training's columns, which change as trees use features. One thread.
class ColumnRules {
 public:
  // kInvalid: a feature is not there.
  static Result<ColumnRules> Make(const FeatureRules& rules, const CatBoostModel& model);

  // Whether a feature has a rule. Of and Use are for rules that are active.
  bool is_active() const { return !weights_.empty(); }
  // Of a column that is made of these features, by their places in the data: weights multiply, and
  // penalties add up.
  ColumnRule Of(std::span<const uint32_t> features) const;
  // A tree splits by such a column: its features have no penalty from now on.
  void Use(std::span<const uint32_t> features);

 private:
  // By feature.
  std::vector<double> weights_;
  std::vector<double> penalties_;
};

}  // namespace strata
