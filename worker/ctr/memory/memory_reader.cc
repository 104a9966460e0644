#include "worker/ctr/memory/memory_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/human_text.h"
#include "worker/data/feature/number_text.h"

namespace strata {
namespace {

size_t LengthOf(const ClickColumn& column) {
  return std::visit([](auto values) { return values.size(); }, column.values);
}

bool HasTexts(const ClickColumn& column) {
  return std::holds_alternative<std::span<const std::string_view>>(column.values) ||
         std::holds_alternative<std::span<const int64_t>>(column.values);
}

// The column that the feature needs, which must have values of its kind.
Result<size_t> FindColumn(const ClickRows& rows, const FeatureSpec& feature) {
  const auto named = [&](const ClickColumn& column) { return column.name == feature.column; };
  const auto found = std::ranges::find_if(rows.columns, named);
  if (found == rows.columns.end()) {
    return Invalid(fmt::format("rows: no column '{}', which feature {} needs", feature.column,
                               FeatureText(feature)));
  }
  if (std::find_if(found + 1, rows.columns.end(), named) != rows.columns.end()) {
    return Invalid(fmt::format("rows: two columns have the name '{}'", feature.column));
  }
  if (feature.kind == FeatureKind::kCategorical && !HasTexts(*found)) {
    return Invalid(
        fmt::format("rows: column '{}' has floating-point numbers; feature {} needs texts or whole "
                    "numbers",
                    feature.column, FeatureText(feature)));
  }
  return static_cast<size_t>(found - rows.columns.begin());
}

Status CheckLabels(std::span<const float> labels, bool is_number) {
  for (size_t row = 0; row < labels.size(); ++row) {
    if (is_number ? std::isfinite(labels[row]) : labels[row] == 0 || labels[row] == 1) continue;
    return Invalid(fmt::format("rows: row {}: label {} is {}", row + 1, labels[row],
                               is_number ? "no finite number" : "neither 0 nor 1"));
  }
  return {};
}

Status CheckWeights(std::span<const float> weights) {
  for (size_t row = 0; row < weights.size(); ++row) {
    if (std::isfinite(weights[row]) && weights[row] >= 0) continue;
    return Invalid(
        fmt::format("rows: row {}: weight {}: expected 0 or more", row + 1, weights[row]));
  }
  return {};
}

}  // namespace

Result<MemoryReader> MemoryReader::Make(const ClickRows& rows,
                                        std::span<const FeatureSpec> features, bool needs_labels,
                                        bool label_is_number) {
  ColumnPlan plan;
  for (const ClickColumn& column : rows.columns) plan.names.push_back(column.name);
  for (const FeatureSpec& feature : features) {
    STRATA_ASSIGN(const size_t column, FindColumn(rows, feature));
    plan.feature_columns.push_back(column);
    if (feature.kind != FeatureKind::kCategorical) plan.numeric_columns.push_back(column);
  }
  const size_t count = rows.columns.empty() ? 0 : LengthOf(rows.columns[0]);
  for (const ClickColumn& column : rows.columns) {
    if (LengthOf(column) == count) continue;
    return Invalid(fmt::format("rows: column '{}' has {}, column '{}' {}", rows.columns[0].name,
                               Counted(count, "value"), column.name, LengthOf(column)));
  }
  if (rows.labels.size() != count && (needs_labels || !rows.labels.empty())) {
    return Invalid(fmt::format("rows: {} labels for {} rows", rows.labels.size(), count));
  }
  if (rows.weights.size() != count && !rows.weights.empty()) {
    return Invalid(fmt::format("rows: {} weights for {} rows", rows.weights.size(), count));
  }
  STRATA_TRY(CheckLabels(rows.labels, label_is_number));
  STRATA_TRY(CheckWeights(rows.weights));
  return MemoryReader(rows, std::move(plan), count);
}

MemoryReader::MemoryReader(const ClickRows& given, ColumnPlan plan, size_t rows)
    : given_(given),
      plan_(std::move(plan)),
      rows_(rows),
      used_(plan_.feature_columns),
      is_numeric_(plan_.names.size()),
      fields_(plan_.names.size()),
      numbers_(plan_.names.size(), std::nan("")),
      decimals_(plan_.names.size()) {
  std::ranges::sort(used_);
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  for (const size_t column : plan_.numeric_columns) is_numeric_[column] = true;
}

Result<bool> MemoryReader::Next(DataRow* row) {
  if (next_ == rows_) return false;
  for (const size_t column : used_) STRATA_TRY(ReadColumn(column));
  *row = {.offset = next_,
          .fields = fields_,
          .numbers = numbers_,
          .label = given_.labels.empty() ? std::nanf("") : given_.labels[next_],
          .weight = given_.weights.empty() ? 1 : given_.weights[next_]};
  ++next_;
  return true;
}

Status MemoryReader::ReadColumn(size_t column) {
  const ClickColumn& given = given_.columns[column];
  double& number = numbers_[column];
  if (const auto* texts = std::get_if<std::span<const std::string_view>>(&given.values)) {
    const std::string_view text = (*texts)[next_];
    fields_[column] = text;
    number = std::nan("");
    if (!is_numeric_[column] || text.empty() || ParseNumber(text, &number)) return {};
    return Invalid(fmt::format("rows: row {}, column '{}': '{}' is no finite number", next_ + 1,
                               given.name, ShownBytes(text)));
  }
  if (const auto* whole = std::get_if<std::span<const int64_t>>(&given.values)) {
    std::array<char, 20>& decimal = decimals_[column];
    const auto end = std::to_chars(decimal.begin(), decimal.end(), (*whole)[next_]);
    fields_[column] = {decimal.data(), end.ptr};
    number = static_cast<double>((*whole)[next_]);
    return {};
  }
  const auto* singles = std::get_if<std::span<const float>>(&given.values);
  number = singles != nullptr ? double{(*singles)[next_]}
                              : std::get<std::span<const double>>(given.values)[next_];
  if (std::isnan(number) || std::abs(number) <= FLT_MAX) return {};
  return Invalid(fmt::format("rows: row {}, column '{}': {} is beyond what a float can hold",
                             next_ + 1, given.name, number));
}

}  // namespace strata
