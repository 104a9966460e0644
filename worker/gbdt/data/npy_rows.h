// NpyRows: rows from a NumPy array file (.npy, format 1.0 to 3.0): two-dimensional, row-major,
// little-endian float32 or float64; or structured, with such numbers as fields, whose names are
// those of the columns. Column roles as in text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/gbdt/data/column_roles.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

class NpyRows : public RowSource {
 public:
  // kNotFound: no such file. kInvalid: no such array; columns that are not there.
  static Result<std::unique_ptr<NpyRows>> Open(Disk& disk, const std::string& path,
                                               const ColumnChoice& columns);

  Status Next(SparseRows* block) override;
  Status Rewind() override;
  Status TakePart(const RowPart& part) override;
  size_t features() const override { return roles_.features; }
  std::optional<ArrayRows> Array() const override;
  std::vector<std::string> FeatureNames() const override { return roles_.Names(); }

 private:
  // What the file's header says.
  struct Shape {
    size_t rows = 0;
    size_t columns = 0;
    size_t value_bytes = 0;               // 4 or 8
    uint64_t begin = 0;                   // of the first value in the file
    std::vector<std::string> names = {};  // of columns; empty: they have none
  };

  NpyRows(std::unique_ptr<File> file, std::string path, const Shape& shape, ColumnRoles roles);
  template <typename Value>
  Status Decode(size_t rows, SparseRows* block) const;
  static Result<Shape> ReadShape(const File& file, const std::string& path);

  std::unique_ptr<File> file_;
  std::string path_;
  Shape shape_;
  ColumnRoles roles_;
  size_t first_row_ = 0;  // of the part
  size_t end_row_ = 0;
  size_t next_row_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace strata
