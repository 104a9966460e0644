// Settings: one table of rows per file kind (cluster.toml, job.toml); the TOML parser, the gflags
// flags, validation, --help and docs/configuration.md all come from it. Precedence: default < file
// < flag. An unknown key is an error with file, line and the nearest known key; so is a value of
// the wrong type or out of bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"

namespace strata {

enum class SettingType : uint8_t {
  kBool,
  kInt,    // bounds: min, max
  kFloat,  // bounds: min, max
  kText,
  kChoice,      // one of `choices`, "a|b|c"
  kBytes,       // "64MiB", "1.5GiB", or a plain count; bounds in bytes
  kDuration,    // "500ms", "10s", "2min"; bounds in nanoseconds
  kTextList,    // TOML array of strings; on a flag: comma-separated
  kTextOrList,  // TOML string, which is a list of one, or array; on a flag: comma-separated
  kIntList,
};

// One row. Rows are constants; text is for people and ends up in --help and docs/configuration.md.
struct Setting {
  std::string_view key = {};  // "server.lanes": section and key of the file; "" section: top level
  SettingType type = SettingType::kText;
  // It stands here as it would be written in the file; "" is an empty text or list. A number or
  // choice with "" is optional: it has no default and is asked for only where it is set.
  std::string_view default_value = {};
  std::string_view help = {};  // one or more full sentences, with the unit
  double min = -1e308;
  double max = 1e308;
  std::string_view choices = {};
  std::string_view flag = {};  // name of the gflags flag, "" when there is none
  uint32_t programs = 0;       // bit set of the programs that offer the flag
  bool in_file = true;         // false: flag only (--rank, --config)
};

// Whether it is a number or choice without a default.
bool IsOptional(const Setting& row);

// A key that people look for in vain, for it is known elsewhere: what its error says.
struct RefusedKey {
  std::string_view key = {};
  std::string_view why = {};  // "is ... : remove it"
};

// An array of tables in the file, [[column]] for instance. Its rows have keys without the section.
struct RepeatedSection {
  std::string_view name = {};
  std::string_view help = {};
  std::span<const Setting> settings = {};
  std::span<const RefusedKey> refused = {};
};

struct SettingsTable {
  std::string_view title = {};  // "cluster.toml", for messages and docs
  std::span<const Setting> settings = {};
  std::span<const RepeatedSection> repeated = {};
  std::span<const RefusedKey> refused = {};
  // A section that takes keys of any name besides its rows, with values of any kind: others know
  // them. Empty: there is none.
  std::string_view open_section = {};
};

// This is what an open section says of a key that has no row.
struct OpenValue {
  std::string key;     // without the section
  std::string json;    // the value as JSON; one of the command line is a text
  std::string origin;  // "job.toml:12:1"
};

// The effective values of one table (or of one element of a repeated section) with their origins.
// Asking for a key that the table does not have, or by another type, is a bug (STRATA_CHECK).
class Settings {
 public:
  explicit Settings(const SettingsTable& table);  // all defaults; the table outlives it
  Settings(const Settings&);
  Settings& operator=(const Settings&);
  Settings(Settings&&) noexcept;
  Settings& operator=(Settings&&) noexcept;
  ~Settings();

  // Reads TOML over what is there. `file` is the name used in messages. All errors of the file are
  // reported together, one a line, at most ten, each with line and column. A file with errors
  // changes nothing; with `keep_good` its good keys are taken, so that more of it can be checked.
  Status LoadToml(std::string_view text, const std::string& file, bool keep_good = false);
  // One key by its full name, as a flag or `section.key=value` on the command line gives it.
  Status Set(std::string_view key, std::string_view value, const std::string& origin);

  bool Bool(std::string_view key) const;
  int64_t Int(std::string_view key) const;
  double Float(std::string_view key) const;
  const std::string& Text(std::string_view key) const;  // kText and kChoice
  uint64_t Bytes(std::string_view key) const;
  TimeNs Duration(std::string_view key) const;
  // kTextList and kTextOrList
  const std::vector<std::string>& TextList(std::string_view key) const;
  const std::vector<int64_t>& IntList(std::string_view key) const;

  bool IsSet(std::string_view key) const;  // by a file or a flag, not by default
  // "default", "job.toml:12:1", "--lanes": put in front of a message about the value.
  std::string Origin(std::string_view key) const;

  // Elements of a repeated section, in file order.
  const std::vector<Settings>& Repeated(std::string_view section) const;
  // The values of the open section, one a key.
  const std::vector<OpenValue>& Open() const;
  // Where an element of a repeated section begins: "job.toml:31:1"; of the whole, the file.
  const std::string& Where() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What a program's command line said.
struct CommandLine {
  std::vector<std::string> positional;
  bool help = false;     // --help was given: print HelpText and exit 0
  bool version = false;  // --version
};

// Registers the flags of `program` (a bit of Setting::programs) of all tables with gflags and
// parses argv; returned values go into the matching Settings with origin "--name". Call once a
// process, from main. kInvalid names an unknown flag, with the nearest known one or the key of a
// file that has its name, and never exits by itself.
struct FlagTarget {
  const SettingsTable* table;
  Settings* settings;
  // Called between parsing and applying flags, so that the file named by a flag is loaded beneath
  // them: gets this target's flag values by name.
  std::function<Status(const std::map<std::string, std::string>& flags)> before_flags;
};
Result<CommandLine> ParseCommandLine(int argc, char** argv, uint32_t program,
                                     std::span<const FlagTarget> targets);

// --help of a program: usage line, summary, then each flag with type, default and help.
std::string HelpText(std::string_view usage, std::string_view summary, uint32_t program,
                     std::span<const SettingsTable* const> tables);
// One table's part of docs/configuration.md.
std::string SettingsMarkdown(const SettingsTable& table);

// The candidate with the smallest edit distance, "" when none is near enough to be meant.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

// "; did you mean 'lanes'?", or "" when none is near enough to be meant.
std::string NearestHint(std::string_view name, std::span<const std::string_view> candidates);

// kInvalid: "unknown flag '--lnaes'; did you mean '--lanes'? (see --help)". `kind`: "flag".
Status UnknownWord(std::string_view kind, std::string_view word,
                   std::span<const std::string> known);

// "64MiB", "39.9GiB": up to 18 digits behind the point, rounded down to a byte.
Result<uint64_t> ParseBytes(std::string_view text);
Result<TimeNs> ParseDuration(std::string_view text);  // "500ms"

}  // namespace strata
