// Arrays of NumPy and other files on a simulated disk, for fuzz targets.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "base/file/npy_header.h"

namespace strata::fuzz {

template <typename T>
std::string ArrayOf(std::string_view kind, const std::vector<uint64_t>& shape,
                    const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return NpyHeaderText(kind, shape) +
         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

inline void Put(Disk& disk, const std::string& path, std::string_view content) {
  const auto file = disk.Create(path);
  STRATA_CHECK_MSG(file.ok(), file.status().message());
  STRATA_CHECK((*file)->Append(std::as_bytes(std::span(content))).ok());
}

}  // namespace strata::fuzz
