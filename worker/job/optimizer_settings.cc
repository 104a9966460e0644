#include "worker/job/optimizer_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <vector>

#include "storage/optimizer_fields.h"
#include "strata/table_spec.h"

namespace strata {
namespace {

constexpr std::string_view kSparse = "sparse.";
constexpr std::string_view kRule = "optimizer";

// Where the settings of an optimizer stand.
struct Place {
  const Settings& settings;
  std::string prefix;   // of a field's key: "sparse.", or "" in a [[table]]
  std::string section;  // for messages: "sparse", "table"

  std::string KeyOf(std::string_view field) const { return prefix + std::string(field); }
  bool Has(std::string_view field) const { return settings.IsSet(KeyOf(field)); }
};

void Take(const Place& place, const OptimizerField& field, OptimizerSpec* spec) {
  const std::string key = place.KeyOf(field.name);
  if (field.real != nullptr) {
    spec->*field.real = static_cast<float>(place.settings.Float(key));
  } else {
    spec->*field.steps = static_cast<uint64_t>(place.settings.Int(key));
  }
}

void Reset(const OptimizerField& field, OptimizerSpec* spec) {
  const OptimizerSpec unset;
  if (field.real != nullptr) {
    spec->*field.real = unset.*field.real;
  } else {
    spec->*field.steps = unset.*field.steps;
  }
}

// What is set must be of use and within its bounds.
Status Check(const Place& place, const OptimizerSpec& spec) {
  for (const OptimizerField& field : OptimizerFields()) {
    if (!place.Has(field.name)) continue;
    const std::string shown = fmt::format("{}.{}", place.section, field.name);
    const std::string origin = place.settings.Origin(place.KeyOf(field.name));
    if (!field.is_used(spec)) {
      return Invalid(
          fmt::format("{}: {} has no effect {}: remove it", origin, shown, field.WhyUnused(spec)));
    }
    STRATA_TRY(field.Validate(spec).Prefixed(shown).Prefixed(origin));
  }
  return ValidateOptimizer(spec, place.section).Prefixed(place.settings.Where());
}

}  // namespace

Result<OptimizerSpec> ReadOptimizer(const Settings& settings, const std::string& section) {
  const Place place{settings, section + ".", section};
  OptimizerSpec spec;
  STRATA_ASSIGN(spec.kind, ParseOptimizerKind(settings.Text(place.KeyOf(kRule))));
  for (const OptimizerField& field : OptimizerFields()) Take(place, field, &spec);
  STRATA_TRY(Check(place, spec));
  return spec;
}

Result<OptimizerSpec> ReadTableOptimizer(const Settings& table, const OptimizerSpec& sparse) {
  const Place place{table, "", "table"};
  OptimizerSpec spec = sparse;
  if (place.Has(kRule)) {
    STRATA_ASSIGN(spec.kind, ParseOptimizerKind(table.Text(kRule)));
  }
  for (const OptimizerField& field : OptimizerFields()) {
    if (place.Has(field.name)) Take(place, field, &spec);
  }
  for (const OptimizerField& field : OptimizerFields()) {
    if (!place.Has(field.name) && !field.is_used(spec)) Reset(field, &spec);
  }
  STRATA_TRY(Check(place, spec));
  return spec;
}

std::string TableOptimizerToToml(const OptimizerSpec& spec, const OptimizerSpec& sparse) {
  if (spec == sparse) return "";
  std::string text = fmt::format("optimizer = \"{}\"\n", OptimizerKindName(spec.kind));
  for (const OptimizerField& field : OptimizerFields()) {
    if (!field.is_used(spec)) continue;
    if (field.real != nullptr) {
      text += fmt::format("{} = {}\n", field.name, spec.*field.real);
    } else {
      text += fmt::format("{} = {}\n", field.name, spec.*field.steps);
    }
  }
  return text;
}

std::span<const Setting> TableOptimizerRows(std::span<const Setting> job_rows) {
  static std::deque<std::string> helps;  // what the rows' views see
  static const std::vector<Setting> rows = [&] {
    std::vector<Setting> found;
    for (const Setting& row : job_rows) {
      if (!row.key.starts_with(kSparse)) continue;
      const std::string_view name = row.key.substr(kSparse.size());
      const bool is_field = std::ranges::count(OptimizerFields(), name, &OptimizerField::name) != 0;
      if (!is_field && name != kRule) continue;
      helps.push_back(fmt::format("{} of this table's rows. Without it, that of [sparse].", name));
      Setting& own = found.emplace_back(row);
      own.key = name;
      own.default_value = {};
      own.help = helps.back();
    }
    return found;
  }();
  return rows;
}

}  // namespace strata
