#include "base/thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include <system_error>

namespace strata {

Result<std::jthread> StartThread(const std::string& name, std::function<void()> body) {
  try {
    std::jthread thread([body = std::move(body), name = name.substr(0, 15)] {
      pthread_setname_np(pthread_self(), name.c_str());
      body();
    });
    return thread;
  } catch (const std::system_error& error) {
    return Failed(fmt::format("cannot start thread {}: {}", name, error.what()));
  }
}

}  // namespace strata
