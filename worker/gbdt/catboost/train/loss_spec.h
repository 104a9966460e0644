// LossSpec: a loss with its parameters, as CatBoost writes them: "Quantile:alpha=0.3;delta=0.001".
// What CatBoost chooses by the loss is here, too (private/libs/options/catboost_options.cpp of its
// sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/status.h"

namespace strata {

enum class FitLoss : uint8_t {
  kRmse,
  kLogloss,
  kCrossEntropy,
  kMae,
  kQuantile,
  kMape,
  kPoisson,
  kTweedie,
  kHuber,
  kExpectile,
  kMultiClass,
  kMultiClassOneVsAll,
};

enum class LeafMethod : uint8_t {
  kNewton,
  kGradient,
  kExact,  // the constant with the least loss, which is a quantile
};

struct LossSpec {
  LossSpec() = default;
  LossSpec(FitLoss loss) : type(loss) {}  // NOLINT(google-explicit-constructor)

  FitLoss type = FitLoss::kRmse;
  double alpha = 0.5;           // of Quantile and Expectile: from 0 to 1
  double delta = 1e-6;          // of Quantile and MAE: errors up to it are none; of Huber: its bend
  double variance_power = 1.5;  // of Tweedie: between 1 and 2
  // The parameters that were given, in their order, as texts.
  std::vector<std::pair<std::string, std::string>> given;
};

// What the losses differ in.
struct LossFacts {
  FitLoss type = FitLoss::kRmse;
  std::string_view name;
  LeafMethod leaf_method = LeafMethod::kNewton;  // the default
  size_t newton_iterations = 1;                  // the default of a leaf; 0: there is no Newton
  size_t gradient_iterations = 1;
  bool starts_from_average = false;     // the default of boost_from_average
  bool may_start_from_average = false;  // whether boost_from_average may be true
};
const LossFacts& FactsOf(FitLoss loss);

std::string_view FitLossName(FitLoss loss);  // "RMSE"
std::string LossText(const LossSpec& loss);  // "Quantile:alpha=0.3"

// Whether it is a loss of two classes, or of their probabilities.
bool IsBinary(FitLoss loss);
// Whether labels are classes, whatever their texts are.
bool HasClasses(FitLoss loss);
// Whether there is an output for each class.
bool IsMultiClass(FitLoss loss);
// Whether it has an Exact leaf, which is a quantile, and no second derivative.
bool IsQuantileLike(FitLoss loss);

// Reads "name" or "name:parameter=number;parameter=number". kInvalid: no loss of this name, a
// parameter that it lacks or does not have, or a number outside of its bounds.
Result<LossSpec> ParseLoss(std::string_view text);

}  // namespace strata
