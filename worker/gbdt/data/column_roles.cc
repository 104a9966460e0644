#include "worker/gbdt/data/column_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

class Finder {
 public:
  Finder(const std::vector<std::string>& names, size_t columns, const std::string& path)
      : names_(names), columns_(columns), path_(path) {}

  // The place of the column that `text` names; numbers count `label` only where it is no column.
  Result<size_t> Find(const std::string& text, size_t label) const {
    if (text.starts_with("name:")) {
      const auto found = std::ranges::find(names_, text.substr(5));
      if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
      return Invalid(fmt::format(
          "{}: column '{}': {}", path_, text,
          names_.empty() ? "there is no header: set header = true" : "no column has this name"));
    }
    size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Invalid(fmt::format("{}: column '{}': expected a number or name:NAME", path_, text));
    }
    if (number >= label) ++number;
    if (number < columns_) return number;
    return Invalid(fmt::format("{}: column {}: there are {} columns{}", path_, text, columns_,
                               label < columns_ ? ", of which the label is not counted" : ""));
  }

 private:
  const std::vector<std::string>& names_;
  const size_t columns_;
  const std::string& path_;
};

}  // namespace

Result<ColumnRoles> ColumnRoles::Find(const ColumnChoice& choice, std::vector<std::string> names,
                                      size_t columns, const std::string& path) {
  if (!names.empty() && names.size() != columns) {
    return Invalid(fmt::format("{}: the header names {} columns, the first row has {}", path,
                               names.size(), columns));
  }
  const bool has_label = columns != choice.predicted_features;
  if (columns < 2 && has_label) {
    return Invalid(fmt::format("{}: {} column: expected the label and features", path, columns));
  }
  std::map<std::string_view, size_t> seen;
  for (size_t column = 0; column < names.size(); ++column) {
    const auto [earlier, is_new] = seen.emplace(names[column], column);
    if (is_new) continue;
    return Invalid(
        fmt::format("{}: the header names columns {} and {} '{}': expected each name once", path,
                    earlier->second, column, names[column]));
  }
  const Finder finder(names, columns, path);
  ColumnRoles roles;
  roles.of.assign(columns, ColumnRole::kFeature);
  roles.has_label = has_label;
  roles.reads_label = has_label && !choice.predicted_features.has_value();
  roles.features = columns - (has_label ? 1 : 0);
  size_t label = has_label ? 0 : columns;
  if (has_label && !choice.label.empty()) {
    STRATA_ASSIGN(label, finder.Find(choice.label, columns));
  }
  if (has_label) roles.of[label] = ColumnRole::kLabel;
  const auto give = [&](const std::string& text, ColumnRole role) -> Status {
    if (text.empty()) return {};
    STRATA_ASSIGN(const size_t column, finder.Find(text, label));
    if (column == label) return Invalid(fmt::format("{}: column '{}' is the label", path, text));
    roles.of[column] = role;
    return {};
  };
  for (const std::string& text : choice.ignored) STRATA_TRY(give(text, ColumnRole::kIgnored));
  const bool predicts = choice.predicted_features.has_value();
  STRATA_TRY(give(choice.weight, predicts ? ColumnRole::kIgnored : ColumnRole::kWeight));
  STRATA_TRY(give(choice.query, predicts ? ColumnRole::kIgnored : ColumnRole::kQuery));
  for (size_t column = 0; column < names.size(); ++column) {
    if (column != label) roles.names.push_back(std::move(names[column]));
  }
  return roles;
}

std::vector<std::string> ColumnRoles::Names() const {
  return names.empty() ? DefaultFeatureNames(features) : names;
}

void ColumnRoles::PutNoLabel(SparseRows* block) const {
  if (!reads_label) block->labels.push_back(std::numeric_limits<float>::quiet_NaN());
}

const char* ColumnRoles::Put(ColumnRole role, uint32_t feature, double value,
                             SparseRows* block) const {
  switch (role) {
    case ColumnRole::kLabel:
      if (!std::isfinite(value)) return "the label is missing or infinite";
      if (std::fabs(value) > std::numeric_limits<float>::max()) {
        return "the label is too large: expected at most 3.4e38";
      }
      block->labels.push_back(static_cast<float>(value));
      return "";
    case ColumnRole::kFeature:
      if (std::isnan(value) || std::fabs(value) > kZeroThreshold) {
        block->columns.push_back(feature);
        block->values.push_back(value);
      }
      return "";
    case ColumnRole::kWeight:
      if (!(value >= 0) || !std::isfinite(value)) return "the weight is not a number of at least 0";
      block->weights.push_back(static_cast<float>(value));
      return "";
    case ColumnRole::kQuery:
      if (!(std::fabs(value) < 1e18)) return "the query is missing";
      block->queries.push_back(static_cast<int64_t>(value));
      return "";
    case ColumnRole::kIgnored:
      return "";
  }
  return "";
}

std::vector<std::string> DefaultFeatureNames(size_t features) {
  std::vector<std::string> names;
  for (size_t i = 0; i < features; ++i) names.push_back(fmt::format("Column_{}", i));
  return names;
}

}  // namespace strata
