#include "worker/tasks/catboost/pool_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/human_text.h"

namespace strata {
namespace {

// "\t" is a tab.
Result<char> ParseDelimiter(const std::string& text) {
  if (text == "\\t") return '\t';
  if (text.size() == 1 && text[0] != '"') return text[0];
  return Invalid(
      fmt::format("delimiter: expected one character, or \\t, found '{}'", ShownBytes(text)));
}

}  // namespace

Result<std::vector<KeyWord>> SplitWords(std::span<const std::string> words,
                                        std::string_view (*key_of)(std::string_view)) {
  std::vector<KeyWord> split;
  std::set<std::string_view> seen;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == word.npos) {
      return Invalid(fmt::format("'{}': expected key=value", ShownBytes(word)));
    }
    const std::string_view key = key_of(std::string_view(word).substr(0, equals));
    if (!seen.insert(key).second) {
      return Invalid(fmt::format("command line: {} is given twice: give it once", key));
    }
    split.push_back({key, std::string_view(word).substr(equals + 1)});
  }
  return split;
}

Result<PoolOptions> ReadPoolOptions(const Settings& settings, std::string_view path_key) {
  PoolOptions options = {.path = settings.Text(path_key),
                         .column_description = settings.Text("column_description"),
                         .has_header = settings.Bool("has_header")};
  STRATA_ASSIGN(options.delimiter, ParseDelimiter(settings.Text("delimiter")));
  return options;
}

Status CheckIsJson(std::string_view option, std::string_view path) {
  if (!path.ends_with(".cbm")) return {};
  return Invalid(fmt::format(
      "{} = {}: CatBoost's binary format (.cbm) is not written, but its JSON: name a .json, which "
      "CatBoost loads by load_model(FILE, format=\"json\")",
      option, ShownBytes(path)));
}

int ThreadCount(const Settings& settings) {
  return static_cast<int>(std::max<int64_t>(0, settings.Int("thread_count")));
}

}  // namespace strata
