#include "ps/net/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace strata::net {
namespace {

constexpr uint64_t kMagic = 0x6d68732d61727473;  // "stra-shm"
constexpr size_t kControlBytes = 4096;
constexpr size_t kBytes = kControlBytes + kSharedRingBytes[0] + kSharedRingBytes[1];

}  // namespace

struct SharedMemory::Control {
  uint64_t magic;
  std::array<uint64_t, 2> ring_bytes;
  std::array<RingState, 2> rings;
};

SharedMemory::Control& SharedMemory::control() const {
  return *reinterpret_cast<Control*>(memory_.data());
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::Create() {
  static_assert(sizeof(Control) <= kControlBytes);
  static_assert(offsetof(Control, rings) == kApartBytes);  // docs/protocol.md
  static_assert(sizeof(RingState) == 3 * kApartBytes);
  STRATA_ASSIGN(SealedMemory memory, SealedMemory::Create("strata-lane", kBytes));
  std::unique_ptr<SharedMemory> made(new SharedMemory(std::move(memory)));
  made->control().magic = kMagic;
  std::ranges::copy(kSharedRingBytes, made->control().ring_bytes.begin());
  return made;
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::Attach(const OwnedFd& fd) {
  STRATA_ASSIGN(SealedMemory memory, SealedMemory::Attach(fd, kBytes));
  std::unique_ptr<SharedMemory> attached(new SharedMemory(std::move(memory)));
  const Control& control = attached->control();
  const std::array<uint64_t, 2> rings = control.ring_bytes;
  if (control.magic != kMagic || !std::ranges::equal(rings, kSharedRingBytes)) {
    return Corrupt(fmt::format(
        "shared memory with magic {:#x} and rings of {} and {} bytes, "
        "expected {:#x}, {} and {}",
        control.magic, rings[0], rings[1], kMagic, kSharedRingBytes[0], kSharedRingBytes[1]));
  }
  return attached;
}

RingState* SharedMemory::state(size_t direction) { return &control().rings[direction]; }

std::span<std::byte> SharedMemory::ring(size_t direction) {
  const size_t before = direction == 0 ? 0 : kSharedRingBytes[0];
  return {memory_.data() + kControlBytes + before, kSharedRingBytes[direction]};
}

}  // namespace strata::net
