// The POSIX form of Disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/file/disk.h"
#include "base/thread/mutex.h"
#include "base/thread/thread.h"

namespace strata {
namespace {

// "cannot open a/b: No such file or directory".
Status DiskError(std::string_view action, const std::string& path, int error) {
  const std::string text =
      fmt::format("cannot {} {}: {}", action, path, std::generic_category().message(error));
  if (error == ENOENT) return NotFound(text);
  return error == ENOSPC || error == EDQUOT ? DiskFull(text) : Failed(text);
}

// The call again for as long as a signal interrupts it.
template <typename Call>
auto Retry(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

class RealFile : public File {
 public:
  RealFile(int fd, std::string path, bool rewrites)
      : fd_(fd), path_(std::move(path)), rewrites_(rewrites) {}
  ~RealFile() override {
    if (appender_.joinable()) appender_.join();
    close(fd_);
  }
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = Retry([&] {
        return pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      });
      if (got < 0) return DiskError("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  void WillRead(uint64_t offset, uint64_t bytes) const override {
    // Linux reads no more for one call than for a read that misses: 128 KiB on most disks.
    constexpr uint64_t kPiece = uint64_t{128} << 10;
    for (uint64_t end = offset + bytes; offset < end; offset += kPiece) {
      const auto length = static_cast<off_t>(std::min(end - offset, kPiece));
      if (posix_fadvise(fd_, static_cast<off_t>(offset), length, POSIX_FADV_WILLNEED) != 0) return;
    }
  }

  Status Append(std::span<const std::byte> bytes) override {
    STRATA_TRY(broken());
    if (rewrites_) return DiskError("append to", path_, EBADF);
    while (!bytes.empty()) {
      ChooseDirect(bytes);
      const ssize_t put = Retry([&] { return write(fd_, bytes.data(), bytes.size()); });
      if (put < 0) return Break(DiskError("write", path_, errno));
      bytes = bytes.subspan(static_cast<size_t>(put));
      appended_ += static_cast<uint64_t>(put);
    }
    return Status::Ok();
  }

  Status BeginAppend(std::span<const std::byte> bytes) override {
    STRATA_CHECK(!appender_.joinable());
    auto thread = StartThread("append", [this, bytes] { static_cast<void>(Append(bytes)); });
    if (!thread.ok()) return Append(bytes);
    appender_ = std::move(*thread);
    return Status::Ok();
  }

  Status FinishAppend() override {
    if (appender_.joinable()) appender_.join();
    return broken();
  }

  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    STRATA_TRY(broken());
    // Where others append, Linux writes at the end, whatever the offset.
    if (!rewrites_) return DiskError("write over", path_, EBADF);
    STRATA_ASSIGN(const uint64_t size, Size());
    if (offset > size || bytes.size() > size - offset) {
      return DiskError("write behind the end of", path_, EINVAL);
    }
    while (!bytes.empty()) {
      const ssize_t put = Retry(
          [&] { return pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (put < 0) return Break(DiskError("write", path_, errno));
      bytes = bytes.subspan(static_cast<size_t>(put));
      offset += static_cast<uint64_t>(put);
    }
    return Status::Ok();
  }

  Status Preallocate(uint64_t bytes) override {
    STRATA_TRY(broken());
    if (bytes == 0) return Status::Ok();
    STRATA_ASSIGN(const uint64_t size, Size());
    const bool has_reserve = reserved_ > size;
    if (has_reserve && bytes > reserved_) STRATA_TRY(LookForRoom(bytes - reserved_));
    const int done =
        Retry([&] { return fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)); });
    if (done == 0) {
      reserved_ = std::max(reserved_, bytes);
      return Status::Ok();
    }
    if (errno == EOPNOTSUPP) return Status::Ok();
    const Status error = ReserveError(bytes, errno);
    // What it had found before it failed would stay reserved. Behind an earlier reserve it does:
    // file systems free all that is behind the file's end, or nothing.
    if (!has_reserve) {
      static_cast<void>(Retry([&] { return ftruncate(fd_, static_cast<off_t>(size)); }));
    }
    return error;
  }

  Status Sync() override {
    STRATA_TRY(broken());
    // Not tried again: after an error the kernel may have dropped the pages, and a second one would
    // report success for bytes that are gone. fdatasync writes the size too when that has changed.
    if (Retry([&] { return fdatasync(fd_); }) != 0) {
      return Break(DiskError("sync", path_, errno));
    }
    return Status::Ok();
  }

  Result<uint64_t> Size() const override {
    struct stat info {};
    if (fstat(fd_, &info) != 0) return DiskError("look at", path_, errno);
    return static_cast<uint64_t>(info.st_size);
  }

  Status Empty() {
    struct stat info {};
    if (fstat(fd_, &info) != 0) return DiskError("create", path_, errno);
    // It got another name since the caller looked.
    if (S_ISREG(info.st_mode) && info.st_nlink > 1) return DiskError("create", path_, EMLINK);
    // Even to cut nothing off would give back what an empty file has reserved.
    if (info.st_size > 0 && Retry([&] { return ftruncate(fd_, 0); }) != 0) {
      return DiskError("create", path_, errno);
    }
    return Status::Ok();
  }

 private:
  // Large pieces that lie on pages, in memory and in the file, go past the page cache: a copy less,
  // and what others have cached stays. Files of such pieces are not read again soon.
  void ChooseDirect(std::span<const std::byte> bytes) {
    const bool direct = can_direct_ && bytes.size() >= kDirectBytesMin &&
                        bytes.size() % kPage == 0 && appended_ % kPage == 0 &&
                        reinterpret_cast<uintptr_t>(bytes.data()) % kPage == 0;
    if (direct == direct_) return;
    const int flags = fcntl(fd_, F_GETFL);
    can_direct_ =
        flags >= 0 && fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
    direct_ = direct && can_direct_;
  }

  Status ReserveError(uint64_t bytes, int error) const {
    return DiskError(fmt::format("reserve {} bytes for", bytes), path_, error);
  }

  // Tried with a file without a name, which leaves nothing behind. OK where there are no such
  // files.
  Status LookForRoom(uint64_t bytes) const {
    const std::string folder = std::filesystem::path(path_).parent_path() / ".";  // or "."
    const int fd =
        Retry([&] { return open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); });
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
      const auto length = static_cast<off_t>(bytes);
      if (Retry([&] { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }) != 0) error = errno;
      close(fd);
    }
    return error == ENOSPC || error == EDQUOT ? ReserveError(bytes, error) : Status::Ok();
  }

  Status broken() const {
    const MutexLock lock(mutex_);
    return broken_;
  }

  Status Break(const Status& error) {
    const MutexLock lock(mutex_);
    if (broken_.ok()) broken_ = error;
    return broken_;
  }

  static constexpr size_t kPage = 4096;
  static constexpr size_t kDirectBytesMin = size_t{1} << 20;

  const int fd_;
  const std::string path_;
  const bool rewrites_;
  uint64_t reserved_ = 0;   // by Preallocate, from the file's beginning
  uint64_t appended_ = 0;   // files that are appended to begin empty
  bool direct_ = false;     // O_DIRECT is set
  bool can_direct_ = true;  // as far as known
  mutable Mutex mutex_;
  Status broken_ STRATA_GUARDED_BY(mutex_);  // the first failed write or sync; final
  std::jthread appender_;                    // from BeginAppend to FinishAppend
};

Result<std::unique_ptr<RealFile>> Open(const std::string& path, int flags,
                                       std::string_view action) {
  const int fd = Retry([&] { return open(path.c_str(), flags | O_CLOEXEC, 0644); });
  if (fd < 0) return DiskError(action, path, errno);
  const bool rewrites = (flags & O_ACCMODE) == O_RDWR && (flags & O_APPEND) == 0;
  auto file = std::make_unique<RealFile>(fd, path, rewrites);
  struct stat info {};
  if (fstat(fd, &info) != 0) return DiskError(action, path, errno);
  if (S_ISDIR(info.st_mode)) {
    return Invalid(fmt::format("cannot {} {}: is a folder; expected a file", action, path));
  }
  if (lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE) {
    if ((flags & O_CREAT) != 0) {
      return Invalid(fmt::format("cannot {} {}: is a pipe or terminal; remove it", action, path));
    }
    return Invalid(
        fmt::format("cannot {} {}: is a pipe or terminal; expected a file, as it is read "
                    "from any place and more than once: write its content to one",
                    action, path));
  }
  return file;
}

// A link, a file that has other names too, or one that may not be written.
bool IsNotToBeWritten(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return false;
  if (S_ISLNK(info.st_mode)) return true;
  return S_ISREG(info.st_mode) && (info.st_nlink > 1 || access(path.c_str(), R_OK | W_OK) != 0);
}

// Names what the mode says is there; "" stands for a file.
std::string_view WhyNoFile(mode_t mode) {
  if (S_ISREG(mode)) return "";
  if (S_ISDIR(mode)) return "is a folder; expected a file";
  if (S_ISFIFO(mode)) return "is a pipe; expected a file";
  if (S_ISSOCK(mode)) return "is a socket; expected a file";
  return "is a device; expected a file, which is written apart and then put in place";
}

// Whether something is mounted at the very path, as containers do with single files.
bool IsMounted(const std::string& path) {
  struct statx info {};
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// One name in one folder, whether something is there or not.
bool IsOneName(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (a.filename().empty() || a.filename() != b.filename()) return false;
  struct stat of_a {};
  struct stat of_b {};
  return stat((a.parent_path() / ".").c_str(), &of_a) == 0 &&
         stat((b.parent_path() / ".").c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

class PosixDisk : public Disk {
 public:
  Result<std::unique_ptr<File>> OpenToRead(const std::string& path) override {
    // Without O_NONBLOCK a pipe that nobody writes to would be waited for. Files do not heed it.
    STRATA_ASSIGN(auto file, Open(path, O_RDONLY | O_NONBLOCK, "open"));
    return std::unique_ptr<File>(std::move(file));
  }

  Result<std::unique_ptr<File>> OpenToRewrite(const std::string& path) override {
    STRATA_ASSIGN(auto file, Open(path, O_RDWR, "open"));
    return std::unique_ptr<File>(std::move(file));
  }

  Result<std::unique_ptr<File>> Create(const std::string& path) override {
    if (IsNotToBeWritten(path) && unlink(path.c_str()) != 0) {
      return DiskError("replace", path, errno);
    }
    STRATA_ASSIGN(auto file, Open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, "create"));
    STRATA_TRY(file->Empty());
    return std::unique_ptr<File>(std::move(file));
  }

  Status Rename(const std::string& from, const std::string& to) override {
    // Nothing else keeps a process with the rights from replacing /dev/null by a file.
    struct stat info {};
    if (stat(to.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
      return Invalid(
          fmt::format("cannot rename {} to {}: is a device or pipe; expected a file or "
                      "nothing there",
                      from, to));
    }
    if (rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
    return DiskError("rename", fmt::format("{} to {}", from, to), errno);
  }

  Status Remove(const std::string& path) override {
    if (std::remove(path.c_str()) == 0) return Status::Ok();
    return DiskError("remove", path, errno);
  }

  Status GiveBackReserve(const std::string& path) override {
    const int fd = Retry([&] { return open(path.c_str(), O_WRONLY | O_CLOEXEC); });
    if (fd < 0) return DiskError("open", path, errno);
    // To the size that it has: file systems free the blocks behind it.
    struct stat info {};
    const bool done =
        fstat(fd, &info) == 0 && Retry([&] { return ftruncate(fd, info.st_size); }) == 0;
    const int error = done ? 0 : errno;
    close(fd);
    return done ? Status::Ok() : DiskError("truncate", path, error);
  }

  Status MakeFolder(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!error && !std::filesystem::is_directory(path, error) && !error) {
      error = std::make_error_code(std::errc::not_a_directory);
    }
    return error ? DiskError("make folder", path, error.value()) : Status::Ok();
  }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator it(folder, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return DiskError("list", folder, error.value());
    std::ranges::sort(names);
    return names;
  }

  Result<FileId> IdOf(const std::string& path) override {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return DiskError("look at", path, errno);
    return FileId{.device = info.st_dev, .inode = info.st_ino};
  }

  Result<bool> IsOpenToOthers(const std::string& path) override {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return DiskError("look at", path, errno);
    return (info.st_mode & (S_IROTH | S_IWOTH)) != 0;
  }

  std::optional<uint64_t> FreeBytes(const std::string& folder) override {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    return error ? std::nullopt : std::optional<uint64_t>(space.available);
  }

  Status TryReplace(const std::string& path) override {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return Status::Ok();
    if (S_ISLNK(info.st_mode)) {
      return Invalid(
          "is a link, whose place the file would take: name the file that it leads to, or remove "
          "it");
    }
    if (const std::string_view why = WhyNoFile(info.st_mode); !why.empty()) {
      return Invalid(std::string(why));
    }
    if (IsMounted(path)) {
      return Invalid("is mounted by itself and cannot be replaced: name a file in a folder");
    }
    // The kernel answers that it is no folder if the file may be removed, else why it may not.
    if (rmdir(path.c_str()) == 0 || errno == ENOTDIR || errno == ENOENT) return Status::Ok();
    return Invalid(fmt::format("exists and cannot be replaced: {}; name another file",
                               std::generic_category().message(errno)));
  }

  bool Replaces(const std::string& output, const std::string& input) override {
    if (IsOneName(output, input)) return true;
    struct stat to {};
    struct stat from {};
    const auto same = [&] { return to.st_dev == from.st_dev && to.st_ino == from.st_ino; };
    if (lstat(output.c_str(), &to) != 0) return false;
    return (lstat(input.c_str(), &from) == 0 && same()) ||
           (stat(input.c_str(), &from) == 0 && same());
  }

  Status SyncFolder(const std::string& folder) override {
    const int fd = Retry([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0 && errno == EACCES && access(folder.c_str(), W_OK | X_OK) == 0) {
      sync();  // a folder that cannot be read cannot be synced by itself
      return Status::Ok();
    }
    if (fd < 0) return DiskError("open folder", folder, errno);
    const int error = Retry([&] { return fsync(fd); }) == 0 ? 0 : errno;
    close(fd);
    return error == 0 ? Status::Ok() : DiskError("sync folder", folder, error);
  }
};

}  // namespace

Disk& RealDisk() {
  static PosixDisk disk;
  return disk;
}

void KeepFilesFromOthers() { umask(umask(0) | 0027); }

Result<std::string> BootId() {
  STRATA_ASSIGN(std::string id, ReadFile(RealDisk(), "/proc/sys/kernel/random/boot_id", 64));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace strata
