// TCP ports on loopback that nobody uses, for programs that must be told a port beforehand.
#pragma once

#include <cstdint>

namespace strata {

// Holds a free port. While held, a program that listens there fails with "address in use", so that
// a test may ask for just that; several held at once differ. Release it right before the program
// starts: another program could take it in between, which the system's order of handing out ports
// makes unlikely, yet a daemon that can listen on port 0 and say which it got should do that.
class FreePort {
 public:
  FreePort();
  ~FreePort() { Release(); }
  FreePort(FreePort&& other) noexcept : fd_(other.fd_), number_(other.number_) { other.fd_ = -1; }
  FreePort& operator=(FreePort&&) = delete;

  uint16_t number() const { return number_; }
  // Lets others listen on it. Returns the number. Idempotent.
  uint16_t Release();

 private:
  int fd_ = -1;
  uint16_t number_ = 0;
};

}  // namespace strata
