#include "base/cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"

namespace strata {
namespace {

struct Names {
  std::vector<std::string> commands;
  std::vector<std::string> flags;
  std::vector<std::string> one_word_each;  // flags that were given, and have a word each time
};

// What the command that was given takes, and those that it is a command of.
Names NamesOf(const CLI::App& app) {
  Names names;
  const CLI::App* at = &app;
  while (true) {
    for (const CLI::Option* known : at->get_options()) {
      if (known->get_positional()) continue;
      names.flags.push_back(known->get_name());
      const bool repeats = known->get_expected_max() == CLI::detail::expected_max_vector_size;
      if (repeats && !known->get_allow_extra_args() && known->count() > 0) {
        names.one_word_each.push_back(known->get_name());
      }
    }
    const std::vector<CLI::App*> given = at->get_subcommands();
    if (given.empty()) break;
    at = given.front();
  }
  for (const CLI::App* sub : at->get_subcommands(nullptr)) {
    names.commands.push_back(sub->get_name());
  }
  return names;
}

}  // namespace

Status CheckNoEmptyValue(std::span<const char* const> words, std::string_view but) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      return Invalid(fmt::format("{}: expected a value behind the '=', found none", word));
    }
    const std::string_view before = words[i - 1];
    if (word.empty() && i > 1 && before.starts_with("-") && before != but) {
      return Invalid(fmt::format("{}: expected a value, found an empty one", before));
    }
  }
  return {};
}

Status UsageError(const CLI::App& app, const CLI::ParseError& error) {
  // CLI11 reports a word it could not place either as left over or as something else that lacks.
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return Invalid(fmt::format("{} (see --help)", error.what()));
  const Names names = NamesOf(app);
  const std::string_view word = words.front();
  if (word.starts_with("-"))
    return UnknownWord("flag", word.substr(0, word.find('=')), names.flags);
  if (!names.commands.empty()) return UnknownWord("command", word, names.commands);
  if (names.one_word_each.empty()) return UnknownWord("argument", word, {});
  return Invalid(fmt::format(
      "unknown argument '{}': {} takes one word each time that it is given (see --help)", word,
      fmt::join(names.one_word_each, ", ")));
}

}  // namespace strata
