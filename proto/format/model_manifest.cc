#include "proto/format/model_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/hash.h"

namespace strata::format {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "strata-model ";
constexpr size_t kHeaderBytesMax = 80;

std::string HeaderLine(uint64_t version, uint64_t body_bytes, uint64_t checksum) {
  return fmt::format("{}{} {} {:016x}\n", kMagic, version, body_bytes, checksum);
}

// The number between `*at` and the next `end`, which is stepped over.
bool TakeNumber(std::string_view line, size_t* at, char end, int base, uint64_t* value) {
  const char* first = line.data() + *at;
  const auto [last, error] = std::from_chars(first, line.data() + line.size(), *value, base);
  if (error != std::errc() || last == line.data() + line.size() || *last != end) return false;
  *at = static_cast<size_t>(last - line.data()) + 1;
  return true;
}

// The body, once the header line has proved it.
Result<std::string_view> CheckedBody(std::string_view bytes, const std::string& file) {
  if (!bytes.starts_with(kMagic)) {
    return Invalid(
        fmt::format("{}: not a model manifest: expected it to begin with \"{}\"", file, kMagic));
  }
  const size_t line_end = bytes.substr(0, kHeaderBytesMax).find('\n');
  uint64_t version = 0;
  uint64_t body_bytes = 0;
  uint64_t checksum = 0;
  size_t at = kMagic.size();
  const std::string_view line =
      bytes.substr(0, line_end == std::string_view::npos ? 0 : line_end + 1);
  const bool has_version = TakeNumber(line, &at, ' ', 10, &version);
  if (has_version && version > kModelVersion) {
    return Invalid(fmt::format(
        "{}: format version {} is newer than {}, the newest that this build reads: use the "
        "strata-worker that saved the model, or a newer one",
        file, version, kModelVersion));
  }
  if (!has_version || version == 0 || !TakeNumber(line, &at, ' ', 10, &body_bytes) ||
      !TakeNumber(line, &at, '\n', 16, &checksum) ||
      HeaderLine(version, body_bytes, checksum) != line) {
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

// Reads members of one JSON object; the first problem is kept, and everything after it is skipped.
class Members {
 public:
  Members(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) status_ = Corrupt(where_ + ": expected a JSON object");
  }

  template <typename T>
  void Take(const char* name, T* value) {
    if (!status_.ok()) return;
    const auto member = object_.find(name);
    if (member == object_.end() || !Convert(*member, value)) {
      status_ = Corrupt(
          fmt::format("{}: \"{}\" is missing, of the wrong type or out of range", where_, name));
    }
  }

  const json* Array(const char* name) {
    if (!status_.ok()) return nullptr;
    const auto member = object_.find(name);
    if (member != object_.end() && member->is_array()) return &*member;
    status_ = Corrupt(fmt::format("{}: \"{}\" is missing or no array", where_, name));
    return nullptr;
  }

  const Status& status() const { return status_; }

 private:
  static bool Convert(const json& from, std::string* to) {
    if (!from.is_string()) return false;
    *to = *from.get_ptr<const json::string_t*>();
    return true;
  }
  static bool Convert(const json& from, float* to) {
    if (!from.is_number()) return false;
    *to = from.get<float>();
    return std::isfinite(*to);
  }
  template <typename T>
  requires std::is_unsigned_v<T>
  static bool Convert(const json& from, T* to) {
    if (!from.is_number_unsigned()) return false;
    const auto value = from.get<uint64_t>();
    if (value > std::numeric_limits<T>::max()) return false;
    *to = static_cast<T>(value);
    return true;
  }
  template <typename T>
  static bool Convert(const json& from, std::vector<T>* to) {
    if (!from.is_array()) return false;
    to->resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (!Convert(from[i], &(*to)[i])) return false;
    }
    return true;
  }

  const json& object_;
  std::string where_;
  Status status_;
};

uint64_t BlockCount(uint64_t bytes) {
  return bytes / kModelBlockBytes + (bytes % kModelBlockBytes != 0 ? 1 : 0);
}

Status TakeFiles(const json& list, const std::string& file, std::vector<ModelFile>* files) {
  for (const json& element : list) {
    ModelFile entry;
    Members members(element, file + ": files");
    members.Take("name", &entry.name);
    members.Take("bytes", &entry.bytes);
    members.Take("checksums", &entry.checksums);
    STRATA_TRY(members.status());
    if (entry.checksums.size() != BlockCount(entry.bytes)) {
      return Corrupt(fmt::format("{}: {} has {} checksums, expected {} for {} bytes", file,
                                 entry.name, entry.checksums.size(), BlockCount(entry.bytes),
                                 entry.bytes));
    }
    files->push_back(std::move(entry));
  }
  return {};
}

std::span<const std::byte> Block(std::span<const std::byte> content, size_t block) {
  const size_t begin = block * kModelBlockBytes;
  return content.subspan(begin, std::min(kModelBlockBytes, content.size() - begin));
}

}  // namespace

std::string EncodeModelManifest(const ModelManifest& manifest) {
  json files = json::array();
  for (const ModelFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksums", file.checksums}});
  }
  const json body = {{"writer", manifest.writer},
                     {"job", manifest.job},
                     {"seed", manifest.seed},
                     {"epochs", manifest.epochs},
                     {"samples", manifest.samples},
                     {"model", manifest.model},
                     {"embedding_dim", manifest.embedding_dim},
                     {"hidden", manifest.hidden},
                     {"slots", manifest.slots},
                     {"dense_width", manifest.dense_width},
                     {"dense_parameters", manifest.dense_parameters},
                     {"row_dim", manifest.row_dim},
                     {"rows", manifest.rows},
                     {"table_seed", manifest.table_seed},
                     {"initializer", manifest.initializer},
                     {"initializer_scale", manifest.initializer_scale},
                     {"files", files}};
  // Names that are no UTF-8 are for people only: better a replaced letter than no model.
  const std::string text = body.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  return HeaderLine(kModelVersion, text.size(), Hash64(text)) + text;
}

Result<ModelManifest> DecodeModelManifest(std::string_view bytes, const std::string& file) {
  STRATA_ASSIGN(const std::string_view text, CheckedBody(bytes, file));
  const json body = json::parse(text, nullptr, /*allow_exceptions=*/false);
  ModelManifest manifest;
  Members members(body, file);
  members.Take("writer", &manifest.writer);
  members.Take("job", &manifest.job);
  members.Take("seed", &manifest.seed);
  members.Take("epochs", &manifest.epochs);
  members.Take("samples", &manifest.samples);
  members.Take("model", &manifest.model);
  members.Take("embedding_dim", &manifest.embedding_dim);
  members.Take("hidden", &manifest.hidden);
  members.Take("slots", &manifest.slots);
  members.Take("dense_width", &manifest.dense_width);
  members.Take("dense_parameters", &manifest.dense_parameters);
  members.Take("row_dim", &manifest.row_dim);
  members.Take("rows", &manifest.rows);
  members.Take("table_seed", &manifest.table_seed);
  members.Take("initializer", &manifest.initializer);
  members.Take("initializer_scale", &manifest.initializer_scale);
  const json* files = members.Array("files");
  STRATA_TRY(members.status());
  STRATA_TRY(TakeFiles(*files, file, &manifest.files));
  return manifest;
}

ModelFile DescribeModelFile(const std::string& name, std::span<const std::byte> content) {
  ModelFile file{.name = name, .bytes = content.size(), .checksums = {}};
  for (size_t block = 0; block < BlockCount(content.size()); ++block) {
    file.checksums.push_back(Hash64(Block(content, block)));
  }
  return file;
}

Status CheckModelFile(const ModelFile& expected, std::span<const std::byte> content,
                      const std::string& path) {
  if (content.size() != expected.bytes) {
    return Corrupt(
        fmt::format("{}: expected {} bytes, found {}", path, expected.bytes, content.size()));
  }
  for (size_t block = 0; block < expected.checksums.size(); ++block) {
    const std::span<const std::byte> bytes = Block(content, block);
    if (const uint64_t found = Hash64(bytes); found != expected.checksums[block]) {
      return Corrupt(
          fmt::format("{}: block {} (bytes {} to {}): expected checksum {:016x}, found {:016x}",
                      path, block, block * kModelBlockBytes,
                      block * kModelBlockBytes + bytes.size(), expected.checksums[block], found));
    }
  }
  return {};
}

}  // namespace strata::format
