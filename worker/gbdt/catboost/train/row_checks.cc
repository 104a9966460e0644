#include "worker/gbdt/catboost/train/row_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace strata {

Status CheckRowCount(size_t rows, const std::string& where) {
  constexpr size_t kRowsMax = std::numeric_limits<uint32_t>::max();
  if (rows <= kRowsMax) return {};
  return Invalid(
      fmt::format("{}: expected up to {} rows, found more: learn from fewer", where, kRowsMax));
}

Status CheckMissing(const FitParameters& parameters, const CatBoostModel& model,
                    const CatBoostRows& rows, size_t row) {
  if (parameters.nan_mode != NanMode::kForbidden) return {};
  for (size_t f = 0; f < model.numbers.size(); ++f) {
    if (!std::isnan(rows.Number(f)[row])) continue;
    return Invalid(fmt::format(
        "feature {} is missing, and nan_mode = Forbidden: expected a number; Min and Max take "
        "missing values",
        f));
  }
  return {};
}

Status FinishRows(LabelColumn&& labels, const std::string& path, LearnRows* rows) {
  double sum = 0;
  for (const float weight : rows->weights) sum += weight;
  if (!(sum > 0)) return Invalid(fmt::format("{}: all weights are 0: expected one above", path));
  Result<ClassLabels> classes = std::move(labels).Finish(&rows->labels);
  if (!classes.ok()) return classes.status().Prefixed(path);
  rows->classes = *std::move(classes);
  return {};
}

}  // namespace strata
