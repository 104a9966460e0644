// PackedRows: rows of bins on the host as the article's histogram reads them, several features to a
// word. Leaves of a level have some of the rows; the plain histogram of them is computed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::bench {

// How bins of so many values are packed: eight features to a word of 32 bits, or four.
struct WordShape {
  uint32_t features;  // of a word
  uint32_t bits;      // of a feature; feature f has those from f * bits on
  uint32_t bins;      // that a histogram has room for: a power of two

  // `bins` from 2 to 256.
  static WordShape Of(uint32_t bins);
};

// Gradients and weights are multiples of 1/8 and of 1, so that sums of 2^20 rows are exact in
// float, whatever their order.
struct PackedRows {
  WordShape shape = {};
  size_t rows = 0;               // of the data
  size_t features = 0;           // the rest of the last word is 0
  std::vector<uint32_t> words;   // word w of row r: [w * rows + r]
  std::vector<uint32_t> list;    // rows, leaf after leaf; empty: one leaf of all rows, in order
  std::vector<uint32_t> begins;  // of leaves in the list, and its end
  std::vector<float> gradients;  // in the order of the list
  std::vector<float> weights;    // likewise

  size_t words_of_row() const { return words.size() / rows; }
  size_t leaves() const { return begins.size() - 1; }
  size_t listed() const { return gradients.size(); }
  uint32_t RowAt(size_t place) const {
    return list.empty() ? static_cast<uint32_t>(place) : list[place];
  }
  uint32_t BinOf(size_t row, size_t feature) const;
  // Numbers of a leaf's histogram, of all of its words.
  size_t histogram_size() const { return words_of_row() * shape.bins * 2 * shape.features; }
  // By adding up row after row, in double. Number [((leaf * words_of_row + word) * shape.bins +
  // bin)
  // * 2 * shape.features + 2 * feature of the word + is_weight].
  std::vector<double> PlainHistogram() const;
};

// Rows with uniform bins from a seed. One leaf has all rows. Several leaves have half of the rows,
// each some that ascend, as the smaller children of a level do.
PackedRows MakePackedRows(uint32_t bins, size_t rows, size_t features, size_t leaves,
                          uint64_t seed);

}  // namespace strata::bench
