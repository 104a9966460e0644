// Bytes of NumPy's array files, for tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace strata {

// A file of version 1.0 as NumPy writes it.
template <typename T>
std::string NpyText(const std::string& header, const std::vector<T>& values) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  text += header;
  const size_t begin = text.size();
  text.resize(begin + values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(text.data() + begin, values.data(), values.size() * sizeof(T));
  return text;
}

inline std::string NpyHeader(const char* descr, const std::string& shape,
                             const char* order = "False") {
  return std::string("{'descr': '") + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }     \n";
}

}  // namespace strata
