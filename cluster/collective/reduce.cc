#include "cluster/collective/reduce.h"

#include <type_traits>

namespace strata {
namespace {

struct Sum {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
struct Min {
  template <typename T>
  static T Of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <typename T>
  static T Of(T a, T b) {
    return a < b ? b : a;
  }
};

template <typename T, typename Op>
void Apply(std::span<std::byte> into, std::span<const std::byte> from) {
  T* const a = reinterpret_cast<T*>(into.data());
  const T* const b = reinterpret_cast<const T*>(from.data());
  for (size_t i = 0; i < into.size() / sizeof(T); ++i) a[i] = Op::Of(a[i], b[i]);
}

template <typename T>
constexpr uint8_t kTypeNumber = std::is_same_v<T, float>    ? 1
                                : std::is_same_v<T, double> ? 2
                                                            : 3;

}  // namespace

template <typename T>
Reduction MakeReduction(ReduceOp op) {
  ReduceFunction apply = nullptr;
  switch (op) {
    case ReduceOp::kSum:
      apply = &Apply<T, Sum>;
      break;
    case ReduceOp::kMin:
      apply = &Apply<T, Min>;
      break;
    case ReduceOp::kMax:
      apply = &Apply<T, Max>;
      break;
  }
  const auto detail = static_cast<uint8_t>(kTypeNumber<T> | static_cast<uint8_t>(op) << 2);
  return {.apply = apply, .element_bytes = sizeof(T), .detail = detail};
}

template Reduction MakeReduction<float>(ReduceOp);
template Reduction MakeReduction<double>(ReduceOp);
template Reduction MakeReduction<int64_t>(ReduceOp);

}  // namespace strata
