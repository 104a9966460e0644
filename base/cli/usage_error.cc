#include "base/cli/usage_error.h"

#include <fmt/format.h>

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
};

// What the command that was given takes, and those that it is a command of.
Names NamesOf(const CLI::App& app) {
  Names names;
  const CLI::App* at = &app;
  while (true) {
    for (const CLI::Option* known : at->get_options()) {
      if (!known->get_positional()) names.flags.push_back(known->get_name());
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
  return UnknownWord(names.commands.empty() ? "argument" : "command", word, names.commands);
}

}  // namespace strata
