#include "ps/net/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace strata::net {
namespace {

constexpr uint64_t kMagic = 0x6d68732d61727473;  // "stra-shm"
constexpr size_t kControlBytes = 4096;
constexpr size_t kBytes = kControlBytes + kSharedRingBytes[0] + kSharedRingBytes[1];
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status NoMemory(std::string_view what) {
  return Refused(fmt::format("no shared memory: {}: {}", what, std::strerror(errno)));
}

}  // namespace

struct SharedMemory::Control {
  uint64_t magic;
  std::array<uint64_t, 2> ring_bytes;
  std::array<RingState, 2> rings;
};

Result<std::unique_ptr<SharedMemory>> SharedMemory::Map(OwnedFd fd) {
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return NoMemory("mmap");
  return std::unique_ptr<SharedMemory>(
      new SharedMemory(static_cast<Control*>(memory), std::move(fd)));
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::Create() {
  static_assert(sizeof(Control) <= kControlBytes);
  static_assert(offsetof(Control, rings) == kApartBytes);  // docs/protocol.md
  static_assert(sizeof(RingState) == 3 * kApartBytes);
  OwnedFd fd(memfd_create("strata-lane", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) return NoMemory("memfd_create");
  // Memory that is not there when it is used would end us by a signal: it is taken now.
  if (const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(kBytes)); error != 0) {
    errno = error;
    return NoMemory(fmt::format("posix_fallocate of {} bytes", kBytes));
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return NoMemory("sealing it");
  STRATA_ASSIGN(std::unique_ptr<SharedMemory> made, Map(std::move(fd)));
  made->control_->magic = kMagic;
  std::ranges::copy(kSharedRingBytes, made->control_->ring_bytes.begin());
  return made;
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::Attach(OwnedFd fd) {
  struct stat info = {};
  struct statfs system = {};
  if (fstat(fd.get(), &info) != 0 || fstatfs(fd.get(), &system) != 0) return NoMemory("fstat");
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  // Huge pages, which are another file system's, can be missing when they are touched.
  if (!S_ISREG(info.st_mode) || system.f_type != TMPFS_MAGIC || seals < 0 ||
      (seals & kSeals) != kSeals || info.st_size != static_cast<off_t>(kBytes)) {
    return Corrupt(fmt::format("shared memory of {} bytes with seals {:#x}, expected {} with {:#x}",
                               info.st_size, seals, kBytes, kSeals));
  }
  STRATA_ASSIGN(std::unique_ptr<SharedMemory> memory, Map(std::move(fd)));
  memory->fd_ = OwnedFd();
  const Control& control = *memory->control_;
  const std::array<uint64_t, 2> rings = control.ring_bytes;
  if (control.magic != kMagic || !std::ranges::equal(rings, kSharedRingBytes)) {
    return Corrupt(fmt::format(
        "shared memory with magic {:#x} and rings of {} and {} bytes, "
        "expected {:#x}, {} and {}",
        control.magic, rings[0], rings[1], kMagic, kSharedRingBytes[0], kSharedRingBytes[1]));
  }
  return memory;
}

SharedMemory::~SharedMemory() { munmap(control_, kBytes); }

RingState* SharedMemory::state(size_t direction) { return &control_->rings[direction]; }

std::span<std::byte> SharedMemory::ring(size_t direction) {
  const size_t before = direction == 0 ? 0 : kSharedRingBytes[0];
  return {reinterpret_cast<std::byte*>(control_) + kControlBytes + before,
          kSharedRingBytes[direction]};
}

}  // namespace strata::net
