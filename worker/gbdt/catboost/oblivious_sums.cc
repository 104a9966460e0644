#include "worker/gbdt/catboost/oblivious_sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/core/wide_vectors.h"

namespace strata {
namespace {

constexpr size_t kLanes = 32;
constexpr size_t kBits = 8;         // of a leaf's number that a byte has
constexpr size_t kTreesAtOnce = 4;  // that a row's sum takes in one after the other
static_assert(kLanes <= kObliviousSlack);

using Bytes [[gnu::vector_size(kLanes)]] = uint8_t;

// Of each row, a byte with the bits of up to eight splits. Whole vectors are written.
inline void LeafBytes(std::span<const BinSplit> splits, const uint8_t* bins, size_t rows,
                      uint8_t* leaves) {
  for (size_t row = 0; row < rows; row += kLanes) {
    Bytes leaf = {};
    for (size_t k = 0; k < splits.size(); ++k) {
      Bytes bin;
      std::memcpy(&bin, bins + splits[k].column * rows + row, sizeof bin);
      const auto is_set = (bin ^ splits[k].mask) >= splits[k].least;  // all bits of a byte
      const auto bit = static_cast<uint8_t>(1U << k);
      leaf |= reinterpret_cast<const Bytes&>(is_set) & bit;
    }
    std::memcpy(leaves + row, &leaf, sizeof leaf);
  }
}

// One after the other, of up to 16 splits and any number of outputs.
inline void AddTree(const BinForestView& forest, const BinTree& tree, const uint8_t* bins,
                    size_t rows, uint8_t* low, uint8_t* high, double* out) {
  const std::span<const BinSplit> splits = forest.splits.subspan(tree.first_split, tree.splits);
  const size_t lower = std::min(splits.size(), kBits);
  LeafBytes(splits.first(lower), bins, rows, low);
  LeafBytes(splits.subspan(lower), bins, rows, high);
  const size_t outputs = forest.outputs();
  const double* const values = forest.values.data() + tree.first_value;
  for (size_t row = 0; row < rows; ++row) {
    const size_t leaf = low[row] | size_t{high[row]} << kBits;
    for (size_t k = 0; k < outputs; ++k) out[row * outputs + k] += values[leaf * outputs + k];
  }
}

// Trees of one output and at most eight splits.
inline void AddTrees(const BinForestView& forest, std::span<const BinTree, kTreesAtOnce> trees,
                     const uint8_t* bins, size_t rows, size_t stride, uint8_t* leaves,
                     double* out) {
  std::array<const double*, kTreesAtOnce> values;
  for (size_t t = 0; t < kTreesAtOnce; ++t) {
    LeafBytes(forest.splits.subspan(trees[t].first_split, trees[t].splits), bins, rows,
              leaves + t * stride);
    values[t] = forest.values.data() + trees[t].first_value;
  }
  for (size_t row = 0; row < rows; ++row) {
    double sum = out[row];
    for (size_t t = 0; t < kTreesAtOnce; ++t) sum += values[t][leaves[t * stride + row]];
    out[row] = sum;
  }
}

// `leaves` has room for the rows of kTreesAtOnce trees, `stride` bytes apart.
inline void Add(const BinForestView& forest, const uint8_t* bins, size_t rows, size_t stride,
                uint8_t* leaves, double* out) {
  for (size_t t = 0; t < forest.trees.size();) {
    const std::span<const BinTree> left = forest.trees.subspan(t);
    const auto is_small = [](const BinTree& tree) { return tree.splits <= kBits; };
    if (forest.outputs() == 1 && left.size() >= kTreesAtOnce &&
        std::ranges::all_of(left.first<kTreesAtOnce>(), is_small)) {
      AddTrees(forest, left.first<kTreesAtOnce>(), bins, rows, stride, leaves, out);
      t += kTreesAtOnce;
      continue;
    }
    AddTree(forest, left[0], bins, rows, leaves, leaves + stride, out);
    ++t;
  }
}

}  // namespace

void AddObliviousTrees(const BinForestView& forest, const uint8_t* bins, std::span<double> out) {
  const size_t rows = out.size() / forest.outputs();
  const size_t stride = (rows + kLanes - 1) / kLanes * kLanes;
  std::vector<uint8_t> leaves(kTreesAtOnce * stride);
  WithWideVectors([&] { Add(forest, bins, rows, stride, leaves.data(), out.data()); });
}

}  // namespace strata
