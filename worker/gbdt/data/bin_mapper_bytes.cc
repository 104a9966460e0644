// BinMapper as bytes: what ranks tell each other of features that one of them has looked at.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

constexpr uint64_t kBinsMax = 1 << 16;

// Numbers one behind the other, each as 64 bits.
class Writer {
 public:
  void Add(uint64_t bits) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(bits));
    std::memcpy(bytes_.data() + at, &bits, sizeof(bits));
  }
  void Add(double number) { Add(std::bit_cast<uint64_t>(number)); }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t left() const { return bytes_.size() / sizeof(uint64_t); }
  uint64_t Next() {
    if (left() == 0) {
      is_cut_ = true;
      return 0;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data(), sizeof(bits));
    bytes_ = bytes_.subspan(sizeof(bits));
    return bits;
  }
  double NextNumber() { return std::bit_cast<double>(Next()); }
  bool is_whole() const { return !is_cut_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool is_cut_ = false;
};

}  // namespace

std::vector<std::byte> BinMapper::ToBytes() const {
  Writer out;
  out.Add(uint64_t{shape_.bins});
  out.Add(static_cast<uint64_t>(shape_.missing));
  out.Add(uint64_t{shape_.default_bin});
  out.Add(static_cast<uint64_t>(shape_.categorical ? 1 : 0));
  out.Add(smallest_);
  out.Add(largest_);
  out.Add(static_cast<uint64_t>(bounds_.size()));
  for (const double bound : bounds_) out.Add(bound);
  out.Add(static_cast<uint64_t>(categories_.size()));
  for (const int32_t category : categories_) out.Add(uint64_t{static_cast<uint32_t>(category)});
  return out.Take();
}

Result<BinMapper> BinMapper::FromBytes(std::span<const std::byte> bytes) {
  Reader in(bytes);
  BinMapper mapper;
  const uint64_t bins = in.Next();
  const uint64_t missing = in.Next();
  const uint64_t default_bin = in.Next();
  mapper.shape_.categorical = in.Next() != 0;
  mapper.smallest_ = in.NextNumber();
  mapper.largest_ = in.NextNumber();
  const uint64_t bounds = in.Next();
  if (bounds > in.left()) return Corrupt("a feature's bins: the bytes are cut");
  for (uint64_t i = 0; i < bounds; ++i) mapper.bounds_.push_back(in.NextNumber());
  const uint64_t categories = in.Next();
  if (categories > in.left()) return Corrupt("a feature's bins: the bytes are cut");
  for (uint64_t i = 0; i < categories; ++i) {
    mapper.categories_.push_back(static_cast<int32_t>(static_cast<uint32_t>(in.Next())));
    if (i > 0) mapper.bin_of_category_[mapper.categories_.back()] = static_cast<uint32_t>(i);
  }
  const uint64_t described = mapper.shape_.categorical ? categories : bounds;
  // A feature that is left out has one bin, whatever its boundaries are.
  const bool fits = bins == 1 || (bins == described && default_bin < bins);
  if (!in.is_whole() || bins < 1 || bins > kBinsMax || missing > 2 || !fits) {
    return Corrupt(fmt::format(
        "a feature's bins: {} bins with {} boundaries and {} categories, default {}, missing {}",
        bins, bounds, categories, default_bin, missing));
  }
  mapper.shape_.bins = static_cast<uint32_t>(bins);
  mapper.shape_.missing = static_cast<MissingKind>(missing);
  mapper.shape_.default_bin = static_cast<uint32_t>(default_bin);
  mapper.MakeGrid();
  return mapper;
}

}  // namespace strata
