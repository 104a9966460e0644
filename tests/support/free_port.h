// TCP ports on loopback that nobody uses, for programs that must be told a port beforehand.
#pragma once

#include <cstdint>

namespace strata {

// Holds a free port. While held, a program that listens there fails with "address in use", so that
// a test may ask for just that. Released, it stays this process's until it ends: no other FreePort
// gets it, and it is none that the system hands out to sockets that name no port, so that a daemon
// finds it free when it starts, and again after it was killed.
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
