// The header of a NumPy array file (.npy, format 1.0 to 3.0: numpy.lib.format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// One named part of the elements of a structured array.
struct NpyField {
  std::string name;
  std::string kind;  // "<f4"
};

struct NpyHeader {
  std::string kind;  // "<f4", "<i8", ..., as the file spells it
  // These are the fields of a structured array, in order and without gaps. It is empty for other
  // arrays, and where fields are arrays or records themselves.
  std::vector<NpyField> fields = {};
  bool is_row_major = true;
  std::vector<uint64_t> shape;  // a number for each dimension
  uint64_t begin = 0;           // of the first element in the file

  std::string ShapeText() const;  // NpyShapeText
  // Elements of the array; nothing when that is no number of 64 bits.
  Result<uint64_t> Elements() const;
};

// "(1000, 29)", "(6,)"
std::string NpyShapeText(const std::vector<uint64_t>& shape);

// Whether a file's name says that it is NumPy's: .npy, or .npz, which ReadNpyHeader refuses with
// what to do.
bool IsNpyName(std::string_view path);

// kInvalid, with the path: no such file, or one that is cut within its header.
Result<NpyHeader> ReadNpyHeader(const File& file, const std::string& path);

// The bytes of a header of format 1.0 for a row-major array, as long as a multiple of 64 bytes, and
// at least `bytes_min`.
std::string NpyHeaderText(std::string_view kind, const std::vector<uint64_t>& shape,
                          size_t bytes_min = 0);

}  // namespace strata
