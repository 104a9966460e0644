// The value that a row has before any update or assign.
#pragma once

#include <cstdint>

namespace strata {

// The numbers travel on the wire and to disk: never change or reuse one.
enum class InitializerKind : uint8_t { kZero = 1, kUniform = 2, kNormal = 3 };

// A new row's value: zero, uniform in [-scale, scale), or normal with mean 0 and deviation `scale`.
// A pure function of (table seed, key, element).
struct InitializerSpec {
  InitializerKind kind = InitializerKind::kZero;
  float scale = 0.01F;

  friend bool operator==(const InitializerSpec&, const InitializerSpec&) = default;
};

}  // namespace strata
