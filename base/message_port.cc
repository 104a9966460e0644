#include "base/message_port.h"

namespace strata {

Frame Frame::Copy(std::span<const std::byte> bytes) {
  return Own(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

size_t MessageBytes(const Message& message) {
  size_t total = 0;
  for (const Frame& frame : message) total += frame.size();
  return total;
}

}  // namespace strata
