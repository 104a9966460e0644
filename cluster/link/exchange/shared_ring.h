// A ring of bytes in memory that two processes share: one writes, the other reads, without locks
// and in place. RingSender and RingReceiver are the two ends; each belongs to one thread.
//
// Positions count bytes since the beginning and never wrap around; a byte lies at its position
// modulo the ring's size. Messages begin at cache lines, with a mark that says how much of them is
// there: who waits for a small message looks at the very line that it comes in, and it takes one
// journey between two processors instead of two.
//
// Nothing that is read from shared memory is believed: an index that cannot
// be makes the end `broken`, and no end ever touches memory outside the ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/sealed_memory.h"
#include "cluster/link/exchange/doorbell.h"

namespace strata {

// In shared memory. Zeroed memory is an empty ring.
struct RingIndexes {
  alignas(kApartBytes) std::atomic<uint64_t> written;  // by the sender
  alignas(kApartBytes) std::atomic<uint64_t> read;     // by the receiver
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// A cache line: messages begin at multiples of it.
constexpr size_t kRingLineBytes = 64;
// The first words of a message are the ring's: a mark, which is `secret` combined with the position
// (what lay there before is taken for it once in 2^64 times), and the message's length with the
// number of bytes that came with the mark.
constexpr size_t kRingMarkBytes = 16;
constexpr int kRingLengthBits = 40;  // below 1 TiB
constexpr size_t kRingBytesMax = 1ULL << 23;

class RingSender {
 public:
  // `ring` is aligned to kRingLineBytes, its size a power of two from 4 * kRingLineBytes
  // to kRingBytesMax.
  // `bell` is rung when the receiver sleeps at it and there is something to read.
  RingSender(RingIndexes* indexes, std::span<std::byte> ring, uint64_t secret, Doorbell* bell)
      : indexes_(indexes), ring_(ring), secret_(secret), bell_(bell) {}

  // Begins a message of `length` bytes (below 2^kRingLengthBits): returns its first line, of which
  // the first kRingMarkBytes are not the caller's; empty when there is no room for it yet.
  std::span<std::byte> Begin(uint64_t length);
  // The free bytes in one run from here on. The receiver's index is looked at only when fewer than
  // `wanted` bytes are known to be free.
  std::span<std::byte> Room(size_t wanted);
  // Goes on behind `bytes` bytes; nobody sees them before Publish.
  void Advance(size_t bytes) { position_ += bytes; }
  void Publish();
  bool broken() const { return broken_; }

 private:
  RingIndexes* indexes_;
  std::span<std::byte> ring_;
  uint64_t secret_;
  Doorbell* bell_;
  uint64_t position_ = 0;
  uint64_t published_ = 0;
  uint64_t known_read_ = 0;
  // Of the message that has begun; its mark is not written yet.
  std::byte* mark_ = nullptr;
  uint64_t begin_ = 0;
  uint64_t length_ = 0;
  bool broken_ = false;
};

class RingReceiver {
 public:
  // As RingSender; `bell` is rung when the sender sleeps at it and there is room again.
  RingReceiver(RingIndexes* indexes, std::span<std::byte> ring, uint64_t secret, Doorbell* bell)
      : indexes_(indexes), ring_(ring), secret_(secret), bell_(bell) {}

  // The next message's length, none until it begins to arrive. Its first bytes, Filled from there
  // on, are the ring's mark.
  std::optional<uint64_t> Begin();
  // The bytes that have arrived, in one run from here on. The sender's index is looked at only when
  // fewer than `wanted` bytes are known to be there.
  std::span<const std::byte> Filled(size_t wanted);
  // Goes on behind `bytes` bytes, which are used no more. The sender is told when a quarter of the
  // ring is free again: it never waits for room while there is nothing to read.
  void Advance(size_t bytes);
  bool broken() const { return broken_; }

 private:
  bool Believe(uint64_t written);

  RingIndexes* indexes_;
  std::span<std::byte> ring_;
  uint64_t secret_;
  Doorbell* bell_;
  uint64_t position_ = 0;
  uint64_t released_ = 0;
  uint64_t known_written_ = 0;
  bool broken_ = false;
};

// What one rank has of two rings, one in each direction, that it shares with another.
struct SharedSide {
  RingSender sender;
  RingReceiver receiver;
  Doorbell* bell = nullptr;  // where this rank sleeps
  // In shared memory: 1 once the other rank sends nothing more, nor receives.
  const std::atomic<uint32_t>* peer_left = nullptr;
};

}  // namespace strata
