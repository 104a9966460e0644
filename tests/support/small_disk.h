// A disk that fills up: a tmpfs in a folder, where the test may mount one.
#pragma once

#include <string>

namespace strata {

// Mounted from construction to destruction.
class SmallDisk {
 public:
  // `size` as mount(8) has it: "size=5m". The folder is made.
  SmallDisk(std::string folder, const char* size);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }  // false: this process has no right to
  void Resize(const char* size);

 private:
  std::string folder_;
  bool mounted_ = false;
};

// Makes a file that takes the last byte of the disk that it is on.
void FillUp(const std::string& filler);

}  // namespace strata
