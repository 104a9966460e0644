#include "kernels/tree/bin_matrix.h"

#include <bit>

#include "base/status.h"

namespace strata {
namespace {

constexpr uint32_t kNarrowMax = 256;

}  // namespace

BinMatrix::BinMatrix(size_t rows, std::span<const uint32_t> bins, size_t block_features)
    : rows_(rows), bins_(bins.begin(), bins.end()), columns_(bins.size()) {
  STRATA_CHECK(block_features >= 1 && block_features <= BinBlock::kFeaturesMax);
  for (const uint32_t count : bins_) {
    STRATA_CHECK(count >= 1 && count <= (1U << 16));
    begins_.push_back(begins_.back() + count);
  }
  // Neighbours of one width share a block.
  for (size_t first = 0; first < bins_.size();) {
    const bool wide = bins_[first] > kNarrowMax;
    size_t end = first;
    while (end < bins_.size() && end < first + block_features &&
           (bins_[end] > kNarrowMax) == wide) {
      ++end;
    }
    BinBlock block{.first_feature = first,
                   .features = end - first,
                   .stride = std::bit_ceil(end - first),
                   .narrow = {},
                   .wide = {}};
    if (wide) {
      block.wide.resize(rows * block.stride);
    } else {
      block.narrow.resize(rows * block.stride);
    }
    blocks_.push_back(std::move(block));
    first = end;
  }
  for (size_t f = 0; f < bins_.size(); ++f) {
    if (bins_[f] > kNarrowMax) {
      columns_[f].wide.resize(rows);
    } else {
      columns_[f].narrow.resize(rows);
    }
  }
}

void BinMatrix::SetRow(size_t row, std::span<const uint32_t> bins) {
  for (BinBlock& block : blocks_) {
    const size_t at = row * block.stride;
    for (size_t f = 0; f < block.features; ++f) {
      const uint32_t bin = bins[block.first_feature + f];
      BinColumn& column = columns_[block.first_feature + f];
      if (block.is_wide()) {
        column.wide[row] = block.wide[at + f] = static_cast<uint16_t>(bin);
      } else {
        column.narrow[row] = block.narrow[at + f] = static_cast<uint8_t>(bin);
      }
    }
  }
}

}  // namespace strata
