#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/tree/bins/array_pieces.cuh"
#include "kernels/tree/score/gpu_forest.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;  // rows of a block
// Of a block, so that several are on a multiprocessor at a time.
constexpr uint32_t kSharedNodes = 1024;  // of one tree
constexpr size_t kSharedRowBytes = 64 << 10;
constexpr uint32_t kCategorical = 1U << 31;

// A ForestNode; of a leaf, the threshold is its value and the column its number; with kCategorical,
// the threshold's bits are the number of a set.
using Node = ForestNode;

struct TreeRange {
  uint64_t begin;
  uint32_t count;
};

struct DeviceColumn {
  ForestColumn column;
  uint32_t from = ~0U;  // of the array; ~0U: none
};

struct DeviceForest {
  const Node* nodes;
  const TreeRange* trees;
  const ForestSet* sets;
  const uint32_t* set_words;
  const DeviceColumn* columns;
  uint32_t tree_count;
  uint32_t column_count;
  uint32_t classes;
};

template <typename Value>
struct RowsOfPiece {
  const Value* values;
  uint64_t stride;
  uint32_t rows;
  bool small_is_zero;
};

// What a column makes of a row's number; that is a float where the number is one.
template <typename Value>
__device__ Value ColumnValue(const DeviceColumn& column, const RowsOfPiece<Value>& rows,
                             uint32_t row) {
  double value = column.from == ~0U ? 0 : rows.values[row * rows.stride + column.from];
  if (rows.small_is_zero && value >= -kZeroThreshold && value <= kZeroThreshold) value = 0;
  return static_cast<Value>(column.column.Of(value));
}

// A row's columns: in shared memory, a thread's own beside those of its neighbours, or made anew.
template <typename Value, bool kShared>
struct RowColumns {
  const DeviceColumn* columns;
  const RowsOfPiece<Value>& rows;
  const Value* shared;
  uint32_t row;

  __device__ double At(uint32_t column) const {
    if constexpr (kShared) return shared[column * kThreads + threadIdx.x];
    return ColumnValue(columns[column], rows, row);
  }
};

template <typename Columns>
__device__ const Node& LeafOf(const DeviceForest& forest, const Node* nodes,
                              const Columns& columns) {
  uint32_t at = 0;
  while (true) {
    const Node& node = nodes[at];
    if (node.IsLeaf(at)) return node;
    if ((node.column & kCategorical) != 0) {
      const ForestSet& set = forest.sets[math::BitsOf(node.threshold)];
      const double value = columns.At(node.column & ~kCategorical);
      at = node.left + (set.GoesLeft(value, forest.set_words) ? 0 : 1);
    } else {
      at = node.Next(columns.At(node.column));
    }
  }
}

// Goes through the trees with all rows of a block; take(tree, leaf) for each, until it says no.
template <typename Value, bool kShared, typename Take>
__device__ void ForTrees(const DeviceForest& forest, const RowsOfPiece<Value>& rows,
                         const Take& take) {
  extern __shared__ __align__(16) Node shared[];
  auto* const own = reinterpret_cast<Value*>(shared + kSharedNodes);
  const uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  bool live = row < rows.rows;
  if (kShared && live) {
    for (uint32_t c = 0; c < forest.column_count; ++c) {
      own[c * kThreads + threadIdx.x] = ColumnValue(forest.columns[c], rows, row);
    }
  }
  const RowColumns<Value, kShared> columns{forest.columns, rows, own, row};
  for (uint32_t t = 0; t < forest.tree_count; ++t) {
    const TreeRange tree = forest.trees[t];
    const Node* nodes = forest.nodes + tree.begin;
    if (tree.count <= kSharedNodes) {
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < tree.count; i += kThreads) shared[i] = nodes[i];
      __syncthreads();
      nodes = shared;
    }
    if (live) live = take(row, t, LeafOf(forest, nodes, columns));
  }
}

template <typename Value, bool kShared>
__global__ void __launch_bounds__(kThreads)
    AddScores(const __grid_constant__ DeviceForest forest, const RowsOfPiece<Value> rows,
              PredictionStop stop, double* all) {
  const uint32_t classes = forest.classes;
  double* const scores = all + uint64_t{blockIdx.x * kThreads + threadIdx.x} * classes;
  const bool is_row = blockIdx.x * kThreads + threadIdx.x < rows.rows;
  double score = 0;
  if (is_row && classes > 1) {
    for (uint32_t k = 0; k < classes; ++k) scores[k] = 0;
  }
  ForTrees<Value, kShared>(forest, rows, [&](uint32_t /*row*/, uint32_t tree, const Node& leaf) {
    if (classes == 1) {
      score += leaf.threshold;
      return !stop.LooksAfter(tree + 1) || !stop.IsSure(&score, 1);
    }
    scores[tree % classes] += leaf.threshold;
    return !stop.LooksAfter(tree + 1) || !stop.IsSure(scores, classes);
  });
  if (is_row && classes == 1) *scores = score;
}

template <typename Value, bool kShared>
__global__ void __launch_bounds__(kThreads)
    FindLeaves(const __grid_constant__ DeviceForest forest, const RowsOfPiece<Value> rows,
               double* leaves) {
  ForTrees<Value, kShared>(forest, rows, [&](uint32_t row, uint32_t tree, const Node& leaf) {
    leaves[uint64_t{row} * forest.tree_count + tree] = leaf.column;
    return true;
  });
}

class Forest : public GpuForest {
 public:
  explicit Forest(int device) : device_(device), pieces_(device) {}

  Status Start(const ForestView& forest, size_t classes) {
    const DeviceScope scope(device_);
    for (const ForestColumn& column : forest.columns) columns_.push_back({.column = column});
    std::vector<Node> nodes(forest.nodes.begin(), forest.nodes.end());
    std::vector<TreeRange> trees;
    for (size_t t = 0; t < forest.trees.size(); ++t) {
      const size_t begin = forest.trees[t].begin;
      const size_t end = t + 1 < forest.trees.size() ? forest.trees[t + 1].begin : nodes.size();
      trees.push_back({begin, static_cast<uint32_t>(end - begin)});
      for (size_t place = begin; place < end; ++place) {
        Node& node = nodes[place];
        if (node.IsLeaf(static_cast<uint32_t>(place - begin))) {
          node.threshold = forest.values[place];
          node.column = forest.leaves[place];
        } else if (place < forest.sets.size() && forest.sets[place].is_set) {
          node.column |= kCategorical;
          node.threshold = math::FromBits(place);
        }
      }
    }
    STRATA_TRY(Put<Node>(nodes, &nodes_, "nodes of a model on the GPU"));
    STRATA_TRY(Put<TreeRange>(trees, &trees_, "trees of a model on the GPU"));
    STRATA_TRY(Put(forest.sets, &sets_, "sets of categories on the GPU"));
    STRATA_TRY(Put(forest.set_words, &set_words_, "sets of categories on the GPU"));
    STRATA_TRY(device_columns_.Make(columns_.size(), "columns of a model on the GPU"));
    view_ = {.nodes = nodes_.data(),
             .trees = trees_.data(),
             .sets = sets_.data(),
             .set_words = set_words_.data(),
             .columns = device_columns_.data(),
             .tree_count = static_cast<uint32_t>(trees.size()),
             .column_count = static_cast<uint32_t>(columns_.size()),
             .classes = static_cast<uint32_t>(classes)};
    return FromCuda(cudaStreamSynchronize(nullptr), "a model on the GPU");
  }

  Status Scores(const ForestRows& rows, const PredictionStop& stop, WorkPool& pool,
                std::span<double> scores) override {
    return Run(rows, pool, view_.classes, scores, [&](auto shared, auto piece, const Launch& at) {
      using Value = std::remove_const_t<std::remove_pointer_t<decltype(piece.values)>>;
      constexpr bool kShared = decltype(shared)::value;
      (void)cudaFuncSetAttribute(AddScores<Value, kShared>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedMax);
      AddScores<Value, kShared>
          <<<at.blocks, kThreads, at.shared_bytes, at.stream>>>(view_, piece, stop, at.results);
    });
  }

  Status Leaves(const ForestRows& rows, WorkPool& pool, std::span<double> leaves) override {
    if (view_.tree_count == 0) return {};
    return Run(
        rows, pool, view_.tree_count, leaves, [&](auto shared, auto piece, const Launch& at) {
          using Value = std::remove_const_t<std::remove_pointer_t<decltype(piece.values)>>;
          constexpr bool kShared = decltype(shared)::value;
          (void)cudaFuncSetAttribute(FindLeaves<Value, kShared>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedMax);
          FindLeaves<Value, kShared>
              <<<at.blocks, kThreads, at.shared_bytes, at.stream>>>(view_, piece, at.results);
        });
  }

 private:
  static constexpr int kSharedMax = static_cast<int>(kSharedNodes * sizeof(Node) + kSharedRowBytes);

  struct Launch {
    unsigned blocks;
    size_t shared_bytes;
    cudaStream_t stream;
    double* results;
  };

  template <typename T>
  static Status Put(std::span<const T> values, DeviceMemory<T>* memory, const char* what) {
    STRATA_TRY(memory->Make(values.size(), what));
    return memory->Set(values, nullptr);
  }

  // launch(whether rows are in shared memory, a piece, how) for each piece; outputs numbers a row.
  template <typename LaunchPiece>
  Status Run(const ForestRows& rows, WorkPool& pool, size_t outputs, std::span<double> out,
             const LaunchPiece& launch) {
    STRATA_CHECK(rows.from.size() == columns_.size() && out.size() == rows.numbers.rows * outputs);
    const DeviceScope scope(device_);
    for (size_t c = 0; c < columns_.size(); ++c) columns_[c].from = rows.from[c];
    STRATA_TRY(device_columns_.Set(columns_, nullptr));
    STRATA_TRY(FromCuda(cudaStreamSynchronize(nullptr), "columns of a model"));
    const size_t row_bytes = columns_.size() * rows.numbers.value_bytes;
    const bool is_shared = row_bytes * kThreads <= kSharedRowBytes;
    const auto launch_as = [&](auto piece, const Launch& at) {
      if (is_shared) return launch(std::true_type(), piece, at);
      launch(std::false_type(), piece, at);
    };
    const auto enqueue = [&](const ArrayPiece& piece, cudaStream_t stream) {
      const Launch at{
          .blocks = (piece.rows + kThreads - 1) / kThreads,
          .shared_bytes = kSharedNodes * sizeof(Node) + (is_shared ? row_bytes * kThreads : 0),
          .stream = stream,
          .results = reinterpret_cast<double*>(piece.results)};
      if (rows.numbers.value_bytes == sizeof(float)) {
        const auto* const values = reinterpret_cast<const float*>(piece.values);
        return launch_as(
            RowsOfPiece<float>{values, rows.numbers.columns, piece.rows, rows.small_is_zero}, at);
      }
      const auto* const values = reinterpret_cast<const double*>(piece.values);
      launch_as(RowsOfPiece<double>{values, rows.numbers.columns, piece.rows, rows.small_is_zero},
                at);
    };
    const auto take = [&](uint64_t first_row, std::span<const std::byte> results) {
      std::ranges::copy(results,
                        std::as_writable_bytes(out).data() + first_row * outputs * sizeof(double));
    };
    return pieces_.Run(
        rows.numbers, pool,
        {.enqueue = enqueue, .result_bytes = outputs * sizeof(double), .take = take});
  }

  const int device_;
  std::vector<DeviceColumn> columns_;
  DeviceMemory<Node> nodes_;
  DeviceMemory<TreeRange> trees_;
  DeviceMemory<ForestSet> sets_;
  DeviceMemory<uint32_t> set_words_;
  DeviceMemory<DeviceColumn> device_columns_;
  DeviceForest view_ = {};
  ArrayPieces pieces_;
};

}  // namespace
}  // namespace strata::gpu_tree

namespace strata {

Result<std::unique_ptr<GpuForest>> GpuForest::Open(int device, const ForestView& forest,
                                                   size_t classes) {
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_unique<gpu_tree::Forest>(device);
  STRATA_TRY(made->Start(forest, classes));
  return std::unique_ptr<GpuForest>(std::move(made));
}

}  // namespace strata
