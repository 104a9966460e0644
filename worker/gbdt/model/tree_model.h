// TreeModel: trees and what is needed to use them elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/model/tree.h"

namespace strata {

struct TreeModel {
  size_t classes = 1;  // num_class of the objective: how many scores a row has
  // A multiple of classes: more where a round of XGBoost has parallel trees. Tree t is of class
  // t % classes.
  size_t trees_per_iteration = 1;
  std::string objective;  // "binary sigmoid:1"; "": raw scores alone
  // The loss of another library that the trees were grown for, where `objective` predicts the same
  // but has another loss; "": that of `objective`.
  std::string foreign_loss;
  // Random forests: what is predicted comes from the mean over iterations. Raw scores are sums all
  // the same, as LightGBM has it.
  bool average_output = false;
  std::vector<std::string> feature_names;
  std::vector<std::string> feature_infos;     // "[min:max]", categories, or "none"
  std::vector<int32_t> monotone_constraints;  // of each feature: -1, 0 or 1; empty: none
  std::vector<Tree> trees;                    // iteration by iteration
  std::vector<std::pair<std::string, std::string>> parameters;  // for the reader of the file
  std::string pandas_categorical;  // JSON that LightGBM's Python package keeps in the last line

  size_t features() const { return feature_names.size(); }
  size_t iterations() const { return trees.size() / trees_per_iteration; }
  // "binary" of "binary sigmoid:1".
  std::string ObjectiveName() const { return objective.substr(0, objective.find(' ')); }
  // Behind "sigmoid:"; 1 where it is not given. kInvalid: no number above 0.
  Result<double> Sigmoid() const;

  bool operator==(const TreeModel&) const = default;
};

// Scores into what the objective predicts (probabilities, counts), in place. kInvalid: an objective
// that is not known.
class OutputTransform {
 public:
  static Result<OutputTransform> Of(const TreeModel& model);
  void Apply(std::span<double> scores) const;

  enum class Kind : uint8_t { kNone, kSigmoid, kSoftmax, kExp, kSoftplus, kSquare };
  Kind kind() const { return kind_; }
  double sigmoid() const { return sigmoid_; }

 private:
  Kind kind_ = Kind::kNone;
  double sigmoid_ = 1;  // of kSigmoid
};

}  // namespace strata
