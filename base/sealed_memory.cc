#include "base/sealed_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace strata {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status NoMemory(std::string_view what) {
  return Refused(fmt::format("no shared memory: {}: {}", what, std::strerror(errno)));
}

}  // namespace

Result<SealedMemory> SealedMemory::Map(int fd, size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) return NoMemory("mmap");
  return SealedMemory(static_cast<std::byte*>(memory), bytes);
}

Result<SealedMemory> SealedMemory::Create(const std::string& name, size_t bytes) {
  OwnedFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) return NoMemory("memfd_create");
  // Memory that is not there when it is used would end us by a signal: it is taken now.
  if (const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    errno = error;
    return NoMemory(fmt::format("posix_fallocate of {} bytes", bytes));
  }
  if (fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) return NoMemory("fchmod");
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return NoMemory("sealing it");
  STRATA_ASSIGN(SealedMemory made, Map(fd.get(), bytes));
  made.fd_ = std::move(fd);
  return made;
}

Result<SealedMemory> SealedMemory::Attach(const OwnedFd& fd, size_t bytes) {
  struct stat info = {};
  struct statfs system = {};
  if (fstat(fd.get(), &info) != 0 || fstatfs(fd.get(), &system) != 0) return NoMemory("fstat");
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  // Huge pages, which are another file system's, can be missing when they are touched.
  if (!S_ISREG(info.st_mode) || system.f_type != TMPFS_MAGIC || seals < 0 ||
      (seals & kSeals) != kSeals || info.st_size != static_cast<off_t>(bytes)) {
    return Corrupt(fmt::format("shared memory of {} bytes with seals {:#x}, expected {} with {:#x}",
                               info.st_size, seals, bytes, kSeals));
  }
  return Map(fd.get(), bytes);
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), fd_(std::move(other.fd_)) {}

SealedMemory::~SealedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace strata
