#include "worker/gbdt/catboost/train/loss_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

constexpr LossFacts kLossFacts[] = {
    {.type = FitLoss::kRmse,
     .name = "RMSE",
     .starts_from_average = true,
     .may_start_from_average = true},
    {.type = FitLoss::kLogloss,
     .name = "Logloss",
     .newton_iterations = 10,
     .gradient_iterations = 40,
     .may_start_from_average = true},
    {.type = FitLoss::kCrossEntropy,
     .name = "CrossEntropy",
     .newton_iterations = 10,
     .gradient_iterations = 40,
     .may_start_from_average = true},
    {.type = FitLoss::kMae,
     .name = "MAE",
     .leaf_method = LeafMethod::kExact,
     .newton_iterations = 0,
     .starts_from_average = true,
     .may_start_from_average = true},
    {.type = FitLoss::kQuantile,
     .name = "Quantile",
     .leaf_method = LeafMethod::kExact,
     .newton_iterations = 0,
     .starts_from_average = true,
     .may_start_from_average = true},
    {.type = FitLoss::kMape,
     .name = "MAPE",
     .leaf_method = LeafMethod::kExact,
     .newton_iterations = 0,
     .starts_from_average = true,
     .may_start_from_average = true},
    {.type = FitLoss::kPoisson, .name = "Poisson", .newton_iterations = 10},
    {.type = FitLoss::kTweedie, .name = "Tweedie"},
    {.type = FitLoss::kHuber, .name = "Huber"},
    {.type = FitLoss::kExpectile,
     .name = "Expectile",
     .newton_iterations = 5,
     .gradient_iterations = 10},
    {.type = FitLoss::kMultiClass, .name = "MultiClass", .gradient_iterations = 10},
    {.type = FitLoss::kMultiClassOneVsAll, .name = "MultiClassOneVsAll", .gradient_iterations = 10},
};

// A number that a loss is given, and its bounds.
struct LossParameter {
  FitLoss loss = FitLoss::kRmse;
  std::string_view name;
  double LossSpec::*value = nullptr;
  double min = 0;
  double max = 1;
  bool is_open = false;  // the bounds themselves are outside
  bool is_required = false;
};

constexpr LossParameter kParameters[] = {
    {.loss = FitLoss::kQuantile, .name = "alpha", .value = &LossSpec::alpha},
    {.loss = FitLoss::kQuantile, .name = "delta", .value = &LossSpec::delta, .max = 0.01},
    {.loss = FitLoss::kExpectile, .name = "alpha", .value = &LossSpec::alpha, .is_required = true},
    {.loss = FitLoss::kHuber,
     .name = "delta",
     .value = &LossSpec::delta,
     .max = 1e30,
     .is_required = true},
    {.loss = FitLoss::kTweedie,
     .name = "variance_power",
     .value = &LossSpec::variance_power,
     .min = 1,
     .max = 2,
     .is_open = true,
     .is_required = true},
};

std::string NamesOfLosses() {
  std::string names;
  for (const LossFacts& facts : kLossFacts) {
    names += names.empty() ? "" : ", ";
    names += facts.name;
  }
  return names;
}

std::string NamesOfParameters(FitLoss loss) {
  std::string names;
  for (const LossParameter& parameter : kParameters) {
    if (parameter.loss != loss) continue;
    names += names.empty() ? "" : ", ";
    names += parameter.name;
  }
  return names.empty() ? "none" : names;
}

// Reads "parameter=number" into the loss.
Status ReadParameter(std::string_view word, LossSpec* loss) {
  const size_t at = word.find('=');
  const std::string_view name = word.substr(0, at);
  const auto* const known = std::ranges::find_if(kParameters, [&](const LossParameter& parameter) {
    return parameter.loss == loss->type && parameter.name == name;
  });
  if (known == std::end(kParameters) || at == std::string_view::npos) {
    return Invalid(fmt::format("{}: expected parameter=number of its parameters ({}), found '{}'",
                               FitLossName(loss->type), NamesOfParameters(loss->type),
                               ShownBytes(word)));
  }
  if (std::ranges::any_of(loss->given, [&](const auto& item) { return item.first == name; })) {
    return Invalid(
        fmt::format("{}: {} is given twice: give it once", FitLossName(loss->type), name));
  }
  const std::string_view text = word.substr(at + 1);
  double value = 0;
  const bool is_number = ReadNumber(text, &value);
  const bool is_inside = known->is_open ? value > known->min && value < known->max
                                        : value >= known->min && value <= known->max;
  if (!is_number || !is_inside) {
    return Invalid(fmt::format("{}: {}: expected a number {} {} and {} {}, found '{}'",
                               FitLossName(loss->type), name,
                               known->is_open ? "above" : "of at least", known->min,
                               known->is_open ? "below" : "at most", known->max, ShownBytes(text)));
  }
  loss->*known->value = value;
  loss->given.emplace_back(name, text);
  return {};
}

Status CheckRequired(const LossSpec& loss) {
  for (const LossParameter& parameter : kParameters) {
    if (parameter.loss != loss.type || !parameter.is_required) continue;
    if (std::ranges::any_of(loss.given,
                            [&](const auto& item) { return item.first == parameter.name; })) {
      continue;
    }
    return Invalid(fmt::format("{0} lacks {1}: expected {0}:{1}=NUMBER", FitLossName(loss.type),
                               parameter.name));
  }
  return {};
}

}  // namespace

const LossFacts& FactsOf(FitLoss loss) {
  return *std::ranges::find(kLossFacts, loss, &LossFacts::type);
}

std::string_view FitLossName(FitLoss loss) { return FactsOf(loss).name; }

std::string LossText(const LossSpec& loss) {
  std::string text(FitLossName(loss.type));
  for (size_t i = 0; i < loss.given.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? ':' : ';', loss.given[i].first, loss.given[i].second);
  }
  return text;
}

bool IsBinary(FitLoss loss) { return loss == FitLoss::kLogloss || loss == FitLoss::kCrossEntropy; }

bool HasClasses(FitLoss loss) { return loss == FitLoss::kLogloss || IsMultiClass(loss); }

bool IsMultiClass(FitLoss loss) {
  return loss == FitLoss::kMultiClass || loss == FitLoss::kMultiClassOneVsAll;
}

bool IsQuantileLike(FitLoss loss) { return FactsOf(loss).leaf_method == LeafMethod::kExact; }

Result<LossSpec> ParseLoss(std::string_view text) {
  const size_t colon = text.find(':');
  const auto* const known = std::ranges::find(kLossFacts, text.substr(0, colon), &LossFacts::name);
  if (known == std::end(kLossFacts)) {
    return Invalid(fmt::format("expected one of {}, found '{}'", NamesOfLosses(),
                               ShownBytes(text.substr(0, colon))));
  }
  LossSpec loss = known->type;
  if (colon != std::string_view::npos) {
    std::string_view rest = text.substr(colon + 1);
    while (true) {
      const size_t end = rest.find(';');
      STRATA_TRY(ReadParameter(rest.substr(0, end), &loss));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
  }
  STRATA_TRY(CheckRequired(loss));
  return loss;
}

}  // namespace strata
