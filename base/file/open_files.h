// How many files and sockets this process may have open.
#pragma once

#include <cstdint>

namespace strata {

// Thread-safe, as long as nobody raises it.
uint64_t OpenFilesLimit();
// Raises the limit as far as this process may raise it without privileges.
void RaiseOpenFilesLimit();

}  // namespace strata
