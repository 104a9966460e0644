#include "base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "strata/status.h"

namespace strata {

uint64_t SystemRandom64() {
  uint64_t word = 0;
  ssize_t got = 0;
  do {
    got = getrandom(&word, sizeof(word), 0);
  } while (got < 0 && errno == EINTR);
  // Up to 256 bytes come whole once the kernel's pool is ready, which getrandom waits for.
  STRATA_CHECK(got == static_cast<ssize_t>(sizeof(word)));
  return word;
}

}  // namespace strata
