#include "proto/format/sealed_json.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/human_text.h"

namespace strata::format {
namespace {

constexpr size_t kHeaderBytesMax = 96;

std::string HeaderLine(std::string_view kind, uint64_t version, uint64_t body_bytes,
                       uint64_t checksum) {
  return fmt::format("{} {} {} {:016x}\n", kind, version, body_bytes, checksum);
}

// The number between `*at`, which may be behind the line, and the next `end`, which is stepped
// over.
bool TakeNumber(std::string_view line, size_t* at, char end, int base, uint64_t* value) {
  if (*at >= line.size()) return false;
  const char* first = line.data() + *at;
  const auto [last, error] = std::from_chars(first, line.data() + line.size(), *value, base);
  if (error != std::errc() || last == line.data() + line.size() || *last != end) return false;
  *at = static_cast<size_t>(last - line.data()) + 1;
  return true;
}

}  // namespace

std::string SealText(const Seal& seal, std::string_view body) {
  return HeaderLine(seal.kind, seal.version, body.size(), Hash64(body)) + std::string(body);
}

Result<std::string_view> UnsealText(const Seal& seal, std::string_view bytes,
                                    const std::string& file) {
  const std::string magic = std::string(seal.kind) + " ";
  if (!bytes.starts_with(magic)) {
    const std::string_view found = bytes.substr(0, magic.size());
    return Corrupt(fmt::format(
        "{}: not {}: bytes 0 to {}: expected {}, found {} in a file of "
        "{} bytes",
        file, seal.what, magic.size(), QuotedBytes(magic), QuotedBytes(found), bytes.size()));
  }
  const size_t line_end = bytes.substr(0, kHeaderBytesMax).find('\n');
  uint64_t version = 0;
  uint64_t body_bytes = 0;
  uint64_t checksum = 0;
  size_t at = magic.size();
  const std::string_view line =
      bytes.substr(0, line_end == std::string_view::npos ? 0 : line_end + 1);
  const bool has_version = TakeNumber(line, &at, ' ', 10, &version);
  if (has_version && version > seal.version) {
    return Invalid(
        fmt::format("{}: format version {} is newer than {}, the newest that this build reads: use "
                    "{}, or a newer one",
                    file, version, seal.version, seal.program));
  }
  if (!has_version || version == 0 || !TakeNumber(line, &at, ' ', 10, &body_bytes) ||
      !TakeNumber(line, &at, '\n', 16, &checksum) ||
      HeaderLine(seal.kind, version, body_bytes, checksum) != line) {
    return Corrupt(fmt::format("{}: the header line (bytes 0 to {}) is damaged", file,
                               std::min(bytes.size(), kHeaderBytesMax)));
  }
  const std::string_view body = bytes.substr(line.size());
  if (body.size() != body_bytes) {
    return Corrupt(fmt::format("{}: expected {} bytes behind the header line, found {}", file,
                               body_bytes, body.size()));
  }
  if (const uint64_t found = Hash64(body); found != checksum) {
    return Corrupt(fmt::format("{}: bytes {} to {}: expected checksum {:016x}, found {:016x}", file,
                               line.size(), bytes.size(), checksum, found));
  }
  return body;
}

}  // namespace strata::format
