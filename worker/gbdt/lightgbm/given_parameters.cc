#include "worker/gbdt/lightgbm/given_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <ranges>
#include <type_traits>
#include <variant>

#include "base/human_text.h"
#include "base/settings/settings.h"
#include "worker/gbdt/lightgbm/parameter_conflicts.h"
#include "worker/gbdt/lightgbm/parameter_table.h"

namespace strata {
namespace {

using Texts = std::vector<std::string>;

Texts SplitList(std::string_view text) {
  Texts parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = Trimmed(text.substr(0, comma));
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

using Given = GivenParameter;

Status Wrong(const Given& given, const std::string& expected) {
  return Invalid(fmt::format("{}: {}: expected {}, found '{}'", given.origin, given.key, expected,
                             ShownBytes(given.value)));
}

Result<double> NumberOf(const Given& given, std::string_view text, const ParameterRow& row,
                        bool whole) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool read = error == std::errc() && end == text.data() + text.size();
  constexpr double kWholeMax = 9007199254740992;  // 2^53: from there on a double leaves some out
  const bool is_whole = std::trunc(number) == number && std::abs(number) <= kWholeMax;
  if (!read || number != number || (whole && !is_whole)) {
    return Wrong(given, whole ? "a whole number" : "a number");
  }
  if (number < row.min || number > row.max) {
    if (row.max >= kAnyNumber) return Wrong(given, fmt::format("a number of at least {}", row.min));
    return Wrong(given, fmt::format("a number from {} to {}", row.min, row.max));
  }
  return number;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::optional<bool> BoolIn(std::string_view text) {
  const std::string value = LowerCase(text);
  if (value == "true" || value == "1" || value == "+") return true;
  if (value == "false" || value == "0" || value == "-") return false;
  return std::nullopt;
}

Result<bool> BoolOf(const Given& given) {
  const std::optional<bool> value = BoolIn(given.value);
  if (value.has_value()) return *value;
  return Wrong(given, "true or false");
}

// Whether two texts say the same: a number or a truth, however it is written.
bool SayTheSame(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text) -> std::optional<double> {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  if (a == b || (BoolIn(a).has_value() && BoolIn(a) == BoolIn(b))) return true;
  return number(a).has_value() && number(a) == number(b);
}

bool IsListOfColumns(const ParameterRow& row) {
  return row.name == "categorical_feature" || row.name == "ignore_column";
}

// In LightGBM's lists of columns the first word's "name:" says that all words are names.
void NameEach(Texts* columns) {
  constexpr std::string_view kName = "name:";
  if (columns->empty() || !columns->front().starts_with(kName)) return;
  for (std::string& column : *columns) {
    if (!column.starts_with(kName)) column.insert(0, kName);
  }
}

// Sets what the row's member points at.
class Setter {
 public:
  Setter(const Given& given, const ParameterRow& row) : given_(given), row_(row) {}

  Status operator()(std::string* out) const {
    std::string value(given_.value);
    if (!row_.choices.empty()) {
      value = CanonicalChoice(row_.name, LowerCase(value));
      if (("|" + std::string(row_.choices) + "|").find("|" + value + "|") == std::string::npos) {
        return Wrong(given_, "one of " + std::string(row_.choices));
      }
    }
    *out = value;
    return {};
  }
  Status operator()(Texts* out) const {
    *out = SplitList(row_.name == "metric" ? LowerCase(given_.value) : given_.value);
    if (IsListOfColumns(row_)) NameEach(out);
    return {};
  }
  Status operator()(bool* out) const {
    STRATA_ASSIGN(*out, BoolOf(given_));
    return {};
  }
  template <typename T>
  Status operator()(T* out) const {
    STRATA_ASSIGN(const double number, NumberOf(given_, given_.value, row_, std::is_integral_v<T>));
    *out = static_cast<T>(number);
    return {};
  }
  template <typename T>
  Status operator()(std::vector<T>* out) const {
    out->clear();
    for (const std::string& part : SplitList(given_.value)) {
      STRATA_ASSIGN(const double number, NumberOf(given_, part, row_, std::is_integral_v<T>));
      out->push_back(static_cast<T>(number));
    }
    return {};
  }

 private:
  const Given& given_;
  const ParameterRow& row_;
};

// Says how the work is done, not what is learned: models do not show it, so that they are the same
// however they were trained.
bool IsOfTheRun(std::string_view name) {
  constexpr std::string_view kNames[] = {"task",
                                         "num_threads",
                                         "device_type",
                                         "num_gpu",
                                         "gpu_device_id_list",
                                         "tree_learner",
                                         "num_machines",
                                         "machines",
                                         "machine_list_filename",
                                         "local_listen_port",
                                         "time_out",
                                         "pre_partition",
                                         "report_file"};
  return std::ranges::count(kNames, name) > 0;
}

// A value as LightGBM writes it into models, whose reader takes no other spelling.
template <typename T>
std::string ModelText(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "1" : "0";
  return fmt::format("{}", value);
}
template <typename T>
std::string ModelText(const std::vector<T>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

// Whether LightGBM loads a model in which a parameter is so: its reader makes JSON of them, where
// a list of columns has numbers alone and nothing is escaped.
bool IsReadByLightGbm(const ParameterRow& row, std::string_view value) {
  if (IsListOfColumns(row)) {
    return value.find_first_not_of("0123456789,") == value.npos;
  }
  return value.find_first_of("\"\\\n") == value.npos;
}

Status Apply(const Given& given, TreeParameters* out) {
  if (const ParameterRow* row = FindParameter(given.key); row != nullptr) {
    const ParameterPointer member = row->member(*out);
    STRATA_TRY(std::visit(Setter(given, *row), member));
    if (IsOfTheRun(row->name)) return {};
    const std::string text =
        std::visit([](const auto* value) { return ModelText(*value); }, member);
    if (IsReadByLightGbm(*row, text)) out->set.emplace_back(row->name, text);
    return {};
  }
  if (given.key == "config" || given.key == "config_file") {
    out->warnings.push_back(
        fmt::format("{}: {} = {} has no effect in a file, as in LightGBM: it is not read",
                    given.origin, given.key, ShownBytes(given.value)));
  }
  if (IsWithoutEffect(given.key)) return {};
  for (const UnsupportedParameter& known : UnsupportedParameters()) {
    if (known.name != given.key) continue;
    if (SayTheSame(given.value, known.idle)) return {};
    const size_t here = known.help.find("; here ");  // what does it in Strata
    std::string_view instead = here == known.help.npos ? "" : known.help.substr(here);
    if (instead.ends_with('.')) instead.remove_suffix(1);
    return Invalid(fmt::format(
        "{}: {} is a parameter of LightGBM that Strata does not support: remove it{}{}",
        given.origin, given.key,
        known.idle.empty() ? "" : fmt::format(" (or leave it at {})", known.idle), instead));
  }
  std::vector<std::string_view> names;
  std::vector<std::string_view> aliases;
  for (const ParameterRow& row : ParameterRows()) {
    names.push_back(row.name);
    for (const auto alias : std::views::split(row.aliases, ' ')) {
      aliases.emplace_back(alias.begin(), alias.end());
    }
  }
  std::string_view nearest = NearestName(given.key, names);
  if (nearest.empty()) nearest = NearestName(given.key, aliases);
  return Invalid(fmt::format("{}: unknown parameter '{}'{}", given.origin, ShownBytes(given.key),
                             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

// Seeds that are not set follow from `seed`, whose own sequence LightGBM draws from its generator.
void DeriveSeeds(const std::vector<std::string_view>& given, TreeParameters* out) {
  if (std::ranges::count(given, "seed") == 0) return;
  uint32_t state = static_cast<uint32_t>(out->seed);
  const auto next = [&](std::string_view name, int64_t* seed) {
    state = 214013U * state + 2531011U;
    const int64_t drawn = (state >> 16) & 0x7fff;
    if (std::ranges::count(given, name) == 0) *seed = drawn;
  };
  next("data_random_seed", &out->data.data_random_seed);
  next("bagging_seed", &out->boosting.bagging_seed);
  next("drop_seed", &out->boosting.drop_seed);
  next("feature_fraction_seed", &out->growth.feature_fraction_seed);
  next("objective_seed", &out->objective.objective_seed);
  next("extra_seed", &out->growth.extra_seed);
}

// "conf:3, command line": where the parameters of these names were given; `file`, if none was.
std::string OriginsOf(std::span<const std::string_view> names, std::span<const Given> given,
                      const std::string& file) {
  std::vector<std::string_view> origins;
  for (const Given& one : given) {
    if (std::ranges::count(names, NameOf(one.key)) == 0) continue;
    if (std::ranges::count(origins, one.origin) == 0) origins.push_back(one.origin);
  }
  if (origins.empty()) return file;
  std::ranges::sort(origins);
  return fmt::format("{}", fmt::join(origins, ", "));
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\"'");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"'") - begin + 1);
}

Result<TreeParameters> MakeTreeParameters(std::span<const GivenParameter> given,
                                          const std::string& file) {
  TreeParameters parameters = LightGbmDefaults();
  std::vector<std::string_view> names;
  for (const Given& one : given) {
    STRATA_TRY(Apply(one, &parameters));
    names.push_back(NameOf(one.key));
  }
  DeriveSeeds(names, &parameters);
  if (parameters.boosting.mode == "goss") {  // LightGBM's older name
    parameters.boosting.mode = "gbdt";
    parameters.boosting.data_sample_strategy = "goss";
  }
  parameters.data.binning.min_data_in_leaf = parameters.growth.rules.min_data_in_leaf;
  if (const auto conflict = FindConflict(parameters); conflict.has_value()) {
    return Invalid(fmt::format("{}: {}", OriginsOf(conflict->keys, given, file), conflict->what));
  }
  return parameters;
}

}  // namespace strata
