#include "base/file/npy_numbers.h"

#include <fmt/format.h>

#include "base/human_text.h"
#include "base/little_endian.h"

namespace strata {
namespace {

struct Kind {
  const char* name;
  size_t width;
  bool is_signed;
};
constexpr Kind kKinds[] = {{"|i1", 1, true},  {"|u1", 1, false}, {"<i2", 2, true},
                           {"<u2", 2, false}, {"<i4", 4, true},  {"<u4", 4, false},
                           {"<i8", 8, true},  {"<u8", 8, false}};

int64_t Decode(const std::byte* at, size_t width, bool is_signed) {
  switch (width) {
    case 1:
      return is_signed ? static_cast<int8_t>(LoadLittle<uint8_t>(at)) : LoadLittle<uint8_t>(at);
    case 2:
      return is_signed ? static_cast<int16_t>(LoadLittle<uint16_t>(at)) : LoadLittle<uint16_t>(at);
    case 4:
      return is_signed ? static_cast<int32_t>(LoadLittle<uint32_t>(at))
                       : static_cast<int64_t>(LoadLittle<uint32_t>(at));
    default:
      return static_cast<int64_t>(LoadLittle<uint64_t>(at));
  }
}

}  // namespace

Result<std::unique_ptr<NpyNumbers>> NpyNumbers::Open(Disk& disk, const std::string& path,
                                                     size_t dimensions, std::string_view advice) {
  auto made = std::make_unique<NpyNumbers>();
  made->path_ = path;
  STRATA_ASSIGN(made->file_, disk.OpenToRead(path));
  STRATA_ASSIGN(made->header_, ReadNpyHeader(*made->file_, path));
  const NpyHeader& header = made->header_;
  for (const Kind& kind : kKinds) {
    if (header.kind != kind.name) continue;
    made->width_ = kind.width;
    made->is_signed_ = kind.is_signed;
  }
  if (made->width_ == 0) {
    return Invalid(
        fmt::format("{}: expected whole numbers ('<i4', '<u4', '<i8', ...), found '{}': "
                    "save x.astype('<i8'), or '<u8'",
                    path, ShownBytes(header.kind, 8)));
  }
  if (!header.is_row_major) {
    return Invalid(
        fmt::format("{}: expected a row-major array: save numpy.ascontiguousarray(x)", path));
  }
  if (header.shape.size() != dimensions) {
    return Invalid(fmt::format("{}: expected {}, found {}: {}", path,
                               Counted(dimensions, "dimension"),
                               Counted(header.shape.size(), "dimension"), advice));
  }
  // Else a file of a few bytes would have any number of rows.
  if (made->rows() > 0 && made->columns() == 0) {
    return Invalid(fmt::format("{}: expected rows of one number or more, found shape {}", path,
                               header.ShapeText()));
  }
  STRATA_ASSIGN(const uint64_t size, made->file_->Size());
  const Result<uint64_t> elements = header.Elements();
  if (!elements.ok()) return elements.status().Prefixed(path);
  const uint64_t bytes = size < header.begin ? 0 : size - header.begin;
  if (*elements > bytes / made->width_ || *elements * made->width_ != bytes) {
    return Invalid(
        fmt::format("{}: expected {} elements of {} bytes behind its header, found {} "
                    "bytes: write it again, it is cut or has more than it says",
                    path, *elements, made->width_, bytes));
  }
  return made;
}

// Those of 64 bits without a sign by their bits.
Result<std::vector<int64_t>> NpyNumbers::ReadBits(uint64_t begin, uint64_t count) {
  std::vector<std::byte> bytes(count * width_);
  STRATA_ASSIGN(const size_t got, file_->ReadAt(header_.begin + begin * width_, bytes));
  if (got < bytes.size()) return Failed(fmt::format("{}: became shorter meanwhile", path_));
  std::vector<int64_t> numbers(count);
  for (uint64_t i = 0; i < count; ++i) {
    numbers[i] = Decode(bytes.data() + i * width_, width_, is_signed_);
  }
  return numbers;
}

Result<std::vector<int64_t>> NpyNumbers::Read(uint64_t begin, uint64_t count,
                                              std::string_view expected) {
  STRATA_ASSIGN(std::vector<int64_t> numbers, ReadBits(begin, count));
  for (uint64_t i = 0; i < count && IsLargeUnsigned(); ++i) {
    if (numbers[i] >= 0) continue;
    return Invalid(fmt::format("{}: element {}: expected {}, found {}", path_, begin + i, expected,
                               static_cast<uint64_t>(numbers[i])));
  }
  return numbers;
}

Result<std::vector<uint64_t>> NpyNumbers::ReadUnsigned(uint64_t begin, uint64_t count) {
  STRATA_ASSIGN(const std::vector<int64_t> numbers, ReadBits(begin, count));
  for (uint64_t i = 0; i < count && !IsLargeUnsigned(); ++i) {
    if (numbers[i] >= 0) continue;
    return Invalid(fmt::format("{}: element {}: expected a number from 0 to 2^64 - 1, found {}",
                               path_, begin + i, numbers[i]));
  }
  return std::vector<uint64_t>(numbers.begin(), numbers.end());
}

}  // namespace strata
