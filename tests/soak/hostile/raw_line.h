// A TCP connection to a server that keeps no rules: bytes as they are, or ZeroMQ's framing by hand,
// without the limits and the manners of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file/owned_fd.h"
#include "base/message_port.h"

namespace strata::soak {

// One thread. Nothing here fails: a connection that the server closed takes no more bytes.
class RawLine {
 public:
  explicit RawLine(uint16_t port);

  // True once all bytes went out. Waits a fifth of a second at most for a peer that does not read.
  bool Write(std::span<const std::byte> bytes);
  bool Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }
  // The greeting and the READY of a DEALER.
  void GreetAsDealer();
  // One message; `open`: its last frame says that another one follows.
  void Send(const Message& message, bool open = false);
  // What comes until the other side closes, or sends nothing for `patience`.
  std::string ReadAll(TimeNs patience);
  uint64_t sent() const { return sent_; }  // bytes, all in all

 private:
  OwnedFd fd_;
  uint64_t sent_ = 0;
};

}  // namespace strata::soak
