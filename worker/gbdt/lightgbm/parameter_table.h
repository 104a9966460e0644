// The one table of the parameters of boosted trees: LightGBM's names, aliases and defaults
// (docs/Parameters.rst of LightGBM 4.7). train.conf, section [gbdt] of job.toml, --help texts and
// docs/configuration.md all come from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/gbdt/parameters/parameter_member.h"

namespace strata {

inline constexpr double kAnyNumber = 1e308;

// What a key sets. The default is what LightGbmDefaults says there.
struct ParameterRow {
  std::string_view name;
  std::string_view aliases;  // separated by blanks
  ParameterMember member;
  std::string_view help;     // full sentences, for people
  double min = -kAnyNumber;  // of numbers
  double max = kAnyNumber;
  std::string_view choices = {};  // "a|b"; of texts
};
std::span<const ParameterRow> ParameterRows();

// The parameters where nothing is set: the parts' own defaults, which are LightGBM's, and the names
// of its files.
TreeParameters LightGbmDefaults();

// The row that a name or an alias means; null: there is none.
const ParameterRow* FindParameter(std::string_view key);
// Its name; of a key without a row, the key.
std::string_view NameOf(std::string_view key);

// A key that LightGBM knows and Strata does not support, with the value at which it has no effect.
struct UnsupportedParameter {
  std::string_view name;
  std::string_view idle;
  std::string_view help;  // what it does there
};
std::span<const UnsupportedParameter> UnsupportedParameters();

// Keys that change how LightGBM works, not what comes out: any value is fine.
struct IdleParameter {
  std::string_view names;  // one and its aliases, separated by blanks
  std::string_view help;   // why there is nothing to choose here
};
std::span<const IdleParameter> ParametersWithoutEffect();
bool IsWithoutEffect(std::string_view key);

// The first of LightGBM's names for a value of a parameter that has choices ("l2" of objective is
// "regression").
std::string_view CanonicalChoice(std::string_view parameter, std::string_view value);

}  // namespace strata
