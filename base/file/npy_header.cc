#include "base/file/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/little_endian.h"

namespace strata {
namespace {

constexpr size_t kHeaderBytesMax = 1 << 20;
constexpr size_t kDimensionsMax = 8;
constexpr size_t kAlignment = 64;  // of an array's first byte

// The text behind 'key': in the header's dictionary.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

// "(1000, 29)", "(1000,)", "()"; nothing when it is no such text.
std::optional<std::vector<uint64_t>> ReadShape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  std::vector<uint64_t> shape;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size();
  while (true) {
    while (at < end && (*at == ',' || *at == ' ')) ++at;
    if (at == end || shape.size() > kDimensionsMax) return std::nullopt;
    if (*at == ')') return shape;
    uint64_t size = 0;
    const auto read = std::from_chars(at, end, size);
    if (read.ec != std::errc()) return std::nullopt;
    shape.push_back(size);
    at = read.ptr;
  }
}

// Takes a text in quotes, as Python writes it, off the beginning; nothing where there is none, or
// one that needs escapes.
std::optional<std::string> TakeQuoted(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(", ("), text->size()));
  if (text->empty() || (text->front() != '\'' && text->front() != '"')) return std::nullopt;
  const size_t end = text->find(text->front(), 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string quoted(text->substr(1, end - 1));
  text->remove_prefix(end + 1);
  if (quoted.find('\\') != std::string::npos) return std::nullopt;
  return quoted;
}

// "[('y', '<f4'), ('a', '<f4')]"; none when it is another text.
std::vector<NpyField> ReadFields(std::string_view text) {
  std::vector<NpyField> fields;
  if (!text.starts_with('[')) return fields;
  text.remove_prefix(1);
  while (!text.starts_with(']')) {
    std::optional<std::string> name = TakeQuoted(&text);
    std::optional<std::string> kind = TakeQuoted(&text);
    if (!name || !kind || !text.starts_with(')')) return {};
    fields.push_back({std::move(*name), std::move(*kind)});
    text.remove_prefix(1);
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return fields;
}

}  // namespace

std::string NpyHeader::ShapeText() const { return NpyShapeText(shape); }

std::string NpyShapeText(const std::vector<uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Result<uint64_t> NpyHeader::Elements() const {
  uint64_t elements = 1;
  for (const uint64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) {
      return Invalid("an array of more than 2^64 elements");
    }
  }
  return elements;
}

bool IsNpyName(std::string_view path) { return path.ends_with(".npy") || path.ends_with(".npz"); }

Result<NpyHeader> ReadNpyHeader(const File& file, const std::string& path) {
  std::vector<std::byte> start(12);
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, start));
  constexpr char kMagic[] = "\x93NUMPY";
  constexpr char kArchive[] = "PK\x03\x04";  // numpy.savez
  if (read >= 4 && std::memcmp(start.data(), kArchive, 4) == 0) {
    return Invalid(fmt::format(
        "{}: expected an array (.npy), found an archive (.npz): save one of its arrays: "
        "numpy.save('one.npy', numpy.load('{}')['NAME'])",
        path, path));
  }
  if (read < 12 || std::memcmp(start.data(), kMagic, 6) != 0) {
    return Invalid(fmt::format(
        "{}: no NumPy array: expected a file that begins with \\x93NUMPY; numpy.save writes one",
        path));
  }
  const bool is_v1 = start[6] == std::byte{1};
  const size_t header_begin = is_v1 ? 10 : 12;
  const size_t header_bytes =
      is_v1 ? LoadLittle<uint16_t>(start.data() + 8) : LoadLittle<uint32_t>(start.data() + 8);
  if (header_bytes > kHeaderBytesMax) {
    return Invalid(fmt::format("{}: its header claims {} bytes", path, header_bytes));
  }
  std::vector<std::byte> bytes(header_bytes);
  STRATA_ASSIGN(const size_t got, file.ReadAt(header_begin, bytes));
  if (got < header_bytes) {
    return Invalid(fmt::format(
        "{}: the file is cut in its header: expected {} bytes of it, found {}; write it again",
        path, header_bytes, got));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  NpyHeader header;
  header.begin = header_begin + header_bytes;
  std::string_view kind = ValueOf(text, "descr");
  kind = kind.substr(0, kind.find(','));
  if (kind.size() >= 2 && kind.front() == '\'' && kind.back() == '\'') {
    kind = kind.substr(1, kind.size() - 2);
  }
  header.kind = kind;
  header.fields = ReadFields(ValueOf(text, "descr"));
  header.is_row_major = ValueOf(text, "fortran_order").starts_with("False");
  std::optional<std::vector<uint64_t>> shape = ReadShape(ValueOf(text, "shape"));
  if (!shape) return Invalid(fmt::format("{}: no shape in its header", path));
  header.shape = std::move(*shape);
  return header;
}

std::string NpyHeaderText(std::string_view kind, const std::vector<uint64_t>& shape,
                          size_t bytes_min) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", kind,
                                 NpyShapeText(shape));
  const std::string magic("\x93NUMPY\x01\x00", 8);
  const size_t before = magic.size() + 2;
  const size_t least = std::max(before + text.size() + 1, bytes_min);
  text.resize((least + kAlignment - 1) / kAlignment * kAlignment - before - 1, ' ');
  text += '\n';
  std::string length(2, '\0');
  StoreLittle(static_cast<uint16_t>(text.size()), reinterpret_cast<std::byte*>(length.data()));
  return magic + length + text;
}

}  // namespace strata
