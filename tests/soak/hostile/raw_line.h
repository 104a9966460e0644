// A TCP connection to a server that keeps no rules: bytes as they are, or ZeroMQ's framing by hand,
// without the limits and the manners of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/message_port.h"
#include "base/owned_fd.h"

namespace strata::soak {

// One thread. Nothing here fails: a connection that the server closed takes no more bytes.
class RawLine {
 public:
  explicit RawLine(uint16_t port);

  // Bytes that went out. Waits a fifth of a second at most for a peer that does not read.
  uint64_t Write(std::span<const std::byte> bytes);
  uint64_t Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }
  // The greeting and the READY of a DEALER (ZMTP 3.0, rfc.zeromq.org/spec/23).
  uint64_t GreetAsDealer();
  // One message; `open`: its last frame says that another one follows.
  uint64_t Send(const Message& message, bool open = false);
  // What comes until the other side closes, or sends nothing for `patience`.
  std::string ReadAll(TimeNs patience);

 private:
  OwnedFd fd_;
};

}  // namespace strata::soak
