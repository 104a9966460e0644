// What programs say on stdout and stderr. fmt::print throws where a file takes no more, as on a
// full disk; these do not. Thread-safe.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "strata/status.h"

namespace strata {

// Through the file's buffer and out of it. False: the file takes no more; errno says why.
bool WriteOut(std::FILE* file, std::string_view text);

// kFailed: stdout takes no more, and why.
Status WriteStdout(std::string_view text);

// True: what stdout leads to has nobody who reads it, a pipe whose reader has ended for one.
bool IsStdoutUnread();

// Gives standard input, output and error a descriptor where the caller has closed theirs, so that
// no file that is opened later takes its number and gets what is printed. Output then has nobody
// who reads it. First of all in main().
void OpenMissingStreams();

template <typename... Args>
Status PrintStdout(fmt::format_string<Args...> format, Args&&... args) {
  return WriteStdout(fmt::format(format, std::forward<Args>(args)...));
}

// What stderr does not take is lost: there is nobody else to tell.
template <typename... Args>
void PrintStderr(fmt::format_string<Args...> format, Args&&... args) {
  WriteOut(stderr, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace strata
