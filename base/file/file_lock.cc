#include "base/file/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace strata {
namespace {

Status LockError(std::string_view action, const std::string& path, int error) {
  const std::string text =
      fmt::format("cannot {} {}: {}", action, path, std::generic_category().message(error));
  return error == ENOSPC || error == EDQUOT ? DiskFull(text) : Failed(text);
}

// What the holder wrote into the file.
std::string HolderOf(int fd) {
  std::array<char, 16> text{};
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  std::string_view digits(text.data(), got < 0 ? 0 : static_cast<size_t>(got));
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  return digits.empty() ? "another process" : fmt::format("process {}", digits);
}

}  // namespace

Result<std::unique_ptr<FileLock>> FileLock::Take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return LockError("open", path, errno);
  std::unique_ptr<FileLock> lock(new FileLock(fd));
  int locked = -1;
  do {
    locked = flock(fd, LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0) {
    if (errno != EWOULDBLOCK) return LockError("lock", path, errno);
    return Refused(fmt::format("{} is held by {}", path, HolderOf(fd)));
  }
  const std::string holder = fmt::format("{}\n", getpid());
  // Over what is there: on a full disk somebody else might take a block that is given back.
  if (pwrite(fd, holder.data(), holder.size(), 0) != static_cast<ssize_t>(holder.size()) ||
      ftruncate(fd, static_cast<off_t>(holder.size())) != 0) {
    return LockError("write", path, errno);
  }
  return lock;
}

FileLock::~FileLock() { close(fd_); }

}  // namespace strata
