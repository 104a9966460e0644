#include "bench/harness/disk_limit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/file/disk.h"
#include "base/file/page_buffer.h"

namespace strata::bench {
namespace {

constexpr size_t kPiece = size_t{4} << 20;

PageBuffer MakePiece() {
  PageBuffer piece = MakePageBuffer(kPiece);
  STRATA_CHECK(piece != nullptr);
  std::memset(piece.get(), 0x5a, kPiece);
  return piece;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

Status Errno(const char* what, const std::string& path) {
  return Failed(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

Result<TimeNs> TimeDirectWrite(const std::string& path, uint64_t bytes) {
  const PageBuffer piece = MakePiece();
  const TimeNs begin = RealClock().Now();
  {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0644));
    if (file.get() < 0) return Errno("create", path);
    for (uint64_t left = bytes; left != 0;) {
      const uint64_t wanted =
          std::min<uint64_t>((left + kDiskPageBytes - 1) / kDiskPageBytes * kDiskPageBytes, kPiece);
      const ssize_t put = write(file.get(), piece.get(), wanted);
      if (put <= 0) return Errno("write", path);
      left -= std::min<uint64_t>(left, static_cast<uint64_t>(put));
    }
    if (fdatasync(file.get()) != 0) return Errno("sync", path);
  }
  const TimeNs taken = RealClock().Now() - begin;
  STRATA_TRY(RealDisk().Remove(path));
  return taken;
}

Result<TimeNs> TimeDirectRead(const std::string& path) {
  const PageBuffer piece = MakePiece();
  const TimeNs begin = RealClock().Now();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_DIRECT));
  if (file.get() < 0) return Errno("open", path);
  while (true) {
    const ssize_t got = read(file.get(), piece.get(), kPiece);
    if (got < 0) return Errno("read", path);
    if (got == 0) return RealClock().Now() - begin;
  }
}

Status ForgetCached(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const Descriptor file(open(entry.path().c_str(), O_RDONLY));
    if (file.get() < 0) return Errno("open", entry.path());
    if (fdatasync(file.get()) != 0 || posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
      return Errno("forget", entry.path());
    }
  }
  return {};
}

uint64_t BytesOfFiles(const std::string& folder, const std::string& suffix) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(suffix)) {
      bytes += entry.file_size();
    }
  }
  return bytes;
}

}  // namespace strata::bench
