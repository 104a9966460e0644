// SharedMemory: the memory of one shared_link: a ring in each direction. Internal to ps/net.
//
// The server makes it, as a memfd that has no name and that a killed process cannot leave behind,
// and hands its descriptor to the client over a socket of the host. Its size is sealed, and its
// pages are taken at once: neither side can make the other fail by a signal.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "base/file/owned_fd.h"
#include "ps/net/byte_ring.h"
#include "strata/status.h"

namespace strata::net {

// Of the ring from the creator, a server's lane, and of the one to it. They fit the processors'
// caches; what is larger goes through in parts.
constexpr std::array<size_t, 2> kSharedRingBytes = {size_t{2} << 20, size_t{2} << 20};

class SharedMemory {
 public:
  // kRefused: the system gives none; the text says why.
  static Result<std::unique_ptr<SharedMemory>> Create();
  // Maps what Create made in another process. kCorrupt when it is something else.
  static Result<std::unique_ptr<SharedMemory>> Attach(OwnedFd fd);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Of the creator only.
  int descriptor() const { return fd_.get(); }
  // Direction 0 is the creator's to write, 1 the other's.
  RingState* state(size_t direction);
  std::span<std::byte> ring(size_t direction);

 private:
  struct Control;
  SharedMemory(Control* control, OwnedFd fd) : control_(control), fd_(std::move(fd)) {}
  static Result<std::unique_ptr<SharedMemory>> Map(OwnedFd fd);

  Control* control_;
  OwnedFd fd_;
};

}  // namespace strata::net
