#include "worker/data/text/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/human_text.h"
#include "base/settings/settings.h"

namespace strata {
namespace {

// Finds columns by name and remembers what each is used for.
class Columns {
 public:
  Columns(std::span<const std::string> names, const std::string& where)
      : names_(names), where_(where), uses_(names.size()) {}

  Status Index() {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].empty()) {
        return Invalid(fmt::format("{}: column {} has no name: give it one", where_, i + 1));
      }
      if (!index_.emplace(names_[i], i).second) {
        return Invalid(
            fmt::format("{}: two columns are called '{}': rename one", where_, names_[i]));
      }
    }
    return Status::Ok();
  }

  bool Has(const std::string& name) const { return index_.contains(name); }

  // The place of a column that is `use`; kInvalid when there is none, or it serves another use.
  Result<size_t> Take(const std::string& name, const std::string& use) {
    const auto found = index_.find(name);
    if (found == index_.end()) {
      const std::vector<std::string_view> candidates(names_.begin(), names_.end());
      const std::string hint = NearestHint(name, candidates);
      return Invalid(fmt::format("{}: no column '{}', which the job file uses as {}{}", where_,
                                 name, use, hint.empty() ? ColumnList() : hint));
    }
    std::string& taken = uses_[found->second];
    if (!taken.empty() && taken != use) {
      return Invalid(
          fmt::format("{}: column '{}' is both {} and {}: keep one", where_, name, taken, use));
    }
    taken = use;
    return found->second;
  }

  // The same of a column that may serve others too, but for `excluded`.
  Result<size_t> Share(const std::string& name, const std::string& use, size_t excluded) {
    const auto found = index_.find(name);
    const bool is_shared = found != index_.end() && found->second != excluded;
    if (is_shared && !uses_[found->second].empty()) return found->second;
    return Take(name, use);
  }

  // The first of the names, escaped: the file may be anything.
  std::string ColumnList() const {
    constexpr size_t kNamed = 40;
    const auto shown = std::span(names_).first(std::min(names_.size(), kNamed));
    std::string text;
    for (const std::string& name : shown) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", QuotedBytes(name.substr(0, 64)));
    }
    const size_t left = names_.size() - shown.size();
    return fmt::format("; the columns are {}{}", text,
                       left == 0 ? "" : fmt::format(" and {} more", left));
  }

  Status CheckAllUsed() const {
    const auto unused = std::ranges::find(uses_, std::string());
    if (unused == uses_.end()) return Status::Ok();
    return Invalid(
        fmt::format("{}: column '{}' is used nowhere: make it a feature, or list it in data.ignore",
                    where_, names_[static_cast<size_t>(unused - uses_.begin())]));
  }

 private:
  std::span<const std::string> names_;
  const std::string& where_;
  std::vector<std::string> uses_;  // "" while unused
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace

Result<ColumnPlan> PlanColumns(std::span<const std::string> columns, const DataSpec& spec,
                               const std::string& where, bool labels_required) {
  Columns by_name(columns, where);
  STRATA_TRY(by_name.Index());
  ColumnPlan plan;
  plan.names.assign(columns.begin(), columns.end());
  if (labels_required || by_name.Has(spec.label)) {
    STRATA_ASSIGN(plan.label, by_name.Take(spec.label, "the label"));
  }
  if (!spec.weight.empty() && (labels_required || by_name.Has(spec.weight))) {
    STRATA_ASSIGN(plan.weight, by_name.Take(spec.weight, "the weight"));
  }
  if (!spec.query.empty() && (labels_required || by_name.Has(spec.query))) {
    STRATA_ASSIGN(plan.query, by_name.Take(spec.query, "the query"));
  }
  for (const std::string& name : spec.ignore) {
    STRATA_TRY(by_name.Take(name, "ignored").status());
  }
  for (const FeatureSpec& feature : spec.features) {
    STRATA_ASSIGN(const size_t column, by_name.Take(feature.column, "a feature"));
    plan.feature_columns.push_back(column);
    if (feature.kind != FeatureKind::kCategorical) plan.numeric_columns.push_back(column);
  }
  if (!spec.group.empty() && (labels_required || by_name.Has(spec.group))) {
    STRATA_ASSIGN(plan.group, by_name.Share(spec.group, "the group", plan.label));
  }
  STRATA_TRY(by_name.CheckAllUsed());
  std::ranges::sort(plan.numeric_columns);
  const auto repeats = std::ranges::unique(plan.numeric_columns);
  plan.numeric_columns.erase(repeats.begin(), repeats.end());
  return plan;
}

const char* FeatureKindName(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kNumeric:
      return "numeric";
    case FeatureKind::kBucketised:
      return "bucketised";
    case FeatureKind::kCategorical:
      return "categorical";
  }
  return "";
}

const char* SparseFormatName(SparseFormat format) {
  return format == SparseFormat::kLibffm ? "libffm" : "libsvm";
}

std::string FeatureText(const FeatureSpec& feature) {
  std::string more;
  if (feature.kind == FeatureKind::kBucketised) more = fmt::format("buckets {}", feature.buckets);
  if (feature.log) more = "log";
  if (feature.standardise) more += more.empty() ? "standardise" : ", standardise";
  if (!feature.keys_of.empty()) more = fmt::format("keys of '{}'", feature.keys_of);
  return fmt::format("{} '{}'{}", FeatureKindName(feature.kind), feature.column,
                     more.empty() ? "" : fmt::format(" ({})", more));
}

}  // namespace strata
