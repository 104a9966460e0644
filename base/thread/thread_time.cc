#include "base/thread/thread_time.h"

#include <ctime>

namespace strata {

TimeNs ThreadTime() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<int64_t>(t.tv_sec) * kSecond + t.tv_nsec;
}

}  // namespace strata
