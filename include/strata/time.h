// Times and durations.
#pragma once

#include <cstdint>

namespace strata {

// Nanoseconds on a monotonic clock whose zero means nothing. Differences are durations.
using TimeNs = int64_t;

constexpr TimeNs kMicrosecond = 1'000;
constexpr TimeNs kMillisecond = 1'000'000;
constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kNever = INT64_MAX;  // a deadline that does not come

// This moment, for deadlines: Now() + 2 * kSecond. Thread-safe.
TimeNs Now();

}  // namespace strata
