#include "worker/gbdt/data/column_roles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "base/log.h"
#include "worker/gbdt/data/bin_mapper.h"
#include "worker/gbdt/data/feature_names.h"

namespace strata {
namespace {

class Finder {
 public:
  Finder(const std::vector<std::string>& names, size_t columns, const std::string& path)
      : names_(names), columns_(columns), path_(path) {}

  // Whether `text` is a name that no column has.
  bool IsMissingName(const std::string& text) const {
    return text.starts_with("name:") && std::ranges::count(names_, text.substr(5)) == 0;
  }

  // The place of the column that `text` names; numbers count `label` only where it is no column.
  Result<size_t> Find(const std::string& text, size_t label) const {
    if (text.starts_with("name:")) {
      const auto found = std::ranges::find(names_, text.substr(5));
      if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
      return Invalid(fmt::format(
          "{}: column '{}': {}", path_, text,
          names_.empty() ? "there is no header: set header = true"
                         : fmt::format("no column has this name: found {}", ShownNames(names_))));
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

Status CheckNames(const std::vector<std::string>& names, size_t columns, const std::string& path) {
  if (!names.empty() && names.size() != columns) {
    return Invalid(fmt::format("{}: the header names {} columns, the first row has {}", path,
                               names.size(), columns));
  }
  std::map<std::string_view, size_t> seen;
  for (size_t column = 0; column < names.size(); ++column) {
    const auto [earlier, is_new] = seen.emplace(names[column], column);
    if (is_new) continue;
    return Invalid(
        fmt::format("{}: the header names columns {} and {} '{}': expected each name once", path,
                    earlier->second, column, names[column]));
  }
  return {};
}

// What predict can do about columns that are not those that a model has.
constexpr const char* kAnyWidthHint =
    "; predict_disable_shape_check = true takes missing features as 0, and leaves out what the "
    "model does not know";

// Gives each column of one file its role.
class RoleFinder {
 public:
  RoleFinder(const ColumnChoice& choice, std::vector<std::string> names, size_t columns,
             const std::string& path)
      : choice_(choice),
        names_(std::move(names)),
        columns_(columns),
        path_(path),
        finder_(names_, columns, path) {
    roles_.of.assign(columns, ColumnRole::kFeature);
    roles_.feature_of.assign(columns, 0);
  }

  // Each column but the label is a feature, in their order.
  Result<ColumnRoles> ByPlace() {
    const bool has_label = !choice_.predicts || choice_.expected == nullptr ||
                           columns_ != choice_.expected->names.size();
    if (columns_ < 2 && has_label) {
      return Invalid(
          fmt::format("{}: {} column: expected the label and features", path_, columns_));
    }
    size_t label = has_label ? 0 : columns_;
    if (has_label && !choice_.label.empty()) {
      STRATA_ASSIGN(label, finder_.Find(choice_.label, columns_));
    }
    roles_.features = columns_ - (has_label ? 1 : 0);
    STRATA_TRY(CheckWidth());
    SetLabel(label);
    for (const std::string& text : choice_.ignored) {
      STRATA_TRY(Give(text, label, ColumnRole::kIgnored));
    }
    STRATA_TRY(GiveWeightAndQuery(label, choice_.predicts));
    uint32_t feature = 0;
    for (size_t column = 0; column < columns_; ++column) {
      roles_.feature_of[column] = feature;
      if (column == label) continue;
      ++feature;
      if (!names_.empty()) roles_.names.push_back(std::move(names_[column]));
    }
    return std::move(roles_);
  }

  // Columns are the features of their names, wherever they stand.
  Result<ColumnRoles> ByName() {
    const std::vector<std::string>& expected = choice_.expected->names;
    std::map<std::string_view, uint32_t> number_of;
    for (uint32_t f = 0; f < expected.size(); ++f) number_of.emplace(expected[f], f);
    STRATA_ASSIGN(const size_t label, LabelBesides(number_of));
    SetLabel(label);
    // Whoever predicts reads the model's features, whatever else is there.
    if (!choice_.predicts) STRATA_TRY(GiveWeightAndQuery(label, false));
    STRATA_ASSIGN(const std::vector<std::string> of_model, NamesOfModel(label));
    std::vector<bool> is_there(expected.size(), false);
    std::vector<std::string> others;
    for (size_t column = 0; column < columns_; ++column) {
      const auto found = number_of.find(of_model[column]);
      if (found != number_of.end()) roles_.feature_of[column] = found->second;
      if (roles_.of[column] != ColumnRole::kFeature) continue;
      if (found == number_of.end()) {
        roles_.of[column] = ColumnRole::kIgnored;
        others.push_back(names_[column]);
      } else {
        is_there[found->second] = true;
      }
    }
    STRATA_TRY(CheckMissing(is_there));
    if (!others.empty()) {
      Log(LogLevel::kInfo, "{}: columns that {} does not have are not read: {}", path_,
          choice_.expected->owner, ShownNames(others));
    }
    roles_.features = expected.size();
    roles_.names = expected;
    return std::move(roles_);
  }

 private:
  Status CheckWidth() const {
    const ExpectedFeatures* const expected = choice_.expected;
    if (expected == nullptr || choice_.any_width || roles_.features == expected->names.size()) {
      return {};
    }
    return Invalid(fmt::format("{}: expected the {} of {} and a label, found {} columns{}{}", path_,
                               expected->Text(), expected->owner, columns_,
                               names_.empty() ? "" : fmt::format(": {}", ShownNames(names_)),
                               choice_.predicts ? kAnyWidthHint : ""));
  }

  // The label's column, or columns_: there is none. Whoever predicts needs none, so that a column
  // in its place that is a feature by its name is that.
  Result<size_t> LabelBesides(const std::map<std::string_view, uint32_t>& features) const {
    const std::string& text = choice_.label;
    if (choice_.predicts && finder_.IsMissingName(text)) return columns_;
    size_t label = 0;
    if (!text.empty()) {
      STRATA_ASSIGN(label, finder_.Find(text, columns_));
    }
    if (!features.contains(ModelFeatureName(names_[label]))) return label;
    if (choice_.predicts) return columns_;
    return Invalid(
        fmt::format("{}: column {}, which should be the label, is '{}', a feature of {}: expected "
                    "label_column = name:NAME, with one of {}",
                    path_, label, names_[label], choice_.expected->owner, ShownNames(names_)));
  }

  // As a model has the names of columns, which it numbers without the label.
  Result<std::vector<std::string>> NamesOfModel(size_t label) const {
    std::vector<std::string> features = names_;
    if (label < features.size()) features.erase(features.begin() + static_cast<ptrdiff_t>(label));
    Result<std::vector<std::string>> of_model = ModelFeatureNames(features);
    if (!of_model.ok()) return of_model.status().Prefixed(path_);
    if (label < names_.size()) {
      of_model->insert(of_model->begin() + static_cast<ptrdiff_t>(label), names_[label]);
    }
    return of_model;
  }

  Status CheckMissing(const std::vector<bool>& is_there) const {
    const ExpectedFeatures& expected = *choice_.expected;
    std::vector<std::string> missing;
    for (size_t f = 0; f < is_there.size(); ++f) {
      if (!is_there[f] && expected.needed[f]) missing.push_back(expected.names[f]);
    }
    if (missing.empty()) return {};
    if (choice_.any_width) {
      Log(LogLevel::kWarning, "{}: columns of {} are missing, and count as 0: {}", path_,
          expected.owner, ShownNames(missing));
      return {};
    }
    return Invalid(fmt::format("{}: no column has the name {}: expected the {} of {}, found {}{}",
                               path_, ShownNames(missing), expected.Text(), expected.owner,
                               ShownNames(names_), choice_.predicts ? kAnyWidthHint : ""));
  }

  // `label` is a column, or columns_: there is none.
  void SetLabel(size_t label) {
    roles_.has_label = label < columns_;
    roles_.reads_label = roles_.has_label && !choice_.predicts;
    if (roles_.has_label) roles_.of[label] = ColumnRole::kLabel;
  }

  Status GiveWeightAndQuery(size_t label, bool as_ignored) {
    STRATA_TRY(
        Give(choice_.weight, label, as_ignored ? ColumnRole::kIgnored : ColumnRole::kWeight));
    return Give(choice_.query, label, as_ignored ? ColumnRole::kIgnored : ColumnRole::kQuery);
  }

  Status Give(const std::string& text, size_t label, ColumnRole role) {
    if (text.empty()) return {};
    // What is not read need not be in every file that a model is used with.
    if (choice_.expected != nullptr && role == ColumnRole::kIgnored &&
        finder_.IsMissingName(text)) {
      return {};
    }
    STRATA_ASSIGN(const size_t column, finder_.Find(text, label));
    if (column == label) return Invalid(fmt::format("{}: column '{}' is the label", path_, text));
    roles_.of[column] = role;
    return {};
  }

  const ColumnChoice& choice_;
  std::vector<std::string> names_;
  const size_t columns_;
  const std::string& path_;
  const Finder finder_;
  ColumnRoles roles_;
};

}  // namespace

std::string ShownNames(std::span<const std::string> names) {
  constexpr size_t kShown = 10;
  const size_t shown = std::min(kShown, names.size());
  const std::string text = fmt::format("{}", fmt::join(names.first(shown), ", "));
  if (shown == names.size()) return text;
  return fmt::format("{} and {} more", text, names.size() - shown);
}

bool ExpectedFeatures::have_names() const {
  const std::set<std::string_view> different(names.begin(), names.end());
  return different.size() == names.size() && names != DefaultFeatureNames(names.size());
}

bool ExpectedFeatures::MatchByName(std::span<const std::string> header) const {
  if (header.empty() || have_names()) return !header.empty();
  // A header may have given them the names that features without names get.
  const std::set<std::string_view> own(names.begin(), names.end());
  return own.size() == names.size() &&
         std::ranges::any_of(header, [&](const std::string& name) { return own.contains(name); });
}

std::string ExpectedFeatures::Text() const {
  const std::string count = fmt::format("{} feature{}", names.size(), names.size() == 1 ? "" : "s");
  return have_names() ? fmt::format("{} ({})", count, ShownNames(names)) : count;
}

Result<ColumnRoles> ColumnRoles::Find(const ColumnChoice& choice, std::vector<std::string> names,
                                      size_t columns, const std::string& path) {
  STRATA_TRY(CheckNames(names, columns, path));
  const bool by_name = choice.expected != nullptr && choice.expected->MatchByName(names);
  RoleFinder finder(choice, std::move(names), columns, path);
  return by_name ? finder.ByName() : finder.ByPlace();
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
