#include "kernels/tree/bins/bin_matrix.h"

#include <algorithm>
#include <bit>

#include "strata/status.h"

namespace strata {
namespace {

constexpr uint32_t kNarrowMax = 256;

std::vector<std::vector<uint32_t>> OneFeatureEach(size_t features) {
  std::vector<std::vector<uint32_t>> columns(features);
  for (size_t f = 0; f < features; ++f) columns[f] = {static_cast<uint32_t>(f)};
  return columns;
}

}  // namespace

size_t BinBundles::ValuesOf(std::span<const uint32_t> features, std::span<const uint32_t> bins) {
  if (features.size() == 1) return bins[features[0]];
  size_t values = 1;
  for (const uint32_t feature : features) values += bins[feature] - 1;
  return values;
}

BinMatrix::BinMatrix(size_t rows, std::span<const uint32_t> bins, size_t block_columns)
    : BinMatrix(rows, bins, {.columns = {}, .default_bins = std::vector<uint32_t>(bins.size(), 0)},
                block_columns) {}

BinMatrix::BinMatrix(size_t rows, std::span<const uint32_t> bins, const BinBundles& bundles,
                     size_t block_columns)
    : rows_(rows),
      bins_(bins.begin(), bins.end()),
      places_(bins.size()),
      features_of_(bundles.columns.empty() ? OneFeatureEach(bins.size()) : bundles.columns),
      columns_(features_of_.size()) {
  STRATA_CHECK(block_columns >= 1 && block_columns <= BinBlock::kColumnsMax);
  for (const uint32_t count : bins_) {
    STRATA_CHECK(count >= 1 && count <= (1U << 16));
    begins_.push_back(begins_.back() + count);
  }
  size_t placed = 0;
  for (size_t column = 0; column < features_of_.size(); ++column) {
    const std::vector<uint32_t>& features = features_of_[column];
    values_.push_back(BinBundles::ValuesOf(features, bins_));
    STRATA_CHECK(features.size() == 1 || (features.size() > 1 && values_.back() <= kNarrowMax));
    uint32_t next = features.size() > 1 ? 1 : 0;
    for (const uint32_t feature : features) {
      places_[feature] = {.column = static_cast<uint32_t>(column),
                          .first_value = next,
                          .default_bin = bundles.default_bins[feature],
                          .bins = bins_[feature]};
      if (next > 0) next += bins_[feature] - 1;
    }
    placed += features.size();
  }
  STRATA_CHECK(placed == bins_.size());
  MakeBlocks(block_columns);
}

void BinMatrix::MakeBlocks(size_t block_columns) {
  // Neighbours of one width share a block.
  for (size_t first = 0; first < values_.size();) {
    const bool wide = values_[first] > kNarrowMax;
    size_t end = first;
    while (end < values_.size() && end < first + block_columns &&
           (values_[end] > kNarrowMax) == wide) {
      block_of_column_.push_back(blocks_.size());
      ++end;
    }
    BinBlock block{.first_column = first,
                   .columns = end - first,
                   .stride = std::bit_ceil(end - first),
                   .narrow = {},
                   .wide = {}};
    if (wide) {
      block.wide.resize(rows_ * block.stride);
    } else {
      block.narrow.resize(rows_ * block.stride);
    }
    blocks_.push_back(std::move(block));
    first = end;
  }
  for (size_t column = 0; column < columns_.size(); ++column) {
    if (values_[column] > kNarrowMax) {
      columns_[column].wide.resize(rows_);
    } else {
      columns_[column].narrow.resize(rows_);
    }
  }
}

void BinMatrix::SetRow(size_t row, std::span<const uint32_t> values) {
  for (BinBlock& block : blocks_) {
    const size_t at = row * block.stride;
    for (size_t c = 0; c < block.columns; ++c) {
      const uint32_t value = values[block.first_column + c];
      BinColumn& column = columns_[block.first_column + c];
      if (block.is_wide()) {
        column.wide[row] = block.wide[at + c] = static_cast<uint16_t>(value);
      } else {
        column.narrow[row] = block.narrow[at + c] = static_cast<uint8_t>(value);
      }
    }
  }
}

BinMatrix BinMatrix::WithoutBundles() const {
  BinMatrix apart(rows_, bins_);
  std::vector<uint32_t> row_bins(features());
  for (size_t row = 0; row < rows_; ++row) {
    for (size_t f = 0; f < features(); ++f) row_bins[f] = BinAt(f, row);
    apart.SetRow(row, row_bins);
  }
  return apart;
}

namespace {

template <typename Bins>
std::span<std::byte> BytesOf(Bins* bins) {
  return bins->wide.empty() ? std::as_writable_bytes(std::span(bins->narrow))
                            : std::as_writable_bytes(std::span(bins->wide));
}

}  // namespace

std::span<std::byte> BinMatrix::BytesOfBlock(size_t block) { return BytesOf(&blocks_[block]); }
std::span<std::byte> BinMatrix::BytesOfColumn(size_t column) { return BytesOf(&columns_[column]); }

BinRow::BinRow(const BinMatrix& bins) : bins_(bins), defaults_(bins.columns(), 0) {
  for (size_t f = 0; f < bins.features(); ++f) {
    const BinPlace& place = bins.place(f);
    defaults_[place.column] = place.ValueOf(place.default_bin);
  }
  Clear();
}

void BinRow::Clear() { values_ = defaults_; }

bool BinRow::Put(size_t feature, uint32_t bin) {
  const BinPlace& place = bins_.place(feature);
  const uint32_t value = place.ValueOf(bin);
  uint32_t& of_column = values_[place.column];
  if (place.first_value == 0) {
    of_column = value;
  } else if (value != 0) {
    if (of_column != 0) return false;
    of_column = value;
  }
  return true;
}

}  // namespace strata
