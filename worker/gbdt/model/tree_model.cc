#include "worker/gbdt/model/tree_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kernels/core/math.h"

namespace strata {
namespace {

// "sigmoid:" of "binary sigmoid:1"; 1 where it is not given.
Result<double> SigmoidOf(const std::string& objective) {
  const size_t at = objective.find("sigmoid:");
  if (at == std::string::npos) return 1.0;
  const char* const begin = objective.data() + at + 8;
  double value = 0;
  const auto [end, error] = std::from_chars(begin, objective.data() + objective.size(), value);
  if (error != std::errc() || !(value > 0)) {
    return Invalid(
        fmt::format("objective '{}': expected a number above 0 behind sigmoid:", objective));
  }
  return value;
}

}  // namespace

void PredictRaw(const TreeModel& model, std::span<const double> row, size_t begin, size_t end,
                std::span<double> scores) {
  std::ranges::fill(scores, 0.0);
  const size_t classes = model.trees_per_iteration;
  for (size_t i = begin; i < end; ++i) {
    for (size_t k = 0; k < classes; ++k) {
      const Tree& tree = model.trees[i * classes + k];
      scores[k] += tree.leaves[tree.LeafOf(row)].value;
    }
  }
  if (!model.average_output || end == begin) return;
  for (double& score : scores) score /= static_cast<double>(end - begin);
}

Result<OutputTransform> OutputTransform::Of(const TreeModel& model) {
  const std::string name = model.objective.substr(0, model.objective.find(' '));
  OutputTransform transform;
  if (name == "binary" || name == "multiclassova" || name == "cross_entropy") {
    transform.kind_ = Kind::kSigmoid;
    STRATA_ASSIGN(transform.sigmoid_, SigmoidOf(model.objective));
  } else if (name == "multiclass") {
    transform.kind_ = Kind::kSoftmax;
  } else if (name == "poisson" || name == "gamma" || name == "tweedie") {
    transform.kind_ = Kind::kExp;
  } else if (name == "regression" && model.objective.find(" sqrt") != std::string::npos) {
    transform.kind_ = Kind::kSquare;
  } else if (!name.empty() && name != "regression" && name != "regression_l1" && name != "huber" &&
             name != "fair" && name != "quantile" && name != "mape" && name != "lambdarank" &&
             name != "rank_xendcg" && name != "custom" && name != "none") {
    return Invalid(fmt::format("objective '{}' is not known: predictions could only be raw scores",
                               model.objective));
  }
  return transform;
}

void OutputTransform::Apply(std::span<double> scores) const {
  switch (kind_) {
    case Kind::kNone:
      return;
    case Kind::kSigmoid:
      for (double& score : scores) score = math::Sigmoid(sigmoid_ * score);
      return;
    case Kind::kExp:
      for (double& score : scores) score = math::Exp(score);
      return;
    case Kind::kSquare:
      for (double& score : scores) score = score < 0 ? -score * score : score * score;
      return;
    case Kind::kSoftmax: {
      const double largest = *std::ranges::max_element(scores);
      double sum = 0;
      for (double& score : scores) sum += score = math::Exp(score - largest);
      for (double& score : scores) score /= sum;
      return;
    }
  }
}

}  // namespace strata
