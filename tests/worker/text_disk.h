// A Disk of read-only texts for the tests of readers.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file/disk.h"

namespace strata {

class TextFile : public File {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)), size_(text_.size()) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    const size_t begin = std::min<size_t>(offset, text_.size());
    const size_t count = std::min(out.size(), text_.size() - begin);
    if (count > 0) std::memcpy(out.data(), text_.data() + begin, count);
    return count;
  }
  Result<uint64_t> Size() const override { return size_; }
  Status Append(std::span<const std::byte>) override { return Failed("read-only"); }
  Status WriteAt(uint64_t, std::span<const std::byte>) override { return Failed("read-only"); }
  Status Preallocate(uint64_t) override { return Failed("read-only"); }
  Status Sync() override { return Failed("read-only"); }

  // Loses all bytes from `size` on, but still claims to have them.
  void CutTo(size_t size) { text_.resize(size); }

 private:
  std::string text_;
  uint64_t size_;
};

class TextDisk : public Disk {
 public:
  std::map<std::string, std::string> files;

  Result<std::unique_ptr<File>> OpenToRead(const std::string& path) override {
    const auto found = files.find(path);
    if (found == files.end()) return NotFound(path + ": no such file");
    return std::unique_ptr<File>(std::make_unique<TextFile>(found->second));
  }
  Result<std::unique_ptr<File>> OpenToRewrite(const std::string&) override {
    return Failed("read-only");
  }
  Result<std::unique_ptr<File>> Create(const std::string&) override { return Failed("read-only"); }
  Status Rename(const std::string&, const std::string&) override { return Failed("read-only"); }
  Status Remove(const std::string&) override { return Failed("read-only"); }
  Status GiveBackReserve(const std::string&) override { return Failed("read-only"); }
  Status MakeFolder(const std::string&) override { return Failed("read-only"); }
  // Folders are what the names of files say.
  Result<std::vector<std::string>> List(const std::string& folder) override {
    std::string begin = folder == "." ? "" : folder;
    if (!begin.empty() && begin.back() != '/') begin += '/';
    std::vector<std::string> names;
    for (const auto& [path, text] : files) {
      if (!path.starts_with(begin)) continue;
      const std::string name =
          path.substr(begin.size(), path.find('/', begin.size()) - begin.size());
      if (names.empty() || names.back() != name) names.push_back(name);
    }
    if (names.empty()) return NotFound(folder + ": no such folder");
    std::ranges::sort(names);
    return names;
  }
  Status SyncFolder(const std::string&) override { return Failed("read-only"); }
};

}  // namespace strata
