// Flags of the command line, by gflags. gflags' own parser ends the process on an unknown flag and
// silently obeys flags of its own (--flagfile, --fromenv, ...), so the walk over argv is ours: only
// what stands in the tables reaches gflags, which keeps and checks the values.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>

#include "base/settings/settings.h"
#include "base/settings/settings_value.h"

namespace strata {
namespace {

// The variables behind one registered flag. gflags keeps pointers to all of it for good.
struct FlagStorage {
  std::string name;
  std::string help;
  bool is_bool = false;
  bool bool_value = false;
  bool bool_default = false;
  std::string text_value;
  std::string text_default;
};

void RegisterFlag(const Setting& row) {
  static std::map<std::string, std::unique_ptr<FlagStorage>> registered;
  const std::string name(row.flag);
  const bool is_bool = row.type == SettingType::kBool;
  std::unique_ptr<FlagStorage>& storage = registered[name];
  if (storage != nullptr) {
    STRATA_CHECK_MSG(storage->is_bool == is_bool, "two types for the flag " + name);
    return;
  }
  gflags::CommandLineFlagInfo info;
  STRATA_CHECK_MSG(!gflags::GetCommandLineFlagInfo(name.c_str(), &info),
                   "gflags has a flag of its own named " + name);
  storage = std::make_unique<FlagStorage>();
  storage->name = name;
  storage->help = row.help;
  storage->is_bool = is_bool;
  // Other types are texts to gflags: units, bounds and choices are ours to check.
  if (is_bool) {
    gflags::FlagRegisterer(storage->name.c_str(), storage->help.c_str(), "strata",
                           &storage->bool_value, &storage->bool_default);
  } else {
    gflags::FlagRegisterer(storage->name.c_str(), storage->help.c_str(), "strata",
                           &storage->text_value, &storage->text_default);
  }
}

// The flags that one program offers: name -> row.
using KnownFlags = std::map<std::string, const Setting*>;

// Keys of files that have no flag, by their last word, as a flag would be named: "server.admit_from
// in cluster.toml".
using KeysOfFiles = std::map<std::string, std::vector<std::string>>;

class ArgumentParser {
 public:
  ArgumentParser(const KnownFlags& known, const KeysOfFiles& in_files, int argc, char** argv)
      : known_(known), in_files_(in_files), arguments_(argv + std::min(argc, 1), argv + argc) {}

  Status Parse() {
    while (next_ < arguments_.size()) {
      const std::string_view argument = arguments_[next_++];
      if (flags_ended_ || argument.size() < 2 || argument[0] != '-') {
        line_.positional.emplace_back(argument);
      } else if (argument == "--") {
        flags_ended_ = true;
      } else {
        STRATA_TRY(ParseFlag(argument));
      }
    }
    return Status::Ok();
  }

  CommandLine TakeLine() { return std::move(line_); }
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  Status ParseFlag(std::string_view argument) {
    std::string_view rest = argument.substr(argument[1] == '-' ? 2 : 1);
    const size_t equals = rest.find('=');
    const bool has_value = equals != std::string_view::npos;
    const std::string_view value = has_value ? rest.substr(equals + 1) : std::string_view();
    std::string name(rest.substr(0, equals));
    std::ranges::replace(name, '-', '_');
    if (name == "help" || name == "version" || argument == "-h") {
      if (has_value) return Invalid(fmt::format("--{} takes no value; found '{}'", name, value));
      (name == "version" ? line_.version : line_.help) = true;
      return Status::Ok();
    }
    if (const auto it = known_.find(name); it != known_.end()) {
      if (has_value) return Store(*it->second, std::string(value));
      return StoreBare(*it->second);
    }
    if (!has_value && name.starts_with("no")) {
      const auto it = known_.find(name.substr(2));
      if (it != known_.end() && it->second->type == SettingType::kBool) {
        return Store(*it->second, "false");
      }
    }
    const std::string_view flag = argument.substr(0, argument.find('='));
    if (const auto it = in_files_.find(name); it != in_files_.end()) {
      return Invalid(fmt::format("{} is no flag: set {}", flag, fmt::join(it->second, " or ")));
    }
    return Unknown(flag);
  }

  // --name without "=": true, or the next argument is the value.
  Status StoreBare(const Setting& row) {
    if (row.type == SettingType::kBool) return Store(row, "true");
    if (next_ == arguments_.size() || arguments_[next_].starts_with("--")) {
      return Invalid(fmt::format("--{} needs a value: {}", row.flag, DescribeExpected(row)));
    }
    return Store(row, std::string(arguments_[next_++]));
  }

  Status Store(const Setting& row, const std::string& value) {
    const std::string name(row.flag);
    if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      const std::string key = row.in_file ? " " + std::string(row.key) : "";
      return Invalid(fmt::format("--{}:{} {}", name, key,
                                 SettingMismatch(row, fmt::format("'{}'", value)).message()));
    }
    gflags::GetCommandLineOption(name.c_str(), &values_[name]);
    return Status::Ok();
  }

  Status Unknown(std::string_view flag) const {
    std::vector<std::string> names = {"--help", "--version"};
    for (const auto& [name, row] : known_) names.push_back("--" + name);
    return UnknownWord("flag", flag, names);
  }

  const KnownFlags& known_;
  const KeysOfFiles& in_files_;
  const std::vector<std::string_view> arguments_;
  size_t next_ = 0;
  bool flags_ended_ = false;
  CommandLine line_;
  std::map<std::string, std::string> values_;
};

// The given flags that belong to one table.
std::map<std::string, std::string> ValuesOf(const SettingsTable& table, uint32_t program,
                                            const std::map<std::string, std::string>& values) {
  std::map<std::string, std::string> own;
  for (const Setting& row : table.settings) {
    if ((row.programs & program) == 0) continue;
    const auto it = values.find(std::string(row.flag));
    if (it != values.end()) own.insert(*it);
  }
  return own;
}

Status ApplyFlags(const FlagTarget& target, uint32_t program,
                  const std::map<std::string, std::string>& values) {
  const std::map<std::string, std::string> own = ValuesOf(*target.table, program, values);
  if (target.before_flags) STRATA_TRY(target.before_flags(own));
  for (const Setting& row : target.table->settings) {
    if ((row.programs & program) == 0) continue;
    const auto it = own.find(std::string(row.flag));
    if (it == own.end()) continue;
    STRATA_TRY(target.settings->Set(row.key, it->second, "--" + it->first));
  }
  return Status::Ok();
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, char** argv, uint32_t program,
                                     std::span<const FlagTarget> targets) {
  KnownFlags known;
  KeysOfFiles in_files;
  for (const FlagTarget& target : targets) {
    for (const Setting& row : target.table->settings) {
      if (row.flag.empty()) {
        in_files[std::string(row.key.substr(row.key.rfind('.') + 1))].push_back(
            fmt::format("{} in {}", row.key, target.table->title));
      } else if ((row.programs & program) != 0) {
        RegisterFlag(row);
        known.emplace(row.flag, &row);
      }
    }
  }
  ArgumentParser parser(known, in_files, argc, argv);
  STRATA_TRY(parser.Parse());
  CommandLine line = parser.TakeLine();
  // Who asks for help gets it, whatever is wrong with a file.
  if (line.help || line.version) return line;
  for (const FlagTarget& target : targets) {
    STRATA_TRY(ApplyFlags(target, program, parser.values()));
  }
  return line;
}

}  // namespace strata
