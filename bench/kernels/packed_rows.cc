#include "bench/kernels/packed_rows.h"

#include <bit>

#include "base/random.h"

namespace strata::bench {

WordShape WordShape::Of(uint32_t bins) {
  if (bins <= 16) return {.features = 8, .bits = 4, .bins = 16};
  return {.features = 4, .bits = 8, .bins = std::bit_ceil(bins)};
}

uint32_t PackedRows::BinOf(size_t row, size_t feature) const {
  const uint32_t word = words[feature / shape.features * rows + row];
  return word >> (feature % shape.features * shape.bits) & ((1U << shape.bits) - 1);
}

std::vector<double> PackedRows::PlainHistogram() const {
  const size_t slots = size_t{2} * shape.features;
  std::vector<double> sums(leaves() * histogram_size());
  for (size_t leaf = 0; leaf < leaves(); ++leaf) {
    for (size_t place = begins[leaf]; place < begins[leaf + 1]; ++place) {
      for (size_t f = 0; f < words_of_row() * shape.features; ++f) {
        const size_t word = leaf * words_of_row() + f / shape.features;
        double* const sum =
            &sums[(word * shape.bins + BinOf(RowAt(place), f)) * slots + f % shape.features * 2];
        sum[0] += gradients[place];
        sum[1] += weights[place];
      }
    }
  }
  return sums;
}

PackedRows MakePackedRows(uint32_t bins, size_t rows, size_t features, size_t leaves,
                          uint64_t seed) {
  PackedRows made;
  made.shape = WordShape::Of(bins);
  made.rows = rows;
  made.features = features;
  const size_t per_word = made.shape.features;
  made.words.resize((features + per_word - 1) / per_word * rows);
  for (size_t f = 0; f < features; ++f) {
    for (size_t row = 0; row < rows; ++row) {
      const uint64_t bin = Mix64(seed ^ (row * features + f)) % bins;
      made.words[f / per_word * rows + row] |=
          static_cast<uint32_t>(bin << (f % per_word * made.shape.bits));
    }
  }
  made.begins = {0};
  if (leaves == 1) {
    made.begins.push_back(static_cast<uint32_t>(rows));
  } else {
    std::vector<std::vector<uint32_t>> of_leaf(leaves);
    for (size_t row = 0; row < rows; ++row) {
      const uint64_t leaf = Mix64(seed + 1 + row) % (2 * leaves);
      if (leaf < leaves) of_leaf[leaf].push_back(static_cast<uint32_t>(row));
    }
    for (const std::vector<uint32_t>& of : of_leaf) {
      made.list.insert(made.list.end(), of.begin(), of.end());
      made.begins.push_back(static_cast<uint32_t>(made.list.size()));
    }
  }
  for (size_t place = 0; place < made.begins.back(); ++place) {
    const uint64_t hash = Mix64(seed + 2 + made.RowAt(place));
    made.gradients.push_back((static_cast<float>(hash % 17) - 8) / 8);
    made.weights.push_back(static_cast<float>(1 + hash / 17 % 2));
  }
  return made;
}

}  // namespace strata::bench
