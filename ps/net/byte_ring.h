// A ring of bytes in memory that two processes share: one writes, the other reads, without locks.
// RingWriter and RingReader are the two ends; each belongs to one thread.
//
// Positions count bytes since the beginning; a byte lies at its position modulo the ring's size.
// Nothing that is read from shared memory is believed: an index that cannot be makes the end
// `broken`, which then moves no more bytes, and no end ever touches memory outside the ring.
// (cluster/link has a ring too: its readers wait at futexes, these in poll beside sockets.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sealed_memory.h"

namespace strata::net {

// In shared memory. Zeroed memory is an empty ring.
struct RingState {
  alignas(kApartBytes) std::atomic<uint64_t> written;  // by the writer
  alignas(kApartBytes) std::atomic<uint64_t> read;     // by the reader
  // Set by who is about to sleep until there is something to read, or room to write; taken back by
  // whoever changes that, who then has to wake it.
  alignas(kApartBytes) std::atomic<uint32_t> reader_sleeps;
  std::atomic<uint32_t> writer_sleeps;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

class RingWriter {
 public:
  // The ring's size is a power of two.
  RingWriter(RingState* state, std::span<std::byte> ring) : state_(state), ring_(ring) {}

  // Copies as many of the bytes as there is room for, and returns how many; nobody sees them before
  // Publish.
  size_t Write(std::span<const std::byte> bytes);
  // True: the reader sleeps and is to be woken.
  bool Publish();
  // Says that this side is about to sleep until there is room. False: there is some.
  bool BeginSleep();
  void EndSleep() { state_->writer_sleeps.store(0, std::memory_order_relaxed); }
  bool broken() const { return broken_; }

 private:
  void LookForRoom();

  RingState* state_;
  std::span<std::byte> ring_;
  uint64_t position_ = 0;
  uint64_t published_ = 0;
  uint64_t known_read_ = 0;
  bool broken_ = false;
};

class RingReader {
 public:
  RingReader(RingState* state, std::span<const std::byte> ring) : state_(state), ring_(ring) {}

  // Copies the next bytes that have come, at most as many as fit, and returns how many.
  size_t Read(std::span<std::byte> to);
  // Gives the room of what was read back, once it is worth it. True: the writer sleeps and is to be
  // woken.
  bool Release();
  // Says that this side is about to sleep until something comes. False: something is there.
  bool BeginSleep();
  void EndSleep() { state_->reader_sleeps.store(0, std::memory_order_relaxed); }
  bool broken() const { return broken_; }

 private:
  void LookForBytes();

  RingState* state_;
  std::span<const std::byte> ring_;
  uint64_t position_ = 0;
  uint64_t released_ = 0;
  uint64_t known_written_ = 0;
  bool broken_ = false;
};

}  // namespace strata::net
