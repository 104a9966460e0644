#include "base/thread/thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace strata {

namespace {

constexpr int kLowNice = 10;

// Of the calling thread alone, as Linux has it. Lowering always is allowed.
void Lower() {
  const auto thread = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, thread, std::max(kLowNice, getpriority(PRIO_PROCESS, thread)));
}

}  // namespace

Result<std::jthread> StartThread(const std::string& name, std::function<void()> body,
                                 ThreadPriority priority) {
  try {
    std::jthread thread([body = std::move(body), name = name.substr(0, 15), priority] {
      pthread_setname_np(pthread_self(), name.c_str());
      if (priority == ThreadPriority::kLow) Lower();
      body();
    });
    return thread;
  } catch (const std::system_error& error) {
    return Failed(fmt::format("cannot start thread {}: {}", name, error.what()));
  }
}

}  // namespace strata
