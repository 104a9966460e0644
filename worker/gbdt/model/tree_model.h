// TreeModel: trees and what is needed to use them elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "worker/gbdt/model/tree.h"

namespace strata {

struct TreeModel {
  size_t classes = 1;  // num_class of the objective
  size_t trees_per_iteration = 1;
  std::string objective;        // "binary sigmoid:1"; "": raw scores alone
  bool average_output = false;  // random forests: the mean of iterations, not their sum
  std::vector<std::string> feature_names;
  std::vector<std::string> feature_infos;  // "[min:max]", categories, or "none"
  std::vector<Tree> trees;                 // iteration by iteration, class by class within one
  std::vector<std::pair<std::string, std::string>> parameters;  // for the reader of the file

  size_t features() const { return feature_names.size(); }
  size_t iterations() const { return trees.size() / trees_per_iteration; }
};

// Sums of the trees of iterations [begin, end) for one row of all features' values into scores, one
// a tree of an iteration.
void PredictRaw(const TreeModel& model, std::span<const double> row, size_t begin, size_t end,
                std::span<double> scores);

// Raw scores into what the objective predicts (probabilities, counts), in place. kInvalid: an
// objective that is not known.
class OutputTransform {
 public:
  static Result<OutputTransform> Of(const TreeModel& model);
  void Apply(std::span<double> scores) const;

 private:
  enum class Kind : uint8_t { kNone, kSigmoid, kSoftmax, kExp, kSquare };
  Kind kind_ = Kind::kNone;
  double sigmoid_ = 1;
};

}  // namespace strata
