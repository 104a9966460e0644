#include "cluster/link/exchange/reduction.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

namespace strata {
namespace {

// detail: operation + 1 in the high byte, number of the type in the low one; a custom reduction has
// the highest bit and the element's size.
constexpr int kOpShift = 8;
constexpr uint16_t kCustom = 0x8000;

template <typename T>
struct Element;
#define STRATA_ELEMENT(Type, Number)              \
  template <>                                     \
  struct Element<Type> {                          \
    static constexpr uint16_t kNumber = (Number); \
  }
STRATA_ELEMENT(float, 1);
STRATA_ELEMENT(double, 2);
STRATA_ELEMENT(int8_t, 3);
STRATA_ELEMENT(int16_t, 4);
STRATA_ELEMENT(int32_t, 5);
STRATA_ELEMENT(int64_t, 6);
STRATA_ELEMENT(uint8_t, 7);
STRATA_ELEMENT(uint16_t, 8);
STRATA_ELEMENT(uint32_t, 9);
STRATA_ELEMENT(uint64_t, 10);
#undef STRATA_ELEMENT

constexpr std::array<std::string_view, 11> kElementNames = {"?",      "float",  "double", "int8",
                                                            "int16",  "int32",  "int64",  "uint8",
                                                            "uint16", "uint32", "uint64"};
constexpr std::array<std::string_view, 4> kOpNames = {"sum", "min", "max", "product"};

// Integers are widened to 64 unsigned bits, where nothing overflows that the result would keep.
template <typename T>
struct Sum {
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
template <typename T>
struct Product {
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
template <typename T>
struct Min {
  static T Of(T a, T b) { return b < a ? b : a; }
};
template <typename T>
struct Max {
  static T Of(T a, T b) { return a < b ? b : a; }
};

template <typename T, typename Op>
void Apply(void* into, const void* from, size_t count, const void* /*context*/) {
  T* const a = static_cast<T*>(into);
  const T* const b = static_cast<const T*>(from);
  for (size_t i = 0; i < count; ++i) a[i] = Op::Of(a[i], b[i]);
}

}  // namespace

template <typename T>
Reduction MakeReduction(ReduceOp op) {
  Reduction reduction{.element_bytes = sizeof(T),
                      .detail = static_cast<uint16_t>((static_cast<int>(op) + 1) << kOpShift |
                                                      Element<T>::kNumber)};
  switch (op) {
    case ReduceOp::kSum:
      reduction.apply = &Apply<T, Sum<T>>;
      break;
    case ReduceOp::kMin:
      reduction.apply = &Apply<T, Min<T>>;
      break;
    case ReduceOp::kMax:
      reduction.apply = &Apply<T, Max<T>>;
      break;
    case ReduceOp::kProduct:
      reduction.apply = &Apply<T, Product<T>>;
      break;
  }
  return reduction;
}

template Reduction MakeReduction<float>(ReduceOp);
template Reduction MakeReduction<double>(ReduceOp);
template Reduction MakeReduction<int8_t>(ReduceOp);
template Reduction MakeReduction<int16_t>(ReduceOp);
template Reduction MakeReduction<int32_t>(ReduceOp);
template Reduction MakeReduction<int64_t>(ReduceOp);
template Reduction MakeReduction<uint8_t>(ReduceOp);
template Reduction MakeReduction<uint16_t>(ReduceOp);
template Reduction MakeReduction<uint32_t>(ReduceOp);
template Reduction MakeReduction<uint64_t>(ReduceOp);

Reduction CustomReduction(size_t element_bytes,
                          void (*apply)(void* into, const void* from, size_t count,
                                        const void* context),
                          const void* context) {
  return {.apply = apply,
          .context = context,
          .element_bytes = element_bytes,
          .detail = static_cast<uint16_t>(kCustom | (element_bytes & (kCustom - 1)))};
}

std::string DescribeReduction(uint16_t detail) {
  if (detail == 0) return "";
  if ((detail & kCustom) != 0) return fmt::format("custom of {} bytes", detail & (kCustom - 1));
  const size_t type = detail & 0xff;
  const size_t op = static_cast<size_t>(detail >> kOpShift) - 1;
  if (type >= kElementNames.size() || op >= kOpNames.size()) {
    return fmt::format("unknown reduction {:#06x}", detail);
  }
  return fmt::format("{} {}", kElementNames[type], kOpNames[op]);
}

}  // namespace strata
