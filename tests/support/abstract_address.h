// The address of a Unix socket in Linux's abstract namespace: it has no file, and ends with its
// socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "strata/status.h"

namespace strata::test {

class AbstractAddress {
 public:
  // At most 107 bytes.
  explicit AbstractAddress(std::string_view name)
      : size_(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
    STRATA_CHECK(size_ <= sizeof address_);
    address_.sun_family = AF_UNIX;
    std::ranges::copy(name, address_.sun_path + 1);  // a zero before it
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_ = {};
  const socklen_t size_;
};

}  // namespace strata::test
