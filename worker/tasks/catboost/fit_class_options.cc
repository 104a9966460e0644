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

// Those of the parameters that are set. kInvalid: there are several, or the loss has no classes.
Result<std::string_view> OneWeighting(const Settings& settings, FitLoss loss) {
  std::string_view found;
  for (const char* const key : {"class_weights", "scale_pos_weight", "auto_class_weights"}) {
    if (!settings.IsSet(key)) continue;
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

Status ReadClassWeights(const Settings& settings, std::vector<float>* weights) {
  for (const std::string& text : settings.TextList("class_weights")) {
    float& weight = weights->emplace_back();
    if (ReadNumber(text, &weight) && weight >= 0 && std::isfinite(weight)) continue;
    return Invalid(fmt::format("{}: class_weights: expected numbers of 0 or above, found '{}'",
                               settings.Origin("class_weights"), ShownBytes(text)));
  }
  return {};
}

Status SetCount(const Settings& settings, FitParameters* p) {
  if (!settings.IsSet("classes_count")) return {};
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
  p->classes_count = static_cast<size_t>(settings.Int("classes_count"));
  return {};
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
  if (p->class_names.size() > kFitClassesMax) {
    return Invalid(fmt::format("{}: class_names: expected up to {} classes, found {}", origin,
                               kFitClassesMax, p->class_names.size()));
  }
  if (const auto wrong = std::ranges::find_if_not(p->class_names, IsUtf8);
      wrong != p->class_names.end()) {
    return Invalid(fmt::format("{}: class_names: expected texts in UTF-8, found '{}'", origin,
                               ShownBytes(*wrong)));
  }
  std::vector<std::string> sorted = p->class_names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return Invalid(fmt::format("{}: class_names: '{}' is there twice", origin, ShownBytes(*twice)));
  }
  return {};
}

}  // namespace

Status SetClassParameters(const Settings& settings, FitParameters* parameters) {
  STRATA_TRY(SetCount(settings, parameters));
  STRATA_TRY(SetNames(settings, parameters));
  STRATA_ASSIGN(const std::string_view weighting, OneWeighting(settings, parameters->loss.type));
  if (weighting == "auto_class_weights") {
    const std::string& mode = settings.Text("auto_class_weights");
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
  return ReadClassWeights(settings, &parameters->class_weights);
}

}  // namespace strata
