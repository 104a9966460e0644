#include "tests/soak/file_faults.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <span>

#include "base/file/disk.h"
#include "proto/format/log_format.h"
#include "strata/status.h"

namespace strata::soak {
namespace {

constexpr uint64_t kHeadBytes = 128;
constexpr uint64_t kPageBytes = 4096;
constexpr size_t kChunkBytes = size_t{1} << 16;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    STRATA_CHECK_MSG(fd_ >= 0, "cannot open " + path);
    struct stat info {};
    STRATA_CHECK(fstat(fd_, &info) == 0);
    bytes_ = static_cast<uint64_t>(info.st_size);
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  uint64_t bytes() const { return bytes_; }
  size_t Read(uint64_t offset, uint8_t* out, size_t size) const {
    const ssize_t got = pread(fd_, out, size, static_cast<off_t>(offset));
    STRATA_CHECK(got >= 0);
    return static_cast<size_t>(got);
  }
  void Write(uint64_t offset, const uint8_t* bytes, size_t size) {
    STRATA_CHECK(pwrite(fd_, bytes, size, static_cast<off_t>(offset)) ==
                 static_cast<ssize_t>(size));
  }
  void Truncate(uint64_t bytes) { STRATA_CHECK(ftruncate(fd_, static_cast<off_t>(bytes)) == 0); }

  // Up to the last byte that is not zero.
  uint64_t UsedBytes() const {
    std::vector<uint8_t> chunk(kChunkBytes);
    for (uint64_t end = bytes_; end > 0;) {
      const uint64_t begin = end > kChunkBytes ? end - kChunkBytes : 0;
      const size_t got = Read(begin, chunk.data(), static_cast<size_t>(end - begin));
      for (size_t i = got; i > 0; --i) {
        if (chunk[i - 1] != 0) return begin + i;
      }
      end = begin;
    }
    return 0;
  }

 private:
  int fd_;
  uint64_t bytes_ = 0;
};

std::string FlipBit(OpenFile& file, uint64_t below, Random& random) {
  const uint64_t offset = random.Below(below);
  const auto bit = static_cast<uint8_t>(random.Below(8));
  uint8_t byte = 0;
  STRATA_CHECK(file.Read(offset, &byte, 1) == 1);
  byte ^= static_cast<uint8_t>(1U << bit);
  file.Write(offset, &byte, 1);
  return fmt::format("bit {} of byte {} flipped", bit, offset);
}

std::string ZeroPage(OpenFile& file, uint64_t used, Random& random) {
  const uint64_t offset = random.Below(used) / kPageBytes * kPageBytes;
  const std::array<uint8_t, kPageBytes> zeros{};
  const uint64_t size = std::min(kPageBytes, file.bytes() - offset);
  file.Write(offset, zeros.data(), static_cast<size_t>(size));
  return fmt::format("{} bytes from {} on set to zero", size, offset);
}

// What was done; "" when there is nothing to do it to.
std::string DamageOne(FaultKind kind, const std::string& path, Random& random) {
  OpenFile file(path);
  const uint64_t used = file.UsedBytes();
  if (used == 0) return "";
  switch (kind) {
    case FaultKind::kFlipHead:
      return FlipBit(file, std::min(used, kHeadBytes), random);
    case FaultKind::kFlipBody:
      return FlipBit(file, used, random);
    case FaultKind::kFlipAny:
      return FlipBit(file, file.bytes(), random);
    case FaultKind::kTruncate: {
      const uint64_t bytes = random.Below(used);
      file.Truncate(bytes);
      return fmt::format("cut to {} of {} used bytes", bytes, used);
    }
    case FaultKind::kZeroPage:
      return ZeroPage(file, used, random);
    case FaultKind::kSwap:
    case FaultKind::kRemove:
      break;
  }
  return "";
}

bool IsLogThatEndsBetweenRecords(const std::string& path) {
  const Result<std::string> content = ReadFile(RealDisk(), path, UINT64_MAX);
  STRATA_CHECK_MSG(content.ok(), path);
  const auto bytes = std::as_bytes(std::span(*content));
  const auto segment = format::DecodeLogSegment(bytes);
  if (!segment.ok()) return false;
  uint64_t offset = format::kLogSegmentHeaderBytes;
  while (offset < bytes.size()) {
    const auto record =
        format::DecodeLogRecordHeader(bytes.subspan(offset), {.lineage = segment->lineage,
                                                              .lane = segment->lane,
                                                              .first_lsn = segment->first_lsn,
                                                              .offset = offset});
    if (!record.ok()) return false;
    offset += format::LogRecordBytes(record->body_bytes);
  }
  return offset == bytes.size();
}

const std::string& Pick(const std::vector<std::string>& names, Random& random) {
  return names[random.Below(names.size())];
}

bool IsNewest(const std::string& file, const std::vector<std::string>& sorted) {
  const auto folder = std::filesystem::path(file).parent_path();
  for (auto at = sorted.rbegin(); *at != file; ++at) {
    if (std::filesystem::path(*at).parent_path() == folder) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Fault DamageFiles(const std::string& folder, Random& random) {
  std::map<std::string, std::vector<std::string>> kinds;
  for (const std::string& file : FilesBelow(folder)) {
    std::string kind = std::filesystem::path(file).filename().string();
    std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0; });
    kinds[kind].push_back(file);
  }
  STRATA_CHECK(!kinds.empty());
  const auto& files =
      std::next(kinds.begin(), static_cast<ptrdiff_t>(random.Below(kinds.size())))->second;
  Fault fault;
  fault.kind = kFaultKinds[random.Below(std::size(kFaultKinds))];
  const std::string& file = Pick(files, random);
  if (fault.kind == FaultKind::kSwap) {
    const std::string& other = Pick(files, random);
    if (other == file) return fault;
    std::filesystem::rename(file, file + ".swap");
    std::filesystem::rename(other, file);
    std::filesystem::rename(file + ".swap", other);
    fault.files = {file, other};
    fault.text = fmt::format("{} and {} swapped", file, other);
  } else if (fault.kind == FaultKind::kRemove) {
    if (IsNewest(file, files)) return fault;
    std::filesystem::remove(file);
    fault.files = {file};
    fault.text = file + " removed";
  } else {
    const std::string what = DamageOne(fault.kind, file, random);
    if (what.empty()) return fault;
    fault.files = {file};
    fault.text = fmt::format("{}: {}", file, what);
    fault.between_records = fault.kind == FaultKind::kTruncate && IsLogThatEndsBetweenRecords(file);
  }
  return fault;
}

}  // namespace strata::soak
