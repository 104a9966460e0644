// Two rings in the memory of one process, and random bytes to send through them.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "cluster/link/exchange/shared_ring.h"

namespace strata {

constexpr uint64_t kSecret = 0x1234567890abcdef;

// The rings and bells that two ranks share, and the sides of both.
struct SharedRings {
  explicit SharedRings(size_t ring_bytes)
      : lines{std::vector<Line>(ring_bytes / kRingLineBytes),
              std::vector<Line>(ring_bytes / kRingLineBytes)} {
    for (size_t i = 0; i < 2; ++i) {
      sides[i] = std::make_unique<SharedSide>(
          SharedSide{.sender = {&indexes[i], Ring(i), kSecret, &bells[1 - i]},
                     .receiver = {&indexes[1 - i], Ring(1 - i), kSecret, &bells[1 - i]},
                     .bell = &bells[i],
                     .peer_left = &left[1 - i]});
    }
  }
  std::span<std::byte> Ring(size_t i) { return std::as_writable_bytes(std::span(lines[i])); }

  struct alignas(kRingLineBytes) Line {
    std::array<std::byte, kRingLineBytes> bytes{};
  };
  std::array<std::vector<Line>, 2> lines;
  std::array<RingIndexes, 2> indexes{};  // of the ring that side i fills
  std::array<Doorbell, 2> bells{};
  std::array<std::atomic<uint32_t>, 2> left{};
  std::array<std::unique_ptr<SharedSide>, 2> sides;
};

inline std::vector<std::byte> RandomBytes(Random* random, size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random->Next());
  return bytes;
}

}  // namespace strata
