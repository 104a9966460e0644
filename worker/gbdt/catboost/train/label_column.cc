#include "worker/gbdt/catboost/train/label_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/catboost/pool_file.h"

namespace strata {
namespace {

// What a label of the loss must be; null: this one fits.
const char* LabelFault(FitLoss loss, float label) {
  if (!std::isfinite(label)) return "a finite number";
  if (loss == FitLoss::kCrossEntropy && !(label >= 0 && label <= 1)) {
    return "a probability from 0 to 1, as CrossEntropy has them";
  }
  const bool is_count = loss == FitLoss::kPoisson || loss == FitLoss::kTweedie;
  return is_count && label < 0 ? "0 or above, as Poisson and Tweedie have them" : nullptr;
}

Status WrongLabel(std::string_view expected, std::string_view found) {
  return Invalid(
      fmt::format("expected a label that is {}, found '{}'", expected, ShownBytes(found)));
}

// In the words of CatBoost's error, for which people search.
Status OneLabel(std::string_view label, std::string_view expected) {
  return Invalid(fmt::format("Target contains only one unique value ('{}'): expected {}",
                             ShownBytes(label), expected));
}

}  // namespace

LabelColumn::LabelColumn(const FitParameters& parameters) : p_(parameters) {
  if (!HasClasses(p_.loss.type)) return;
  classes_.names = p_.class_names;
  classes_.are_counted = p_.classes_count > 0;
  for (size_t k = 0; k < p_.classes_count; ++k) classes_.names.push_back(fmt::format("{}", k));
  is_open_ = classes_.names.empty();
  for (uint32_t k = 0; k < classes_.names.size(); ++k) known_.emplace(classes_.names[k], k);
}

LabelColumn::LabelColumn(const FitParameters& parameters, const ClassLabels& learned)
    : p_(parameters), is_learned_(true), classes_(learned) {
  for (uint32_t output = 0; output < learned.of_outputs.size(); ++output) {
    known_.emplace(learned.names[learned.of_outputs[output]], output);
  }
}

Status LabelColumn::Read(std::string_view field, float* label) {
  if (HasClasses(p_.loss.type)) return ReadClass(field, label);
  const bool is_number = ReadPoolNumber(field, label);
  const char* const fault = is_number ? LabelFault(p_.loss.type, *label) : "a number";
  return fault == nullptr ? Status() : WrongLabel(fault, field);
}

Status LabelColumn::ReadClass(std::string_view field, float* label) {
  if (field.empty()) return WrongLabel("the name of a class", field);
  float number = 0;
  const bool is_number = classes_.are_counted && ReadPoolNumber(field, &number);
  const std::string name = is_number ? fmt::format("{}", number) : std::string(field);
  if (const auto at = known_.find(name); at != known_.end()) {
    *label = static_cast<float>(at->second);
    return {};
  }
  if (!is_open_) {
    std::vector<std::string> names;
    for (const auto& item : known_) names.push_back(item.first);
    return WrongLabel(fmt::format("one of the {} classes ({})", known_.size(), ShownClasses(names)),
                      field);
  }
  const MutexLock lock(mutex_);
  auto at = found_.find(field);
  if (at == found_.end()) {
    if (found_.size() == kFitClassesMax) {
      return WrongLabel(fmt::format("one of up to {} classes", kFitClassesMax), field);
    }
    if (!IsUtf8(field)) return WrongLabel("a text in UTF-8", field);
    at = found_.emplace(field, static_cast<uint32_t>(found_.size())).first;
  }
  *label = static_cast<float>(at->second);
  return {};
}

std::vector<std::string> LabelColumn::TakeFound() {
  const MutexLock lock(mutex_);
  std::vector<std::string> texts(found_.size());
  for (const auto& [text, number] : found_) texts[number] = text;
  return texts;
}

Result<ClassLabels> LabelColumn::Finish(std::vector<float>* labels) && {
  if (is_learned_) return std::move(classes_);
  if (!HasClasses(p_.loss.type)) {
    const auto [least, most] = std::ranges::minmax(*labels);
    if (least < most || p_.allow_const_label) return std::move(classes_);
    return OneLabel(fmt::format("{}", least), "others, too, or allow_const_label=true");
  }
  std::vector<std::string> texts = classes_.names;  // by the numbers that labels have now
  if (is_open_) {
    texts = TakeFound();
    classes_.names = texts;
    SortClasses(classes_.names);
  }
  const bool is_binary = IsBinary(p_.loss.type);
  // A class of Logloss without rows has its number all the same.
  const bool are_both = is_binary && texts.size() == 2 && p_.allow_const_label;
  std::vector<uint8_t> is_there(texts.size(), are_both ? 1 : 0);
  for (const float label : *labels) is_there[static_cast<size_t>(label)] = 1;
  std::vector<float> output_of(texts.size());
  for (uint32_t k = 0; k < classes_.names.size(); ++k) {
    const auto at =
        static_cast<size_t>(std::ranges::find(texts, classes_.names[k]) - texts.begin());
    if (is_there[at] == 0) continue;
    output_of[at] = static_cast<float>(classes_.of_outputs.size());
    classes_.of_outputs.push_back(k);
  }
  if (classes_.of_outputs.size() == 1) {
    return OneLabel(classes_.names[classes_.of_outputs[0]],
                    is_binary ? "both classes, or class_names and allow_const_label=true"
                              : "rows of two or more classes");
  }
  if (is_binary && classes_.names.size() != 2) {
    return Invalid(fmt::format(
        "expected labels of two classes, as {} has them, found {} ({}): take MultiClass, or "
        "give another column the type Label",
        FitLossName(p_.loss.type), classes_.names.size(), ShownClasses(classes_.names)));
  }
  for (float& label : *labels) label = output_of[static_cast<size_t>(label)];
  return std::move(classes_);
}

}  // namespace strata
