#include "worker/gbdt/catboost/json_features.h"

#include <fmt/format.h>

#include <cfloat>
#include <cmath>
#include <optional>

namespace strata {
namespace {

std::optional<float> ToFloat(double number) {
  if (std::abs(number) > FLT_MAX) return std::nullopt;
  return static_cast<float>(number);
}

Result<size_t> PlaceAt(const std::map<int64_t, size_t>& places, const char* kind, const JsonAt& at,
                       const char* key) {
  STRATA_ASSIGN(const JsonAt member, at.At(key));
  STRATA_ASSIGN(const int64_t index, member.Whole(0, INT32_MAX));
  const auto found = places.find(index);
  if (found != places.end()) return found->second;
  return member.Wrong(
      fmt::format("the model has no {} feature {}: expected one of the {} in "
                  "features_info",
                  kind, index, places.size()));
}

}  // namespace

Result<float> FloatAt(const JsonAt& at, const char* key) {
  STRATA_ASSIGN(const JsonAt member, at.At(key));
  STRATA_ASSIGN(const double number, member.Number());
  const std::optional<float> rounded = ToFloat(number);
  if (!rounded.has_value()) return member.Expected("a number that a float can hold");
  return *rounded;
}

Result<std::vector<float>> BordersAt(const JsonAt& at) {
  std::vector<float> borders;
  if (!at.Holds("borders")) return borders;
  STRATA_ASSIGN(const JsonAt list, at.At("borders"));
  STRATA_ASSIGN(const std::vector<double> numbers, list.NumberList());
  for (const double number : numbers) {
    const std::optional<float> border = ToFloat(number);
    if (!border.has_value() || (!borders.empty() && *border <= borders.back())) {
      return list.Wrong(fmt::format("expected floats in ascending order, found {} at place {}",
                                    number, borders.size()));
    }
    borders.push_back(*border);
  }
  return borders;
}

FeaturePlaces::FeaturePlaces(const CatBoostModel& model) {
  for (size_t f = 0; f < model.numbers.size(); ++f) numbers_[model.numbers[f].index] = f;
  for (size_t c = 0; c < model.categories.size(); ++c) categories_[model.categories[c].index] = c;
}

Result<size_t> FeaturePlaces::NumberAt(const JsonAt& at, const char* key) const {
  return PlaceAt(numbers_, "float", at, key);
}

Result<size_t> FeaturePlaces::CategoryAt(const JsonAt& at, const char* key) const {
  return PlaceAt(categories_, "categorical", at, key);
}

}  // namespace strata
