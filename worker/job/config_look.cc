#include "worker/job/config_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/lightgbm/parameter_table.h"
#include "worker/job/job.h"

namespace strata {
namespace {

constexpr uint64_t kConfigBytesMax = 16 << 20;
constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// The first line that is neither blank nor a comment.
std::string_view FirstLine(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    if (!line.empty() && line.front() != '#') return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

bool IsSectionOfJobs(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of('['), line.size());
  const std::string_view name = line.substr(begin, line.find_first_of(".]", begin) - begin);
  const SettingsTable& table = JobSettingsTable();
  return std::ranges::any_of(
             table.settings,
             [&](const Setting& row) { return row.key.substr(0, row.key.find('.')) == name; }) ||
         std::ranges::any_of(table.repeated,
                             [&](const RepeatedSection& section) { return section.name == name; });
}

// "num_leaves = 7", where a value of TOML would be no section.
bool IsParameterOfConfs(std::string_view line) {
  const size_t equals = line.find('=');
  if (equals == line.npos || Trimmed(line.substr(equals + 1)).starts_with('{')) return false;
  return FindParameter(Trimmed(line.substr(0, equals))) != nullptr;
}

std::optional<ConfigKind> KindOf(std::string_view first_line) {
  if (first_line.starts_with('[')) {
    return IsSectionOfJobs(first_line) ? ConfigKind::kJob : ConfigKind::kCluster;
  }
  if (IsParameterOfConfs(first_line)) return ConfigKind::kLightGbmConf;
  return std::nullopt;
}

std::string_view NameOf(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::kJob:
      return "a job file";
    case ConfigKind::kLightGbmConf:
      return "a train.conf";
    case ConfigKind::kCluster:
      return "the cluster's file";
  }
  return "";
}

std::string_view WayOf(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::kJob:
      return "--job=FILE";
    case ConfigKind::kLightGbmConf:
      return "config=FILE, without dashes, or --lightgbm-conf=FILE";
    case ConfigKind::kCluster:
      return "--config=FILE";
  }
  return "";
}

}  // namespace

Status WithConfigLook(Disk& disk, const std::string& path, ConfigKind expected, const Status& of) {
  if (of.code() != StatusCode::kInvalid) return of;
  const Result<std::string> text = ReadTextFile(disk, path, kConfigBytesMax);
  if (!text.ok()) return of;
  const std::string_view line = FirstLine(*text);
  const std::optional<ConfigKind> kind = KindOf(line);
  // A misspelt section of a job file is no cluster's file.
  const bool both_toml = expected == ConfigKind::kJob && kind == ConfigKind::kCluster;
  if (!kind.has_value() || *kind == expected || both_toml) return of;
  return Invalid(fmt::format("{}: expected {}, found '{}', as {} begins: give it by {}", path,
                             NameOf(expected), ShownBytes(line), NameOf(*kind), WayOf(*kind)));
}

}  // namespace strata
