// Pages: zeroed memory straight from the system, which takes it back at once.
#pragma once

#include <cstddef>
#include <utility>

namespace strata {

// Empty, or a block that begins at a page. Blocks of 2 MiB and more begin at such a boundary and
// ask for huge pages: fewer faults while a table grows, fewer misses in the address translation
// after. Nothing is used until it is touched.
class Pages {
 public:
  Pages() = default;
  // Empty when the machine has no memory left.
  static Pages Allocate(size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Pages(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace strata
