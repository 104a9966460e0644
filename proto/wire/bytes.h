// Little-endian writing and reading of small payloads, the same on every host. The reader never
// runs past its bytes: once they end it returns zeros and stays failed, so that a decoder checks
// once, at the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/little_endian.h"
#include "base/message_port.h"

namespace strata::wire {

using strata::LoadLittle;
using strata::StoreLittle;

class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    StoreLittle(value, bytes_.data() + at);
  }
  void PutFloat(float value) { Put(std::bit_cast<uint32_t>(value)); }
  void PutText(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  Frame Take() { return Frame::Own(std::move(bytes_)); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    if (!Need(sizeof(T))) return 0;
    const T value = LoadLittle<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  float GetFloat() { return std::bit_cast<float>(Get<uint32_t>()); }
  std::string GetText(size_t length) {
    if (!Need(length)) return {};
    std::string text(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return text;
  }

  // False at the end.
  bool NextIs(uint8_t value) const { return !bytes_.empty() && bytes_[0] == std::byte{value}; }
  size_t left() const { return bytes_.size(); }
  bool ok() const { return ok_; }

 private:
  bool Need(size_t length) {
    ok_ = ok_ && length <= bytes_.size();
    return ok_;
  }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace strata::wire
