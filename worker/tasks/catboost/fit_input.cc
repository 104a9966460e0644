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

  // What `words` give is passed over.
  Status AddFile(Disk& disk, const std::string& path, const std::vector<KeyWord>& words) {
    STRATA_ASSIGN(const std::string text, ReadTextFile(disk, path, kParamsBytesMax));
    STRATA_ASSIGN(const nlohmann::json json, ParseJson(text, path));
    if (!json.is_object()) return JsonAt(json, path).Expected("an object of parameters");
    std::set<std::string_view> seen;
    for (const auto& [name, value] : json.items()) {
      const std::string_view key = FitKey(name);
      if (value.is_null() || std::ranges::find(words, key, &KeyWord::key) != words.end()) continue;
      if (!seen.insert(key).second) {
        Note(Invalid(fmt::format("{}: {} is given twice: give it once", path, key)));
        continue;
      }
      const Result<std::string> as_text =
          ParameterText(key, JsonAt(value, fmt::format("{}: {}", path, name)));
      if (as_text.ok()) {
        Set(key, *as_text, path);
      } else {
        Note(as_text.status());
      }
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
  std::vector<std::string> errors_;
};

}  // namespace

Result<Settings> ReadFitSettings(Disk& disk, const std::string& params_file,
                                 std::span<const std::string> words) {
  STRATA_ASSIGN(const std::vector<KeyWord> given, SplitWords(words, FitKey));
  Reading reading;
  const Status added = reading.AddFile(disk, params_file, given);
  // People write this file: it is wrong rather than damaged.
  if (added.code() == StatusCode::kCorrupt) return Invalid(added.message());
  STRATA_TRY(added);
  for (const KeyWord& word : given) reading.Set(word.key, word.value, "command line");
  return std::move(reading).Finish();
}

}  // namespace strata
