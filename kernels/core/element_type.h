// How the numbers of a row are stored; arithmetic is fp32 whatever they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata {

// The numbers travel on the wire and to disk: never change or reuse one.
enum class ElementType : uint8_t {
  kFp32 = 1,
  kBf16 = 2,  // the upper half of an fp32: its range, 8 bits of precision
  kFp16 = 3,  // IEEE 754 binary16: up to 65504, 11 bits of precision
};

constexpr size_t BytesOf(ElementType type) { return type == ElementType::kFp32 ? 4 : 2; }

}  // namespace strata
