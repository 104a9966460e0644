// xxHash with the widest instructions that the processor has: on x86 the library's plain functions
// were built for the oldest one, and are up to eight times slower. The results are the same. Here
// XXH3_64bits and its kin are the ones that choose. For .cc files only.
#pragma once

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif
