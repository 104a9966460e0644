// How many files and sockets this process may have open.
#pragma once

#include <cstdint>

namespace strata {

// Thread-safe, as long as nobody raises it.
uint64_t OpenFilesLimit();
// As far as the system lets this process without asking anybody.
void RaiseOpenFilesLimit();

}  // namespace strata
