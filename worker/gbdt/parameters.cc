#include "worker/gbdt/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <variant>

#include "base/settings.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/growth_parameters.h"
#include "worker/gbdt/parameter_table.h"

namespace strata {
namespace {

constexpr uint64_t kConfBytesMax = 16 << 20;
constexpr const char* kCommandLine = "command line";

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
                             given.value));
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

Result<bool> BoolOf(const Given& given) {
  if (given.value == "true" || given.value == "1" || given.value == "+" || given.value == "True") {
    return true;
  }
  if (given.value == "false" || given.value == "0" || given.value == "-" ||
      given.value == "False") {
    return false;
  }
  return Wrong(given, "true or false");
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
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
  constexpr std::string_view kNames[] = {"task",     "num_threads",           "device_type",
                                         "num_gpu",  "tree_learner",          "num_machines",
                                         "machines", "machine_list_filename", "local_listen_port",
                                         "time_out", "pre_partition",         "report_file"};
  return std::ranges::count(kNames, name) > 0;
}

// The name that a key means.
std::string_view NameOf(const Given& given) {
  const ParameterRow* row = FindParameter(given.key);
  return row != nullptr ? row->name : given.key;
}

Status Apply(const Given& given, TreeParameters* out) {
  if (const ParameterRow* row = FindParameter(given.key); row != nullptr) {
    if (!IsOfTheRun(row->name)) out->set.emplace_back(row->name, given.value);
    return std::visit(Setter(given, *row, out), row->target);
  }
  if (std::ranges::count(ParametersWithoutEffect(), given.key) > 0) return {};
  for (const UnsupportedParameter& known : UnsupportedParameters()) {
    if (known.name != given.key) continue;
    if (given.value == known.idle) return {};
    return Invalid(fmt::format(
        "{}: {} is a parameter of LightGBM that Strata does not support: remove it{}", given.origin,
        given.key, known.idle.empty() ? "" : fmt::format(" (or leave it at {})", known.idle)));
  }
  std::vector<std::string_view> names;
  for (const ParameterRow& row : ParameterRows()) names.push_back(row.name);
  const std::string_view nearest = NearestName(given.key, names);
  return Invalid(fmt::format("{}: unknown parameter '{}'{}", given.origin, given.key,
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

// What is wrong with how rows are sampled; nothing: "".
std::string SamplingProblem(const TreeParameters& p) {
  const bool balanced = p.pos_bagging_fraction != 1 || p.neg_bagging_fraction != 1;
  const bool bags = p.bagging_freq > 0 && (p.bagging_fraction != 1 || balanced);
  if (p.data_sample_strategy == "goss") {
    if (p.top_rate + p.other_rate > 1) {
      return fmt::format("top_rate + other_rate is {}: expected at most 1",
                         p.top_rate + p.other_rate);
    }
    if (bags || p.bagging_by_query) return "goss and bagging exclude each other: remove one";
    return {};
  }
  if (p.bagging_freq == 0 && (p.bagging_fraction != 1 || balanced)) {
    return fmt::format(
        "{} has no effect while bagging_freq is 0: set bagging_freq = 1",
        balanced ? "pos_bagging_fraction or neg_bagging_fraction" : "bagging_fraction");
  }
  if (p.bagging_by_query && !bags) {
    return "bagging_by_query has no effect without bagging_freq and bagging_fraction";
  }
  if (balanced && p.objective != "binary") {
    return "pos_bagging_fraction and neg_bagging_fraction need objective = binary";
  }
  if (balanced && (p.bagging_fraction != 1 || p.bagging_by_query)) {
    return "pos_bagging_fraction and neg_bagging_fraction exclude bagging_fraction and "
           "bagging_by_query: remove one of them";
  }
  if (p.boosting == "rf" && !bags && p.feature_fraction == 1) {
    return "boosting = rf needs trees that differ: set bagging_freq and bagging_fraction, or "
           "feature_fraction";
  }
  return {};
}

// What only several values together show.
Status CheckTogether(const std::string& file, const TreeParameters& p) {
  const auto wrong = [&](const std::string& what) {
    return Invalid(fmt::format("{}: {}", file, what));
  };
  const bool multiclass = p.objective == "multiclass" || p.objective == "multiclassova";
  if (multiclass && p.num_class < 2) {
    return wrong(fmt::format("objective = {} needs num_class of at least 2", p.objective));
  }
  if (!multiclass && p.num_class != 1) {
    return wrong(fmt::format("num_class = {} has no effect on objective = {}: remove it",
                             p.num_class, p.objective));
  }
  const Result<DeviceChoice> device = ParseDevice(p.device_type);
  if (!device.ok()) return wrong(fmt::format("device_type: {}", device.status().message()));
  if (p.num_gpu > 1 && device->kind == DeviceKind::kCpu) {
    return wrong(
        fmt::format("num_gpu = {} has no effect on device_type = {}: set device_type to "
                    "cuda, or remove num_gpu",
                    p.num_gpu, p.device_type));
  }
  if (p.gradient_bits != 0 && p.gradient_bits != 16 && p.gradient_bits != 32) {
    return wrong(
        fmt::format("gradient_bits: expected 16, 32, or 0 for the one that fits the data; found {}",
                    p.gradient_bits));
  }
  if (p.reg_sqrt && p.objective != "regression") {
    return wrong(fmt::format("reg_sqrt has no effect on objective = {}: remove it", p.objective));
  }
  if ((p.is_unbalance || p.scale_pos_weight != 1) && p.objective != "binary") {
    return wrong(fmt::format("is_unbalance and scale_pos_weight need objective = binary, found {}",
                             p.objective));
  }
  if (p.is_unbalance && p.scale_pos_weight != 1) {
    return wrong("is_unbalance and scale_pos_weight exclude each other: remove one");
  }
  if (const std::string what = SamplingProblem(p); !what.empty()) return wrong(what);
  if (const std::string what = GrowthProblem(p); !what.empty()) return wrong(what);
  if (p.boosting == "dart" && p.early_stopping_round > 0) {
    return wrong(
        "early_stopping_round cannot be used with boosting = dart, which changes trees of earlier "
        "rounds: remove one");
  }
  if (p.objective == "quantile" && p.alpha >= 1)
    return wrong("alpha: expected below 1 for quantile");
  const auto unsupported = [&](const std::string& what) {
    return wrong(what + " is not supported yet");
  };
  if (p.task == "refit" && p.rules.path_smooth > 0) {
    return unsupported("path_smooth in task = refit");
  }
  if (p.predict_raw_score + p.predict_leaf_index + p.predict_contrib > 1) {
    return wrong(
        "predict_raw_score, predict_leaf_index and predict_contrib exclude each other: keep one");
  }
  if (p.pred_early_stop && (p.predict_leaf_index || p.predict_contrib)) {
    return wrong("pred_early_stop goes with scores, not with predict_leaf_index, predict_contrib");
  }
  if (p.quant_train_renew_leaf && !p.use_quantized_grad) {
    return wrong("quant_train_renew_leaf has no effect without use_quantized_grad: remove it");
  }
  return {};
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
  STRATA_TRY(CheckTogether(file, parameters));
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
      return Invalid(fmt::format("'{}': expected key=value", *it));
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
          fmt::format("{}:{}: expected key = value, found '{}'", file, number, line.substr(0, 80)));
    }
    STRATA_TRY(add(line, equals, fmt::format("{}:{}", file, number)));
  }
  return MakeTreeParameters(all, file);
}

Result<TreeParameters> LoadLightGbmConf(Disk& disk, const std::string& path,
                                        std::span<const std::string> overrides) {
  const Result<std::string> text = ReadFile(disk, path, kConfBytesMax);
  if (!text.ok()) return text.status().Prefixed("the configuration");
  return ParseLightGbmConf(*text, path, overrides);
}

}  // namespace strata
