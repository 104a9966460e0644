// FileLock: a file that at most one process holds, for folders that one process may use at a time.
#pragma once

#include <memory>
#include <string>

#include "strata/status.h"

namespace strata {

// Held until it goes, or the process ends in whatever way. The file itself stays.
class FileLock {
 public:
  // Makes the file when there is none; the holder's process id stands in it. kRefused: another
  // process holds it (the message names its id), or this one does.
  static Result<std::unique_ptr<FileLock>> Take(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace strata
