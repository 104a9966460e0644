// A folder for the files of one measurement.
#pragma once

#include <string>
#include <utility>

#include "strata/status.h"

namespace strata::bench {

// A new folder below /tmp, removed with the files in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make();
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace strata::bench
