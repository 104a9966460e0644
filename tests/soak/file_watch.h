// Sees from outside, through inotify, what servers do with their files: the sharpest sign that
// something is under way.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace strata::soak {

enum class FileEvent : uint8_t { kOpened, kWritten };

// From its making on. One thread.
class FileWatch {
 public:
  explicit FileWatch(FileEvent event);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Watches the files of a folder; one that is gone shows nothing.
  void Add(const std::string& folder);
  // True once it has happened to a file whose name ends so, false when `patience` is over.
  bool Wait(const std::string& suffix, TimeNs patience);

 private:
  bool Seen(const std::string& suffix);

  const FileEvent event_;
  int fd_;
};

}  // namespace strata::soak
