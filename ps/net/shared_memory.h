// SharedMemory: the memory of one shared_link: a ring in each direction. Internal to ps/net.
//
// The server makes it, and hands its descriptor to the client over a socket of the host.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "base/file/owned_fd.h"
#include "base/sealed_memory.h"
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
  static Result<std::unique_ptr<SharedMemory>> Attach(const OwnedFd& fd);

  // Of the creator only.
  int descriptor() const { return memory_.descriptor(); }
  // Direction 0 is the creator's to write, 1 the other's.
  RingState* state(size_t direction);
  std::span<std::byte> ring(size_t direction);

 private:
  struct Control;
  explicit SharedMemory(SealedMemory memory) : memory_(std::move(memory)) {}
  Control& control() const;

  SealedMemory memory_;
};

}  // namespace strata::net
