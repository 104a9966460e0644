// NOLINTBEGIN
#pragma once

namespace thrust {

template <typename T>
struct counting_iterator {
  T first;
  explicit counting_iterator(T value) : first(value) {}
  template <typename Distance>
  T operator[](Distance distance) const {
    return first + static_cast<T>(distance);
  }
};

}  // namespace thrust
// NOLINTEND
