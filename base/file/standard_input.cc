#include "base/file/standard_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr int kCheckMs = 200;

Status InputError(const char* what) {
  return Failed(
      fmt::format("cannot {} standard input: {}", what, std::generic_category().message(errno)));
}

class StandardInput : public File {
 public:
  StandardInput(std::function<Status()> check, int fd) : check_(std::move(check)), fd_(fd) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    size_t filled = 0;
    if (offset < kept_.size()) {
      const std::span<const std::byte> kept = std::span(kept_).subspan(offset);
      filled = std::min(kept.size(), out.size());
      std::memcpy(out.data(), kept.data(), filled);
    }
    while (filled < out.size()) {
      if (offset + filled != position_) {
        return Failed(
            fmt::format("standard input cannot be read again from byte {} on: only its first {} "
                        "bytes are kept; give a file",
                        offset + filled, kInputBytesKept));
      }
      STRATA_ASSIGN(const size_t read, ReadSome(out.subspan(filled)));
      if (read == 0) break;
      filled += read;
    }
    return filled;
  }
  Status Append(std::span<const std::byte> /*bytes*/) override { return ReadOnly(); }
  Status WriteAt(uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {
    return ReadOnly();
  }
  Status Preallocate(uint64_t /*bytes*/) override { return ReadOnly(); }
  Status Sync() override { return ReadOnly(); }
  Result<uint64_t> Size() const override {
    return Failed("the size of standard input is not known");
  }

 private:
  static Status ReadOnly() { return Failed("standard input is only read"); }

  // Reads what is there next. It gives 0 at the end.
  Result<size_t> ReadSome(std::span<std::byte> out) const {
    while (true) {
      STRATA_TRY(WaitForInput());
      const ssize_t read = ::read(fd_, out.data(), out.size());
      if (read < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (read < 0) return InputError("read");
      const auto bytes = static_cast<size_t>(read);
      const size_t kept = std::min(bytes, kInputBytesKept - kept_.size());
      if (position_ == kept_.size()) kept_.insert(kept_.end(), out.data(), out.data() + kept);
      position_ += bytes;
      return bytes;
    }
  }

  Status WaitForInput() const {
    while (true) {
      pollfd input = {.fd = fd_, .events = POLLIN, .revents = 0};
      const int ready = poll(&input, 1, kCheckMs);
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return InputError("wait for");
      if (check_) STRATA_TRY(check_());
    }
  }

  std::function<Status()> check_;
  int fd_;
  mutable std::vector<std::byte> kept_;
  mutable uint64_t position_ = 0;  // of what comes next
};

}  // namespace

bool IsStandardInput(std::string_view path) { return path == "-"; }

std::unique_ptr<File> OpenStandardInput(std::function<Status()> check, int fd) {
  return std::make_unique<StandardInput>(std::move(check), fd);
}

}  // namespace strata
