#include <algorithm>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/bins/array_pieces.cuh"
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/score/gpu_bin_forest.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;

struct DeviceColumns {
  const BorderColumn* numbers;
  const float* borders;
  const ValueColumn* categories;
  const uint32_t* values;
  const KeyTable* tables;
  const uint32_t* key_categories;
  const BinSplit* key_splits;
  const uint64_t* keys;
  const uint32_t* key_columns;
  const uint8_t* key_bins;
  uint32_t number_columns;
  uint32_t category_columns;
  uint32_t table_count;
};

struct DeviceForest {
  const BinTree* trees;
  const BinSplit* splits;
  const BinChildren* children;
  const double* values;
  const double* bias;
  double scale;
  uint32_t tree_count;
  uint32_t outputs;
  bool is_oblivious;
};

// Rows on the GPU, and the bins that are made of them, column after column both.
struct PieceView {
  const float* numbers;
  const uint32_t* categories;
  uint8_t* bins;
  uint32_t rows;
  uint32_t blocks;  // of threads, a thread a row

  // A launch has as many blocks for each column, or table, as for the rows.
  __device__ uint32_t ColumnOfBlock() const { return blockIdx.x / blocks; }
  __device__ uint32_t Row() const { return blockIdx.x % blocks * kThreads + threadIdx.x; }
};

// Blocks take a column of numbers or of values, a thread a row.
__global__ void __launch_bounds__(kThreads)
    FeatureBins(const __grid_constant__ DeviceColumns columns, PieceView piece) {
  const uint32_t column = piece.ColumnOfBlock();
  const uint32_t row = piece.Row();
  if (row >= piece.rows) return;
  uint8_t* const bin = piece.bins + uint64_t{column} * piece.rows + row;
  if (column < columns.number_columns) {
    const BorderColumn& own = columns.numbers[column];
    *bin = own.BinOf(columns.borders, piece.numbers[uint64_t{own.number} * piece.rows + row]);
    return;
  }
  const ValueColumn& own = columns.categories[column - columns.number_columns];
  *bin = own.BinOf(columns.values, piece.categories[uint64_t{own.category} * piece.rows + row]);
}

// The place of a key among those of a table, which ascend; their count: it is not there.
__device__ size_t PlaceOf(const uint64_t* keys, size_t count, uint64_t key) {
  size_t low = 0;
  size_t end = count;
  while (low < end) {
    const size_t middle = (low + end) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      end = middle;
    }
  }
  return low < count && keys[low] == key ? low : count;
}

// Blocks take a table, a thread a row. The bins of features are there.
__global__ void __launch_bounds__(kThreads)
    KeyBins(const __grid_constant__ DeviceColumns columns, PieceView piece) {
  const KeyTable& table = columns.tables[piece.ColumnOfBlock()];
  const uint32_t row = piece.Row();
  if (row >= piece.rows) return;
  uint64_t key = 0;
  for (size_t i = 0; i < table.categories.count; ++i) {
    const uint64_t category = columns.key_categories[table.categories.begin + i];
    key = CombinedKey(key, KeyOfCategory(piece.categories[category * piece.rows + row]));
  }
  for (size_t i = 0; i < table.splits.count; ++i) {
    const BinSplit& split = columns.key_splits[table.splits.begin + i];
    const uint8_t bin = piece.bins[uint64_t{split.column} * piece.rows + row];
    key = CombinedKey(key, split.Of(bin) ? 1 : 0);
  }
  const size_t place = PlaceOf(columns.keys + table.keys.begin, table.keys.count, key);
  const uint8_t* const bins = columns.key_bins + table.BinsOf(place);
  for (size_t i = 0; i < table.columns.count; ++i) {
    const uint64_t column = columns.key_columns[table.columns.begin + i];
    piece.bins[column * piece.rows + row] = bins[i];
  }
}

__device__ uint32_t LeafOf(const DeviceForest& forest, const BinTree& tree, const PieceView& piece,
                           uint32_t row) {
  const BinSplit* const splits = forest.splits + tree.first_split;
  const auto bit_of = [&](const BinSplit& split) {
    return split.Of(piece.bins[uint64_t{split.column} * piece.rows + row]);
  };
  if (forest.is_oblivious) {
    uint32_t leaf = 0;
    for (uint32_t k = 0; k < tree.splits; ++k) leaf |= (bit_of(splits[k]) ? 1U : 0U) << k;
    return leaf;
  }
  const BinChildren* const children = forest.children + tree.first_split;
  int32_t at = tree.splits == 0 ? ~0 : 0;
  while (at >= 0) at = bit_of(splits[at]) ? children[at].right : children[at].left;
  return static_cast<uint32_t>(~at);
}

// A thread takes a row.
__global__ void __launch_bounds__(kThreads)
    AddTrees(const __grid_constant__ DeviceForest forest, PieceView piece, double* out) {
  const uint32_t row = piece.Row();
  if (row >= piece.rows) return;
  double* const sums = out + uint64_t{row} * forest.outputs;
  double sum = 0;  // of one output
  for (uint32_t k = 0; k < forest.outputs; ++k) sums[k] = 0;
  for (uint32_t t = 0; t < forest.tree_count; ++t) {
    const BinTree& tree = forest.trees[t];
    const uint64_t leaf = LeafOf(forest, tree, piece, row);
    const double* const values = forest.values + tree.first_value + leaf * forest.outputs;
    if (forest.outputs == 1) {
      sum += *values;
    } else {
      for (uint32_t k = 0; k < forest.outputs; ++k) sums[k] += values[k];
    }
  }
  if (forest.outputs == 1) *sums = sum;
  for (uint32_t k = 0; k < forest.outputs; ++k) sums[k] = sums[k] * forest.scale + forest.bias[k];
}

class OnGpu : public GpuBinForest {
 public:
  explicit OnGpu(int device) : device_(device), pieces_(device) {}

  Status Start(const BinColumnsView& columns, const BinForestView& forest) {
    const DeviceScope scope(device_);
    columns_.number_columns = static_cast<uint32_t>(columns.numbers.size());
    columns_.category_columns = static_cast<uint32_t>(columns.categories.size());
    columns_.table_count = static_cast<uint32_t>(columns.tables.size());
    column_count_ = columns.columns;
    STRATA_TRY(Put(columns.numbers, &numbers_, &columns_.numbers));
    STRATA_TRY(Put(columns.borders, &borders_, &columns_.borders));
    STRATA_TRY(Put(columns.categories, &categories_, &columns_.categories));
    STRATA_TRY(Put(columns.values, &exact_values_, &columns_.values));
    STRATA_TRY(Put(columns.tables, &tables_, &columns_.tables));
    STRATA_TRY(Put(columns.key_categories, &key_categories_, &columns_.key_categories));
    STRATA_TRY(Put(columns.key_splits, &key_splits_, &columns_.key_splits));
    STRATA_TRY(Put(columns.keys, &keys_, &columns_.keys));
    STRATA_TRY(Put(columns.key_columns, &key_columns_, &columns_.key_columns));
    STRATA_TRY(Put(columns.key_bins, &key_bins_, &columns_.key_bins));
    forest_.scale = forest.scale;
    forest_.tree_count = static_cast<uint32_t>(forest.trees.size());
    forest_.outputs = static_cast<uint32_t>(forest.outputs());
    forest_.is_oblivious = forest.children.empty();
    STRATA_TRY(Put(forest.trees, &trees_, &forest_.trees));
    STRATA_TRY(Put(forest.splits, &splits_, &forest_.splits));
    STRATA_TRY(Put(forest.children, &children_, &forest_.children));
    STRATA_TRY(Put(forest.values, &leaf_values_, &forest_.values));
    STRATA_TRY(Put(forest.bias, &bias_, &forest_.bias));
    return FromCuda(cudaStreamSynchronize(nullptr), "a model on the GPU");
  }

  Status Raw(const ColumnRows& rows, WorkPool& pool, std::span<double> out) override {
    const size_t outputs = forest_.outputs;
    STRATA_CHECK(out.size() == rows.rows * outputs);
    const DeviceScope scope(device_);
    // A piece's words come column after column, where ArrayPieces speaks of rows.
    NumberArray words{.rows = rows.rows, .columns = rows.numbers + rows.categories, .read = {}};
    words.read = [&](uint64_t first, std::span<std::byte> to) -> Status {
      const size_t count = words.columns == 0 ? 0 : to.size() / words.row_bytes();
      rows.read(first, count, reinterpret_cast<uint32_t*>(to.data()));
      return {};
    };
    const auto enqueue = [&](const ArrayPiece& piece, cudaStream_t stream) {
      const std::byte* const categories = piece.values + rows.numbers * piece.rows * sizeof(float);
      const PieceView view{.numbers = reinterpret_cast<const float*>(piece.values),
                           .categories = reinterpret_cast<const uint32_t*>(categories),
                           .bins = reinterpret_cast<uint8_t*>(piece.scratch),
                           .rows = piece.rows,
                           .blocks = BlocksFor(piece.rows, kThreads)};
      Enqueue(view, reinterpret_cast<double*>(piece.results), stream);
    };
    const auto take = [&](uint64_t first_row, std::span<const std::byte> results) {
      std::ranges::copy(results,
                        std::as_writable_bytes(out).data() + first_row * outputs * sizeof(double));
    };
    return pieces_.Run(words, pool,
                       {.enqueue = enqueue,
                        .scratch_bytes = column_count_,
                        .result_bytes = outputs * sizeof(double),
                        .take = take});
  }

 private:
  template <typename T>
  static Status Put(std::span<const T> values, DeviceMemory<T>* memory, const T** view) {
    STRATA_TRY(memory->Make(values.size(), "a model on the GPU"));
    *view = memory->data();
    return memory->Set(values, nullptr);
  }

  void Enqueue(const PieceView& piece, double* out, cudaStream_t stream) const {
    const uint32_t feature_columns = columns_.number_columns + columns_.category_columns;
    if (feature_columns > 0) {
      FeatureBins<<<feature_columns * piece.blocks, kThreads, 0, stream>>>(columns_, piece);
    }
    if (columns_.table_count > 0) {
      KeyBins<<<columns_.table_count * piece.blocks, kThreads, 0, stream>>>(columns_, piece);
    }
    AddTrees<<<piece.blocks, kThreads, 0, stream>>>(forest_, piece, out);
  }

  const int device_;
  DeviceColumns columns_ = {};
  DeviceForest forest_ = {};
  size_t column_count_ = 0;
  DeviceMemory<BorderColumn> numbers_;
  DeviceMemory<float> borders_;
  DeviceMemory<ValueColumn> categories_;
  DeviceMemory<uint32_t> exact_values_;
  DeviceMemory<KeyTable> tables_;
  DeviceMemory<uint32_t> key_categories_;
  DeviceMemory<BinSplit> key_splits_;
  DeviceMemory<uint64_t> keys_;
  DeviceMemory<uint32_t> key_columns_;
  DeviceMemory<uint8_t> key_bins_;
  DeviceMemory<BinTree> trees_;
  DeviceMemory<BinSplit> splits_;
  DeviceMemory<BinChildren> children_;
  DeviceMemory<double> leaf_values_;
  DeviceMemory<double> bias_;
  ArrayPieces pieces_;  // last: its streams end before the memory that they use
};

}  // namespace
}  // namespace strata::gpu_tree

namespace strata {

Result<std::unique_ptr<GpuBinForest>> GpuBinForest::Open(int device, const BinColumnsView& columns,
                                                         const BinForestView& forest) {
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_unique<gpu_tree::OnGpu>(device);
  STRATA_TRY(made->Start(columns, forest));
  return std::unique_ptr<GpuBinForest>(std::move(made));
}

}  // namespace strata
