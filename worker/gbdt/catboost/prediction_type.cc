#include "worker/gbdt/catboost/prediction_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "kernels/core/math.h"

namespace strata {
namespace {

constexpr std::pair<std::string_view, PredictionType> kPredictionTypes[] = {
    {"RawFormulaVal", PredictionType::kRawFormulaVal},
    {"Probability", PredictionType::kProbability},
    {"Class", PredictionType::kClass},
    {"Exponent", PredictionType::kExponent}};

// Whether the outputs are classes. CatBoost takes a loss that the model does not name for
// MultiClass.
bool MayBeClasses(const CatBoostModel& model) {
  return model.outputs == 1 || model.loss.empty() || model.loss == "MultiClass" ||
         model.loss == "MultiClassOneVsAll";
}

double SigmoidOf(double raw) { return 1 / (1 + math::Exp(-raw)); }

}  // namespace

PredictedValues::PredictedValues(const CatBoostModel& model, PredictionType type)
    : model_(&model), type_(type) {
  const bool is_one = type == PredictionType::kClass || type == PredictionType::kExponent;
  if (!is_one && model.outputs > 1) columns_ = model.class_labels.size();
  if (model.class_threshold.has_value()) {
    least_raw_ = math::Log(*model.class_threshold / (1 - *model.class_threshold));
  }
}

Result<PredictedValues> PredictedValues::Make(const CatBoostModel& model, std::string_view type) {
  const auto* const known =
      std::ranges::find(kPredictionTypes, type, [](const auto& item) { return item.first; });
  if (known == std::end(kPredictionTypes)) {
    return Invalid(fmt::format(
        "prediction_type = {}: expected RawFormulaVal, Probability, Class or Exponent", type));
  }
  const bool of_classes =
      known->second == PredictionType::kProbability || known->second == PredictionType::kClass;
  if (of_classes && !MayBeClasses(model)) {
    return Invalid(fmt::format(
        "prediction_type = {}: the model of the loss {} predicts {} numbers, and no class: "
        "expected RawFormulaVal",
        type, model.loss, model.outputs));
  }
  if (known->second == PredictionType::kExponent && model.outputs > 1) {
    return Invalid(
        fmt::format("prediction_type = Exponent: expected a model of one output, found one of {}",
                    model.outputs));
  }
  return PredictedValues(model, known->second);
}

std::vector<std::string> PredictedValues::Names() const {
  const auto* const known =
      std::ranges::find(kPredictionTypes, type_, [](const auto& item) { return item.second; });
  const std::string name(known->first);
  if (columns_ == 1) return {name};
  std::vector<std::string> names;
  for (const std::string& label : model_->class_labels) {
    names.push_back(fmt::format("{}:{}={}", name, MayBeClasses(*model_) ? "Class" : "Dim", label));
  }
  return names;
}

double PredictedValues::ClassOf(std::span<const double> raw) const {
  if (model_->outputs == 1) return raw[0] > least_raw_ ? 1 : 0;
  // Of equal ones the class of the lowest number.
  size_t best = 0;
  const std::vector<uint32_t>& classes = model_->class_of_output;
  for (size_t k = 1; k < raw.size(); ++k) {
    if (raw[k] > raw[best] || (raw[k] == raw[best] && classes[k] < classes[best])) best = k;
  }
  return classes[best];
}

// The value of each class, as far as it has an output.
void PredictedValues::Spread(std::span<const double> raw, std::span<double> values) const {
  if (model_->outputs == 1) {
    values[0] = raw[0];
    return;
  }
  std::ranges::fill(values, -std::numeric_limits<double>::infinity());
  for (size_t k = 0; k < raw.size(); ++k) values[model_->class_of_output[k]] = raw[k];
}

void PredictedValues::Of(std::span<const double> raw, std::span<double> values) const {
  if (type_ == PredictionType::kClass) {
    values[0] = ClassOf(raw);
    return;
  }
  Spread(raw, values);
  if (type_ == PredictionType::kExponent) values[0] = math::Exp(values[0]);
  if (type_ != PredictionType::kProbability) return;
  if (model_->outputs == 1 || model_->loss == "MultiClassOneVsAll") {
    for (double& value : values) value = SigmoidOf(value);
    return;
  }
  const double most = *std::ranges::max_element(values);
  double sum = 0;
  for (double& value : values) {
    value = math::Exp(value - most);
    sum += value;
  }
  for (double& value : values) value /= sum;
}

void PredictedValues::AppendText(std::span<const double> values, std::string* text) const {
  const std::vector<std::string>& labels = model_->class_labels;
  if (type_ == PredictionType::kClass && !labels.empty()) {
    *text += labels[static_cast<size_t>(values[0])];
    return;
  }
  for (size_t k = 0; k < values.size(); ++k) {
    if (k > 0) *text += '\t';
    fmt::format_to(std::back_inserter(*text), "{}", values[k]);
  }
}

}  // namespace strata
