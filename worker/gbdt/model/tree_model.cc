#include "worker/gbdt/model/tree_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/core/math.h"

namespace strata {
Result<double> TreeModel::Sigmoid() const {
  const size_t at = objective.find("sigmoid:");
  if (at == std::string::npos) return 1.0;
  const char* const begin = objective.data() + at + 8;
  double value = 0;
  const auto [end, error] = std::from_chars(begin, objective.data() + objective.size(), value);
  if (error != std::errc() || !(value > 0) || !std::isfinite(value)) {
    return Invalid(
        fmt::format("objective '{}': expected a number above 0 behind sigmoid:", objective));
  }
  return value;
}

Result<OutputTransform> OutputTransform::Of(const TreeModel& model) {
  const std::string name = model.ObjectiveName();
  OutputTransform transform;
  if (name == "binary" || name == "multiclassova" || name == "cross_entropy") {
    transform.kind_ = Kind::kSigmoid;
    STRATA_ASSIGN(transform.sigmoid_, model.Sigmoid());
  } else if (name == "multiclass") {
    transform.kind_ = Kind::kSoftmax;
  } else if (name == "poisson" || name == "gamma" || name == "tweedie") {
    transform.kind_ = Kind::kExp;
  } else if (name == "cross_entropy_lambda") {
    transform.kind_ = Kind::kSoftplus;
  } else if (model.objective.find(" sqrt") != std::string::npos) {
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
    case Kind::kSoftplus:
      for (double& score : scores) score = math::Softplus(score);
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
