#include "worker/gbdt/catboost/train/class_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_text.h"

namespace strata {
namespace {

Result<std::vector<float>> BalancedWeights(bool is_root, const LearnRows& rows) {
  const std::vector<uint32_t>& classes = rows.classes.of_outputs;
  std::vector<double> sums(classes.size());
  for (size_t row = 0; row < rows.rows(); ++row) {
    sums[static_cast<size_t>(rows.labels[row])] += rows.weights[row];
  }
  for (size_t k = 0; k < sums.size(); ++k) {
    sums[k] = std::floor(sums[k]);
    if (sums[k] >= 1) continue;
    return Invalid(
        fmt::format("auto_class_weights: expected weights of the rows of class '{}' that add up to "
                    "1 or more: use class_weights",
                    ShownBytes(rows.classes.names[classes[k]])));
  }
  const double most = *std::ranges::max_element(sums);
  std::vector<float> weights;
  for (const double sum : sums) {
    // CatBoost divides and takes the root in floats.
    const float ratio = static_cast<float>(most) / static_cast<float>(sum);
    weights.push_back(is_root ? std::sqrt(ratio) : ratio);
  }
  return weights;
}

}  // namespace

Result<std::vector<float>> ClassWeights(const FitParameters& parameters, const LearnRows& learned) {
  if (parameters.auto_class_weights != AutoClassWeights::kNone) {
    return BalancedWeights(parameters.auto_class_weights == AutoClassWeights::kSqrtBalanced,
                           learned);
  }
  const std::vector<float>& given = parameters.class_weights;
  if (given.empty()) return given;
  if (given.size() != learned.classes.names.size()) {
    return Invalid(fmt::format("class_weights: expected {} weights, one a class ({}), found {}",
                               learned.classes.names.size(), ShownClasses(learned.classes.names),
                               given.size()));
  }
  std::vector<float> weights;
  for (const uint32_t of : learned.classes.of_outputs) weights.push_back(given[of]);
  return weights;
}

Status WeighRows(std::span<const float> of_outputs, LearnRows* rows) {
  if (of_outputs.empty()) return {};
  bool is_any = false;
  for (size_t row = 0; row < rows->rows(); ++row) {
    float& weight = rows->weights[row];
    const float before = weight;
    weight *= of_outputs[static_cast<size_t>(rows->labels[row])];
    is_any = is_any || weight > 0;
    if (std::isfinite(weight)) continue;
    return Invalid(fmt::format("a row's weight {} times {} of its class is above all floats",
                               before, of_outputs[static_cast<size_t>(rows->labels[row])]));
  }
  return is_any ? Status() : Invalid("all weights of rows times those of their classes are 0");
}

}  // namespace strata
