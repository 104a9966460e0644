#include "worker/tasks/catboost/fit_class_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"
#include "worker/gbdt/catboost/train/class_labels.h"
#include "worker/tasks/catboost/option_reading.h"

namespace strata {
namespace {

constexpr std::string_view kWeights = "class_weights";
constexpr std::string_view kAuto = "auto_class_weights";

// Those of the parameters that are set. kInvalid: there are several, or the loss has no classes.
Result<std::string_view> OneWeighting(const Settings& settings, FitLoss loss) {
  std::string_view found;
  for (const std::string_view key : {kWeights, std::string_view("scale_pos_weight"), kAuto}) {
    if (!settings.IsSet(key) || (key == kAuto && settings.Text(key) == "None")) continue;
    if (!found.empty()) {
      return Invalid(fmt::format("{} and {} exclude each other: give one of them", found, key));
    }
    found = key;
    if (!HasClasses(loss)) {
      return Invalid(fmt::format("{}: {} is for losses of classes, and {} has none: remove it",
                                 settings.Origin(key), key, FitLossName(loss)));
    }
  }
  return found;
}

Status CheckNames(const std::vector<std::string>& names, const std::string& where) {
  if (names.size() > kFitClassesMax) {
    return Invalid(fmt::format("{}: expected up to {} classes, found {}", where, kFitClassesMax,
                               names.size()));
  }
  if (const auto wrong = std::ranges::find_if_not(names, IsUtf8); wrong != names.end()) {
    return Invalid(
        fmt::format("{}: expected texts in UTF-8, found '{}'", where, ShownBytes(*wrong)));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return Invalid(fmt::format("{}: '{}' is there twice", where, ShownBytes(*twice)));
  }
  return {};
}

// "1" or "name:1".
struct ClassWeight {
  std::string name;  // empty: none is given
  float weight = 0;
};

Result<std::vector<ClassWeight>> ReadClassWeights(const Settings& settings) {
  std::vector<ClassWeight> weights;
  for (const std::string& text : settings.TextList(kWeights)) {
    const size_t colon = text.rfind(':');
    const bool has_name = colon != std::string::npos;
    ClassWeight& of = weights.emplace_back();
    if (has_name) of.name = text.substr(0, colon);
    if (ReadNumber(std::string_view(text).substr(has_name ? colon + 1 : 0), &of.weight) &&
        of.weight >= 0 && std::isfinite(of.weight) && of.name.empty() != has_name &&
        of.name.empty() == weights[0].name.empty()) {
      continue;
    }
    return Invalid(fmt::format(
        "{}: class_weights: expected a number of 0 or above for each class, as in 1,2.5, or all "
        "with names, as in no:1,yes:2.5; found '{}'",
        settings.Origin(kWeights), ShownBytes(text)));
  }
  return weights;
}

// The order of classes is that of class_names, or else the one that they would have by the rows.
Status SetClassWeights(const Settings& settings, FitParameters* p) {
  STRATA_ASSIGN(const std::vector<ClassWeight> weights, ReadClassWeights(settings));
  if (weights.empty()) return {};
  if (weights[0].name.empty()) {
    for (const ClassWeight& of : weights) p->class_weights.push_back(of.weight);
    return {};
  }
  const std::string origin = fmt::format("{}: class_weights", settings.Origin(kWeights));
  if (p->classes_count > 0) {
    return Invalid(fmt::format("{}: expected numbers without names beside classes_count", origin));
  }
  std::vector<std::string> names;
  for (const ClassWeight& of : weights) names.push_back(of.name);
  SortClasses(names);
  STRATA_TRY(CheckNames(names, origin));
  if (p->class_names.empty()) p->class_names = names;
  for (const std::string& name : p->class_names) {
    const auto of = std::ranges::find(weights, name, &ClassWeight::name);
    if (of == weights.end()) {
      return Invalid(fmt::format("{}: expected a weight of class '{}' of class_names, found none",
                                 origin, ShownBytes(name)));
    }
    p->class_weights.push_back(of->weight);
  }
  if (weights.size() == p->class_names.size()) return {};
  return Invalid(fmt::format("{}: expected weights of the {} classes of class_names, found {}",
                             origin, p->class_names.size(), weights.size()));
}

Status SetCount(const Settings& settings, FitParameters* p) {
  p->classes_count = static_cast<size_t>(settings.Int("classes_count"));
  if (p->classes_count == 0) return {};
  const std::string origin = settings.Origin("classes_count");
  if (!IsMultiClass(p->loss.type)) {
    return Invalid(fmt::format(
        "{}: classes_count is for MultiClass and MultiClassOneVsAll, not for {}: remove it", origin,
        FitLossName(p->loss.type)));
  }
  if (settings.IsSet("class_names")) {
    return Invalid(fmt::format(
        "{}: classes_count and class_names exclude each other: give one of them", origin));
  }
  if (p->classes_count > 1) return {};
  return Invalid(fmt::format("{}: classes_count: expected 2 or more, or 0, found 1", origin));
}

Status SetNames(const Settings& settings, FitParameters* p) {
  p->class_names = settings.TextList("class_names");
  if (p->class_names.empty()) return {};
  const std::string origin = settings.Origin("class_names");
  if (!HasClasses(p->loss.type)) {
    return Invalid(
        fmt::format("{}: class_names is for losses of classes, and {} has none: remove it", origin,
                    FitLossName(p->loss.type)));
  }
  return CheckNames(p->class_names, fmt::format("{}: class_names", origin));
}

}  // namespace

Status SetClassParameters(const Settings& settings, FitParameters* parameters) {
  STRATA_TRY(SetCount(settings, parameters));
  STRATA_TRY(SetNames(settings, parameters));
  STRATA_ASSIGN(const std::string_view weighting, OneWeighting(settings, parameters->loss.type));
  if (weighting == kAuto) {
    const std::string& mode = settings.Text(kAuto);
    parameters->auto_class_weights = mode == "Balanced"       ? AutoClassWeights::kBalanced
                                     : mode == "SqrtBalanced" ? AutoClassWeights::kSqrtBalanced
                                                              : AutoClassWeights::kNone;
  } else if (weighting == "scale_pos_weight") {
    if (!IsBinary(parameters->loss.type)) {
      return Invalid(fmt::format("{}: scale_pos_weight is for Logloss: use class_weights",
                                 settings.Origin("scale_pos_weight")));
    }
    parameters->class_weights = {1, FloatOption(settings, "scale_pos_weight")};
  }
  return SetClassWeights(settings, parameters);
}

}  // namespace strata
