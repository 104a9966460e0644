// ZMTP 3.0 by hand (rfc.zeromq.org/spec/23), for tests that send what the library never would.
#pragma once

#include <cstddef>
#include <string>

namespace strata::test {

// The greeting with the NULL mechanism: 64 bytes.
inline std::string ZmtpGreeting() {
  std::string greeting(64, '\0');
  greeting[0] = '\xff';
  greeting[9] = '\x7f';
  greeting[10] = 3;
  greeting.replace(12, 4, "NULL");
  return greeting;
}

// The command READY of a DEALER, which follows the greetings.
inline std::string ZmtpReadyOfDealer() {
  const std::string ready =
      std::string("\x05READY") + "\x0bSocket-Type" + std::string("\0\0\0\x06", 4) + "DEALER";
  return std::string(1, '\x04') + static_cast<char>(ready.size()) + ready;
}

// Makes the 9 bytes that precede a frame of `size` bytes. With `more` another frame of the message
// follows.
inline std::string ZmtpLongHead(size_t size, bool more) {
  std::string head(9, '\0');
  head[0] = more ? 3 : 2;
  for (size_t i = 0; i < 8; ++i) head[1 + i] = static_cast<char>(size >> (56 - 8 * i));
  return head;
}

}  // namespace strata::test
