// Named threads.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "strata/status.h"

namespace strata {

// Low: for work that nobody waits for; it yields the processor to threads that serve requests.
enum class ThreadPriority { kNormal, kLow };

// Starts a thread that debuggers and top show as `name` (its first 15 bytes). The thread joins when
// the object goes. kFailed when the system has no more threads to give.
Result<std::jthread> StartThread(const std::string& name, std::function<void()> body,
                                 ThreadPriority priority = ThreadPriority::kNormal);

}  // namespace strata
