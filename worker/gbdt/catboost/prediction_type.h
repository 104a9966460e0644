// What CatBoost's prediction types make of raw values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

enum class PredictionType : uint8_t { kRawFormulaVal, kProbability, kClass, kExponent };

// Immutable; any number of threads.
class PredictedValues {
 public:
  // The model outlives it. kInvalid: no type of this name, or one that does not fit the model's
  // loss.
  static Result<PredictedValues> Make(const CatBoostModel& model, std::string_view type);

  // Numbers a row: one, or one a class.
  size_t columns() const { return columns_; }
  // The names of the columns: "Class", "Probability:Class=b".
  std::vector<std::string> Names() const;
  // Makes columns() values of a row's raw values, of which there is one an output. A class is its
  // number. The value of a class that training has not seen is minus infinity, its probability 0.
  void Of(std::span<const double> raw, std::span<double> values) const;
  // Appends columns() values as text, with tabs between them; a class by its label.
  void AppendText(std::span<const double> values, std::string* text) const;

 private:
  PredictedValues(const CatBoostModel& model, PredictionType type);
  void Spread(std::span<const double> raw, std::span<double> values) const;
  double ClassOf(std::span<const double> raw) const;

  const CatBoostModel* model_;
  PredictionType type_;
  double least_raw_ = 0;  // of two classes the second is predicted above it
  size_t columns_ = 1;
};

}  // namespace strata
