// Whether this is a build with sanitizers, in which some work takes too long, or means nothing.
#pragma once

namespace strata {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace strata
