#include "worker/gbdt/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>
#include <variant>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "base/settings/settings.h"
#include "worker/gbdt/parameter_conflicts.h"
#include "worker/gbdt/parameter_table.h"

namespace strata {
namespace {

constexpr uint64_t kConfBytesMax = 16 << 20;
constexpr const char* kCommandLine = "command line";  // an origin

using Texts = std::vector<std::string>;
using P = TreeParameters;
using S = SplitRules;
using B = BinningRules;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\"'");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"'") - begin + 1);
}

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
  if (!read || number != number ||
      (whole && number != static_cast<double>(static_cast<int64_t>(number)))) {
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

// Sets what the row's target points at.
class Setter {
 public:
  Setter(const Given& given, const ParameterRow& row, TreeParameters* out)
      : given_(given), row_(row), out_(out) {}

  Status operator()(std::string P::*member) const {
    std::string value(given_.value);
    if (!row_.choices.empty()) {
      value = CanonicalChoice(row_.name, LowerCase(value));
      if (("|" + std::string(row_.choices) + "|").find("|" + value + "|") == std::string::npos) {
        return Wrong(given_, "one of " + std::string(row_.choices));
      }
    }
    out_->*member = value;
    return {};
  }
  Status operator()(Texts P::*member) const {
    out_->*member = SplitList(row_.name == "metric" ? LowerCase(given_.value) : given_.value);
    if (IsListOfColumns(row_)) NameEach(&(out_->*member));
    return {};
  }
  Status operator()(bool P::*member) const { return Bool(&(out_->*member)); }
  Status operator()(bool B::*member) const { return Bool(&(out_->binning.*member)); }
  Status operator()(int64_t P::*member) const { return Number(&(out_->*member), true); }
  Status operator()(double P::*member) const { return Number(&(out_->*member), false); }
  Status operator()(double S::*member) const { return Number(&(out_->rules.*member), false); }
  Status operator()(int64_t S::*member) const { return Number(&(out_->rules.*member), true); }
  Status operator()(int32_t S::*member) const { return Number(&(out_->rules.*member), true); }
  Status operator()(int64_t B::*member) const { return Number(&(out_->binning.*member), true); }
  Status operator()(uint32_t B::*member) const { return Number(&(out_->binning.*member), true); }
  Status operator()(std::vector<int64_t> P::*member) const { return List(&(out_->*member), true); }
  Status operator()(std::vector<double> P::*member) const { return List(&(out_->*member), false); }

 private:
  Status Bool(bool* out) const {
    STRATA_ASSIGN(*out, BoolOf(given_));
    return {};
  }
  template <typename T>
  Status Number(T* out, bool whole) const {
    STRATA_ASSIGN(const double number, NumberOf(given_, given_.value, row_, whole));
    *out = static_cast<T>(number);
    return {};
  }
  template <typename T>
  Status List(std::vector<T>* out, bool whole) const {
    out->clear();
    for (const std::string& part : SplitList(given_.value)) {
      STRATA_ASSIGN(const double number, NumberOf(given_, part, row_, whole));
      out->push_back(static_cast<T>(number));
    }
    return {};
  }

  const Given& given_;
  const ParameterRow& row_;
  TreeParameters* out_;
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
struct ModelText {
  const TreeParameters& p;

  std::string Of(bool value) const { return value ? "1" : "0"; }
  std::string Of(const std::string& value) const { return value; }
  template <typename T>
  std::string Of(const std::vector<T>& values) const {
    return fmt::format("{}", fmt::join(values, ","));
  }
  template <typename T>
  std::string Of(T number) const {
    return fmt::format("{}", number);
  }
  template <typename T>
  std::string operator()(T P::*member) const {
    return Of(p.*member);
  }
  template <typename T>
  std::string operator()(T S::*member) const {
    return Of(p.rules.*member);
  }
  template <typename T>
  std::string operator()(T B::*member) const {
    return Of(p.binning.*member);
  }
};

// Whether LightGBM loads a model in which a parameter is so: its reader makes JSON of them, where
// a list of columns has numbers alone and nothing is escaped.
bool IsReadByLightGbm(const ParameterRow& row, std::string_view value) {
  if (IsListOfColumns(row)) {
    return value.find_first_not_of("0123456789,") == value.npos;
  }
  return value.find_first_of("\"\\\n") == value.npos;
}

// The name that a key means.
std::string_view NameOf(const Given& given) {
  const ParameterRow* row = FindParameter(given.key);
  return row != nullptr ? row->name : given.key;
}

Status Apply(const Given& given, TreeParameters* out) {
  if (const ParameterRow* row = FindParameter(given.key); row != nullptr) {
    STRATA_TRY(std::visit(Setter(given, *row, out), row->target));
    if (IsOfTheRun(row->name)) return {};
    const std::string text = std::visit(ModelText{*out}, row->target);
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
  next("data_random_seed", &out->data_random_seed);
  next("bagging_seed", &out->bagging_seed);
  next("drop_seed", &out->drop_seed);
  next("feature_fraction_seed", &out->feature_fraction_seed);
  next("objective_seed", &out->objective_seed);
  next("extra_seed", &out->extra_seed);
}

// "conf:3, command line": where the parameters of these names were given; `file`, if none was.
std::string OriginsOf(std::span<const std::string_view> names, std::span<const Given> given,
                      const std::string& file) {
  std::vector<std::string_view> origins;
  for (const Given& one : given) {
    if (std::ranges::count(names, NameOf(one)) == 0) continue;
    if (std::ranges::count(origins, one.origin) == 0) origins.push_back(one.origin);
  }
  if (origins.empty()) return file;
  std::ranges::sort(origins);
  return fmt::format("{}", fmt::join(origins, ", "));
}

}  // namespace

Result<TreeParameters> MakeTreeParameters(std::span<const GivenParameter> given,
                                          const std::string& file) {
  TreeParameters parameters;
  std::vector<std::string_view> names;
  for (const Given& one : given) {
    STRATA_TRY(Apply(one, &parameters));
    names.push_back(NameOf(one));
  }
  DeriveSeeds(names, &parameters);
  if (parameters.boosting == "goss") {  // LightGBM's older name
    parameters.boosting = "gbdt";
    parameters.data_sample_strategy = "goss";
  }
  parameters.binning.min_data_in_leaf = parameters.rules.min_data_in_leaf;
  if (const auto conflict = FindConflict(parameters); conflict.has_value()) {
    return Invalid(fmt::format("{}: {}", OriginsOf(conflict->keys, given, file), conflict->what));
  }
  return parameters;
}

Result<TreeParameters> ParseLightGbmConf(std::string_view text, const std::string& file,
                                         std::span<const std::string> overrides) {
  std::vector<Given> all;
  // The command line comes first and wins; within one place a key stands once.
  const auto add = [&all](std::string_view assignment, size_t equals,
                          const std::string& origin) -> Status {
    Given one = {std::string(Trimmed(assignment.substr(0, equals))),
                 std::string(Trimmed(assignment.substr(equals + 1))), origin};
    const auto earlier =
        std::ranges::find_if(all, [&](const Given& other) { return NameOf(other) == NameOf(one); });
    if (earlier == all.end()) {
      all.push_back(std::move(one));
    } else if (earlier->origin != kCommandLine) {
      return Invalid(
          fmt::format("{}: {} is set again; it was at {}", origin, one.key, earlier->origin));
    }
    return {};
  };
  for (auto it = overrides.rbegin(); it != overrides.rend(); ++it) {  // the last one wins
    const size_t equals = it->find('=');
    if (equals == std::string::npos) {
      return Invalid(fmt::format("{}: '{}': expected key=value", kCommandLine, ShownBytes(*it)));
    }
    STRATA_TRY(add(*it, equals, kCommandLine));
  }
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    line = Trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Invalid(
          fmt::format("{}:{}: expected key = value, found '{}'", file, number, ShownBytes(line)));
    }
    STRATA_TRY(add(line, equals, fmt::format("{}:{}", file, number)));
  }
  return MakeTreeParameters(all, file);
}

Result<TreeParameters> LoadLightGbmConf(Disk& disk, const std::string& path,
                                        std::span<const std::string> overrides) {
  const Result<std::string> text = ReadTextFile(disk, path, kConfBytesMax);
  if (!text.ok()) return text.status().Prefixed("the configuration");
  return ParseLightGbmConf(*text, path, overrides);
}

}  // namespace strata
