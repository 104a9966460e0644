#include "worker/gbdt/data/npy_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/human_text.h"
#include "base/little_endian.h"
#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

constexpr size_t kBlockBytes = 1 << 20;  // and three times that as rows: the cache holds them
constexpr size_t kHeaderBytesMax = 1 << 20;
constexpr size_t kColumnsMax = 1 << 24;

// The text behind 'key': in the header's dictionary.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

// "(1000, 29)": two numbers.
bool ReadPair(std::string_view text, size_t* rows, size_t* columns) {
  if (!text.starts_with('(')) return false;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data() + 1, end, *rows);
  if (first.ec != std::errc()) return false;
  const char* at = first.ptr;
  while (at < end && (*at == ',' || *at == ' ')) ++at;
  const auto second = std::from_chars(at, end, *columns);
  return second.ec == std::errc() && second.ptr < end && *second.ptr == ')';
}

}  // namespace

NpyRows::NpyRows(std::unique_ptr<File> file, std::string path, const Shape& shape,
                 ColumnRoles roles)
    : file_(std::move(file)),
      path_(std::move(path)),
      shape_(shape),
      roles_(std::move(roles)),
      end_row_(shape.rows) {}

Result<NpyRows::Shape> NpyRows::ReadShape(const File& file, const std::string& path) {
  std::vector<std::byte> start(12);
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, start));
  constexpr char kMagic[] = "\x93NUMPY";
  if (read < 12 || std::memcmp(start.data(), kMagic, 6) != 0) {
    return Invalid(
        fmt::format("{}: no NumPy array: expected a file that begins with \\x93NUMPY", path));
  }
  const bool is_v1 = start[6] == std::byte{1};
  const size_t header_begin = is_v1 ? 10 : 12;
  const size_t header_bytes = is_v1 ? static_cast<size_t>(start[8]) | static_cast<size_t>(start[9])
                                                                          << 8
                                    : LoadLittle<uint32_t>(start.data() + 8);
  if (header_bytes > kHeaderBytesMax) {
    return Invalid(fmt::format("{}: its header claims {} bytes", path, header_bytes));
  }
  std::vector<std::byte> bytes(header_bytes);
  STRATA_ASSIGN(const size_t got, file.ReadAt(header_begin, bytes));
  if (got < header_bytes) return Invalid(fmt::format("{}: the file is cut in its header", path));
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Shape shape;
  shape.begin = header_begin + header_bytes;
  const std::string_view kind = ValueOf(header, "descr");
  shape.value_bytes = kind.starts_with("'<f4'") ? 4 : kind.starts_with("'<f8'") ? 8 : 0;
  if (shape.value_bytes == 0) {
    return Invalid(
        fmt::format("{}: expected elements '<f4' or '<f8', found {}: save x.astype('float32')",
                    path, ShownBytes(kind.substr(0, kind.find(',')), 8)));
  }
  if (!ValueOf(header, "fortran_order").starts_with("False")) {
    return Invalid(
        fmt::format("{}: expected a row-major array: save numpy.ascontiguousarray(x)", path));
  }
  if (!ReadPair(ValueOf(header, "shape"), &shape.rows, &shape.columns)) {
    const std::string_view found = ValueOf(header, "shape");
    return Invalid(fmt::format("{}: expected two dimensions, rows and columns, found {}", path,
                               ShownBytes(found.substr(0, found.find(')') + 1), 40)));
  }
  if (shape.columns < 1 || shape.columns > kColumnsMax) {
    return Invalid(
        fmt::format("{}: {} columns: expected 1 to {}", path, shape.columns, kColumnsMax));
  }
  STRATA_ASSIGN(const uint64_t size, file.Size());
  const uint64_t row_bytes = shape.columns * shape.value_bytes;
  if (shape.rows > (size - shape.begin) / row_bytes ||
      shape.rows * row_bytes != size - shape.begin) {
    return Invalid(fmt::format("{}: {} x {} elements of {} bytes do not make its {} bytes", path,
                               shape.rows, shape.columns, shape.value_bytes, size));
  }
  return shape;
}

Result<std::unique_ptr<NpyRows>> NpyRows::Open(Disk& disk, const std::string& path,
                                               const ColumnChoice& columns) {
  STRATA_ASSIGN(std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const Shape shape, ReadShape(*file, path));
  if (columns.header)
    return Invalid(fmt::format("{}: an array has no header: remove header", path));
  STRATA_ASSIGN(ColumnRoles roles, ColumnRoles::Find(columns, {}, shape.columns, path));
  return std::unique_ptr<NpyRows>(new NpyRows(std::move(file), path, shape, std::move(roles)));
}

Status NpyRows::Next(SparseRows* block) {
  block->Clear();
  const size_t row_bytes = shape_.columns * shape_.value_bytes;
  const size_t rows = std::min(std::max<size_t>(1, kBlockBytes / row_bytes), end_row_ - next_row_);
  if (rows == 0) return {};
  buffer_.resize(rows * row_bytes);
  STRATA_ASSIGN(const size_t got, file_->ReadAt(shape_.begin + next_row_ * row_bytes, buffer_));
  if (got < buffer_.size()) return Failed(fmt::format("{}: became shorter meanwhile", path_));
  STRATA_TRY(shape_.value_bytes == 4 ? Decode<float>(rows, block) : Decode<double>(rows, block));
  next_row_ += rows;
  return {};
}

// The buffer's rows. Features are most of it: no call for each.
template <typename Value>
Status NpyRows::Decode(size_t rows, SparseRows* block) const {
  block->columns.resize(rows * shape_.columns);
  block->values.resize(rows * shape_.columns);
  uint32_t* const columns = block->columns.data();
  double* const values = block->values.data();
  const std::byte* at = buffer_.data();
  size_t count = 0;
  for (size_t row = 0; row < rows; ++row) {
    uint32_t feature = 0;
    for (size_t column = 0; column < shape_.columns; ++column, at += sizeof(Value)) {
      Value stored;
      std::memcpy(&stored, at, sizeof stored);
      const double value = stored;
      const ColumnRole role = roles_.of[column];
      if (role == ColumnRole::kFeature) {
        columns[count] = feature++;
        values[count] = value;
        count += std::fabs(value) <= kZeroThreshold ? 0 : 1;  // NaN is kept
        continue;
      }
      if (roles_.Reads(role)) {
        const char* const wrong = roles_.Put(role, feature, value, block);
        if (*wrong != 0) {
          return Invalid(fmt::format("{}: row {}: {}", path_, next_row_ + row + 1, wrong));
        }
      }
      feature += role == ColumnRole::kLabel ? 0 : 1;
    }
    roles_.PutNoLabel(block);
    block->begins.push_back(count);
  }
  block->columns.resize(count);
  block->values.resize(count);
  return {};
}

Status NpyRows::Rewind() {
  next_row_ = first_row_;
  return {};
}

std::optional<ArrayRows> NpyRows::Array() const {
  if (first_row_ != 0 || end_row_ != shape_.rows) return std::nullopt;
  const auto read = [this](uint64_t first_row, std::span<std::byte> to) -> Status {
    const uint64_t row_bytes = shape_.columns * shape_.value_bytes;
    STRATA_ASSIGN(const size_t got, file_->ReadAt(shape_.begin + first_row * row_bytes, to));
    if (got < to.size()) return Failed(fmt::format("{}: became shorter meanwhile", path_));
    return {};
  };
  return ArrayRows{.numbers = {.rows = shape_.rows,
                               .columns = shape_.columns,
                               .value_bytes = shape_.value_bytes,
                               .read = read},
                   .roles = &roles_};
}

Status NpyRows::TakePart(const RowPart& part) {
  const ByteRange rows = RangeOf(shape_.rows, part.share);
  first_row_ = std::min<size_t>(rows.begin + part.skip, shape_.rows);
  end_row_ = std::max<size_t>(first_row_, rows.end);
  if (part.rows.has_value()) end_row_ = std::min(first_row_ + *part.rows, shape_.rows);
  return Rewind();
}

}  // namespace strata
