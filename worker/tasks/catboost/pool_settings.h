// The options of files of rows, which the tasks of CatBoost have alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/pool_file.h"

namespace strata {

constexpr Setting kDelimiterSetting = {.key = "delimiter",
                                       .default_value = "\\t",
                                       .help = "The character between fields; \\t is a tab."};
constexpr Setting kHasHeaderSetting = {
    .key = "has_header",
    .type = SettingType::kBool,
    .default_value = "false",
    .help = "The first line of the rows holds the columns' names."};

// A key with its value.
struct KeyWord {
  std::string_view key;
  std::string_view value;
};

// What the words of a command line say, key=value each; it points into them. `key_of` gives the
// setting of a name. kInvalid: a word has no value, or a key is given twice.
Result<std::vector<KeyWord>> SplitWords(std::span<const std::string> words,
                                        std::string_view (*key_of)(std::string_view));

// The file of rows whose path is the setting `path_key`. kInvalid: a delimiter that is not one
// character, or is a double quote.
Result<PoolOptions> ReadPoolOptions(const Settings& settings, std::string_view path_key);

// kInvalid: the option names a model to write a .cbm, which is CatBoost's binary format.
Status CheckIsJson(std::string_view option, std::string_view path);

// The setting thread_count, of which -1 is one a core; 0 says that here.
int ThreadCount(const Settings& settings);

}  // namespace strata
