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
  // No table asks for it and it never travels: how state of kFp16 is stored where it is a sum or a
  // mean of squares, which fp16 has no range for. No sign, 7 bits of exponent, 9 of fraction: 0 and
  // 2^-71 (4.2e-22) up to 2^64 (1.8e19), 10 bits of precision. A number below 0 becomes a NaN.
  kSquare16 = 128,
};

constexpr size_t BytesOf(ElementType type) { return type == ElementType::kFp32 ? 4 : 2; }

// A row's optimizer state is at most two arrays, of as many elements as its value; these are their
// types. Both are equally large.
struct StateTypes {
  ElementType first = ElementType::kFp32;
  ElementType second = ElementType::kFp32;

  // Of element n of the state, in a row of `dim` elements.
  constexpr ElementType Of(uint64_t n, uint64_t dim) const { return n < dim ? first : second; }
  constexpr bool IsNarrow() const { return first != ElementType::kFp32; }
  constexpr size_t element_bytes() const { return BytesOf(first); }
};

}  // namespace strata
