#include "worker/gbdt/data/npy_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/file/npy_header.h"
#include "base/human_text.h"
#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

constexpr size_t kBlockBytes = 1 << 20;  // and three times that as rows: the cache holds them
constexpr size_t kColumnsMax = 1 << 24;

size_t BytesOf(std::string_view kind) { return kind == "<f4" ? 4 : kind == "<f8" ? 8 : 0; }

// Makes a structured array of numbers of one kind, one element a row, the array of rows and columns
// that it lies like, and takes its names.
Status TakeFields(const std::string& path, NpyHeader* header, std::vector<std::string>* names) {
  if (header->fields.empty()) return {};
  const std::string& kind = header->fields[0].kind;
  for (const NpyField& field : header->fields) {
    if (field.kind != kind || BytesOf(kind) == 0) {
      return Invalid(fmt::format(
          "{}: expected fields that are all '<f4' or all '<f8', found '{}' of kind '{}': save "
          "frame.astype('float32').to_records(index=False)",
          path, ShownBytes(field.name), ShownBytes(field.kind)));
    }
    names->push_back(field.name);
  }
  if (header->shape.size() != 1) {
    return Invalid(fmt::format("{}: expected one dimension of a structured array, found {}", path,
                               header->ShapeText()));
  }
  header->kind = kind;
  header->shape.push_back(names->size());
  return {};
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
  STRATA_ASSIGN(NpyHeader header, ReadNpyHeader(file, path));
  Shape shape;
  STRATA_TRY(TakeFields(path, &header, &shape.names));
  shape.begin = header.begin;
  shape.value_bytes = BytesOf(header.kind);
  if (shape.value_bytes == 0) {
    return Invalid(
        fmt::format("{}: expected elements '<f4' or '<f8', found '{}': save x.astype('float32')",
                    path, ShownBytes(header.kind, 8)));
  }
  if (!header.is_row_major) {
    return Invalid(
        fmt::format("{}: expected a row-major array: save numpy.ascontiguousarray(x)", path));
  }
  if (header.shape.size() != 2) {
    return Invalid(fmt::format("{}: expected two dimensions, rows and columns, found {}", path,
                               header.ShapeText()));
  }
  shape.rows = header.shape[0];
  shape.columns = header.shape[1];
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
  STRATA_ASSIGN(Shape shape, ReadShape(*file, path));
  if (columns.header)
    return Invalid(fmt::format("{}: an array has no header: remove header", path));
  STRATA_ASSIGN(ColumnRoles roles,
                ColumnRoles::Find(columns, std::move(shape.names), shape.columns, path));
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
    for (size_t column = 0; column < shape_.columns; ++column, at += sizeof(Value)) {
      Value stored;
      std::memcpy(&stored, at, sizeof stored);
      const double value = stored;
      const ColumnRole role = roles_.of[column];
      if (role == ColumnRole::kFeature) {
        columns[count] = roles_.feature_of[column];
        values[count] = value;
        count += std::fabs(value) <= kZeroThreshold ? 0 : 1;  // NaN is kept
        continue;
      }
      if (roles_.Reads(role)) {
        const char* const wrong = roles_.Put(role, roles_.feature_of[column], value, block);
        if (*wrong != 0) {
          return Invalid(fmt::format("{}: row {}: {}", path_, next_row_ + row + 1, wrong));
        }
      }
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
