#include "tests/support/wait_until.h"

#include <chrono>
#include <thread>

namespace strata {

bool WaitUntil(const std::function<bool()>& done, TimeNs patience) {
  const TimeNs deadline = RealClock().Now() + patience;
  while (!done()) {
    if (RealClock().Now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace strata
