// A simulated disk on which some folders cannot be written, as those that a user has no right to.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "tests/support/sim_disk.h"

namespace strata {

class ClosedFolders : public SimDisk {
 public:
  // Of paths as callers give them, without "/" at the end: "." is the folder of names without one.
  std::set<std::string> closed;

  Result<std::unique_ptr<File>> Create(const std::string& path) override {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
    if (closed.contains(folder)) return Failed("cannot create " + path + ": Permission denied");
    return SimDisk::Create(path);
  }
};

}  // namespace strata
