#include "base/cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"

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

// The commands that take the flag, as they are called: "table drop".
void AddOwners(const CLI::App& app, const std::string& flag, const std::string& path,
               std::vector<std::string>* owners) {
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    const std::string name = path.empty() ? sub->get_name() : path + " " + sub->get_name();
    const std::vector<const CLI::Option*> options = sub->get_options();
    const bool owns = std::any_of(options.begin(), options.end(), [&](const CLI::Option* option) {
      return !option->get_positional() && option->check_name(flag) && flag != "--help";
    });
    if (owns) owners->push_back(name);
    AddOwners(*sub, flag, name, owners);
  }
}

// The subcommands that were given, such as "collection search".
std::string GivenCommand(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += (path.empty() ? "" : " ") + at->get_name();
  }
  return path;
}

// A flag that a command takes, and not where it was given.
std::optional<Status> Misplaced(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> owners;
  AddOwners(app, flag, "", &owners);
  if (owners.empty()) return std::nullopt;
  const std::string given = GivenCommand(app);
  if (std::ranges::find(owners, given) != owners.end()) {
    return Invalid(
        fmt::format("{} belongs to {}: expected it after that word (see --help)", flag, given));
  }
  return Invalid(fmt::format("{} belongs to {}{} (see --help)", flag, fmt::join(owners, ", "),
                             given.empty() ? "" : ", not to " + given));
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
  if (word.starts_with("-")) {
    const std::string_view flag = word.substr(0, word.find('='));
    if (const auto misplaced = Misplaced(app, std::string(flag))) return *misplaced;
    return UnknownWord("flag", flag, names.flags);
  }
  if (!names.commands.empty()) return UnknownWord("command", word, names.commands);
  if (names.one_word_each.empty()) return UnknownWord("argument", word, {});
  return Invalid(fmt::format(
      "unknown argument '{}': {} takes one word each time that it is given (see --help)", word,
      fmt::join(names.one_word_each, ", ")));
}

}  // namespace strata
