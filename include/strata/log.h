// What Strata's libraries say of their work: lines on stderr from kInfo on, unless a program says
// otherwise. Each component of an installation has it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace strata {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };

// Lines below the level are not written. Any thread.
void SetLogLevel(LogLevel level);

// Gets each line, without its time, on the thread that writes it, which may hold locks: it must not
// call Strata. Several threads may call it at once.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;
// From now on lines go to the sink; null: to stderr again. Any thread.
void SetLogSink(LogSink sink);

}  // namespace strata
