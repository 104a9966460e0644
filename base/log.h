// Logging: lines on stderr, in a file or to a program's sink (strata/log.h), through spdlog, which
// only base/log.cc sees. A line is
//   2026-11-21T08:40:00.123Z info server-0 shard: table embedding created dim=17
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "strata/log.h"
#include "strata/status.h"

namespace strata {

Result<LogLevel> ParseLogLevel(std::string_view name);  // debug, info, warning, error, off

// Call once, before threads start. `node` stands in every line ("server-0"). An empty file: stderr.
Status StartLogging(LogLevel level, const std::string& node, const std::string& file);
void FlushLog();
// Opens the log's file anew, so that one that was renamed is let go and a new one begins. False:
// the log has no file. After an error lines go on to the old one. Any thread.
Result<bool> ReopenLog();

bool LogEnabled(LogLevel level);
void LogText(LogLevel level, std::string_view text);

// Log(LogLevel::kInfo, "table {} created", name). Thread-safe; the arguments are not formatted when
// the level is off.
template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level)) LogText(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace strata
