// SealedMemory: memory that two processes of a host share, and what a process may believe of it.
//
// It is a memfd: it has no name that somebody could guess, and a process that is killed leaves none
// behind. Its size is sealed and its pages are taken at once, so that neither process can make the
// other fail by a signal. What lies in it is the business of who shares it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/file/owned_fd.h"
#include "strata/status.h"

namespace strata {

// Processors fetch cache lines in pairs. So what one process writes stays this far from what the
// other one writes.
constexpr size_t kApartBytes = 128;

// A ring's indexes count bytes since the beginning. Whether the index that the other process wrote
// can be: neither behind what it was nor ahead of what there is to read.
constexpr bool CanHaveRead(uint64_t read, uint64_t known_read, uint64_t published) {
  return read - known_read <= published - known_read;
}
// The same of a writer's: neither behind what it was nor further ahead than there was room.
constexpr bool CanHaveWritten(uint64_t written, uint64_t known_written, uint64_t released,
                              size_t ring_bytes) {
  return written >= known_written && written - released <= ring_bytes;
}

// Not thread-safe, but for data().
class SealedMemory {
 public:
  // `bytes` of zeros. `name`: as /proc shows it. kRefused: the system gives none; the text says
  // why.
  static Result<SealedMemory> Create(const std::string& name, size_t bytes);
  // Maps what Create made in another process. kCorrupt: it is something else, of another size, or
  // not sealed. kRefused: the system cannot map it.
  static Result<SealedMemory> Attach(const OwnedFd& fd, size_t bytes);
  ~SealedMemory();
  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // The creator has it until CloseDescriptor. Another process attaches to what it stands for.
  int descriptor() const { return fd_.get(); }
  void CloseDescriptor() { fd_ = OwnedFd(); }

 private:
  SealedMemory(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  static Result<SealedMemory> Map(int fd, size_t bytes);

  std::byte* data_;
  size_t bytes_;
  OwnedFd fd_;
};

}  // namespace strata
