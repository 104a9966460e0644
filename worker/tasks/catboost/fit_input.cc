#include "worker/tasks/catboost/fit_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"
#include "worker/gbdt/model/json_at.h"
#include "worker/tasks/catboost/fit_settings.h"
#include "worker/tasks/catboost/parameter_text.h"
#include "worker/tasks/catboost/pool_settings.h"
#include "worker/tasks/catboost/refused_parameters.h"

namespace strata {
namespace {

constexpr uint64_t kParamsBytesMax = 16 << 20;
constexpr size_t kErrorsShownMax = 10;
constexpr const char* kCommandLine = "command line";  // the origin of what it gives

bool IsInteger(std::string_view key) {
  return std::ranges::any_of(FitSettingsTable().settings, [key](const Setting& row) {
    return row.key == key && row.type == SettingType::kInt;
  });
}

// "7" of "7.0" and "7e0", which other programs write for whole numbers; all else as it is.
std::string WholeText(std::string_view text) {
  constexpr double kExactMax = 1LL << 53;
  double number = 0;
  const bool is_whole = text.find_first_of(".eE") != std::string_view::npos &&
                        ReadNumber(text, &number) && std::floor(number) == number &&
                        std::abs(number) <= kExactMax;
  return is_whole ? fmt::format("{}", static_cast<int64_t>(number)) : std::string(text);
}

class Reading {
 public:
  Reading() : settings_(FitSettingsTable()) {}

  void Set(std::string_view key, std::string_view text, const std::string& origin) {
    const RefusedParameter* const refused = FindRefused(key);
    const Status set = refused != nullptr ? CheckRefused(*refused, text, origin)
                       : IsInteger(key)   ? settings_.Set(key, WholeText(text), origin)
                                          : settings_.Set(key, text, origin);
    Note(set);
  }

  // Keys of the command line, which files do not change.
  void SetOverridden(std::set<std::string_view> keys) { overridden_ = std::move(keys); }

  // A parameter of a file, under one of its names.
  void Add(const std::string& name, const JsonAt& value, const std::string& origin) {
    const std::string_view key = FitKey(name);
    if (value.value().is_null() || overridden_.contains(key)) return;
    if (!seen_.emplace(key).second) {
      Note(Invalid(fmt::format("{}: {} is given twice: give it once", origin, key)));
      return;
    }
    const Result<std::string> as_text = ParameterText(key, value);
    if (as_text.ok()) {
      Set(key, *as_text, origin);
    } else {
      Note(as_text.status());
    }
  }

  Status AddFile(Disk& disk, const std::string& path) {
    STRATA_ASSIGN(const std::string text, ReadTextFile(disk, path, kParamsBytesMax));
    STRATA_ASSIGN(const nlohmann::json json, ParseJson(text, path));
    if (!json.is_object()) return JsonAt(json, path).Expected("an object of parameters");
    for (const auto& [name, value] : json.items()) {
      Add(name, JsonAt(value, fmt::format("{}: {}", path, name)), path);
    }
    return {};
  }

  Result<Settings> Finish() && {
    if (errors_.empty()) return std::move(settings_);
    std::string text;
    for (size_t i = 0; i < std::min(errors_.size(), kErrorsShownMax); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : "\n", errors_[i]);
    }
    if (errors_.size() > kErrorsShownMax) {
      text += fmt::format("\n{} more errors", errors_.size() - kErrorsShownMax);
    }
    return Invalid(text);
  }

 private:
  void Note(const Status& status) {
    if (!status.ok()) errors_.push_back(std::string(status.message()));
  }

  Settings settings_;
  std::set<std::string_view> overridden_;
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<Settings> ReadFitSettings(Disk& disk, const std::string& params_file,
                                 std::span<const std::string> words) {
  STRATA_ASSIGN(const std::vector<KeyWord> given, SplitWords(words, FitKey));
  Reading reading;
  std::set<std::string_view> keys;
  for (const KeyWord& word : given) keys.insert(word.key);
  reading.SetOverridden(std::move(keys));
  const Status added = reading.AddFile(disk, params_file);
  // People write this file: it is wrong rather than damaged.
  if (added.code() == StatusCode::kCorrupt) return Invalid(added.message());
  STRATA_TRY(added);
  for (const KeyWord& word : given) reading.Set(word.key, word.value, kCommandLine);
  return std::move(reading).Finish();
}

Result<Settings> ReadFitSettings(std::span<const OpenValue> parameters) {
  Reading reading;
  // What the command line gives comes first: it may be under another name than in the file.
  std::set<std::string_view> keys;
  for (const bool of_words : {true, false}) {
    for (const OpenValue& given : parameters) {
      if ((given.origin == kCommandLine) != of_words) continue;
      const Result<nlohmann::json> json = ParseJson(given.json, given.origin);
      if (!json.ok()) return Invalid(json.status().message());
      reading.Add(given.key, JsonAt(*json, fmt::format("{}: {}", given.origin, given.key)),
                  given.origin);
      if (of_words) keys.insert(FitKey(given.key));
    }
    reading.SetOverridden(keys);
  }
  return std::move(reading).Finish();
}

}  // namespace strata
