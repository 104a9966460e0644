// What programs whose command line CLI11 reads say of one that is wrong.
#pragma once

#include <span>
#include <string_view>

#include "strata/status.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace strata {

// Before parsing, of all words, the program's name first. CLI11 takes the next word for the value
// of "--option=", and of an option's empty word sees no trace later: kInvalid names such an option,
// unless it is `but`, which may be empty as a word of its own.
Status CheckNoEmptyValue(std::span<const char* const> words, std::string_view but = {});

// kInvalid. A word that `app` could not place is named as ParseCommandLine
// (base/settings/settings.h) does, with the nearest command or flag of all of its commands;
// anything else is told by `error`, which parsing has thrown.
Status UsageError(const CLI::App& app, const CLI::ParseError& error);

}  // namespace strata
