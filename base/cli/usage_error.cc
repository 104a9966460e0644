#include "base/cli/usage_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
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

Names NamesOf(const CLI::App& app) {
  Names names;
  std::vector<const CLI::App*> apps = {&app};
  for (size_t i = 0; i < apps.size(); ++i) {
    for (const CLI::App* sub : apps[i]->get_subcommands(nullptr)) {
      apps.push_back(sub);
      names.commands.push_back(sub->get_name());
    }
    for (const CLI::Option* known : apps[i]->get_options()) {
      if (!known->get_positional()) names.flags.push_back(known->get_name());
    }
  }
  return names;
}

}  // namespace

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
