// ObliviousView: an oblivious tree that grows in the memory of a GPU, as kernels see it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/tree/gradient/fixed_point.h"
#include "strata/status.h"

namespace strata::gpu_tree {

constexpr uint32_t kBlockColumns = 32;  // a lane of a warp each

// Some columns, whose histograms are made in one go over the rows.
struct ColumnBlock {
  const uint8_t* bins = nullptr;  // row after row, kBlockColumns bytes each
  uint64_t histogram = 0;         // where it begins in a leaf's: [bin][column of the block]
  uint32_t first_column = 0;
  uint32_t bins_max = 0;  // of a column
};

struct DeviceColumn {
  const uint8_t* bins = nullptr;  // of each row; readable up to a multiple of 16
  uint32_t splits = 0;
  bool is_value = false;
};

// A leaf whose histogram is made from its rows.
struct ListedLeaf {
  uint32_t begin = 0;  // of its rows in the list of all such leaves
  uint32_t count = 0;
  uint32_t pieces = 0;  // of its rows, each of which a block of threads adds up
  uint32_t first = 0;   // of its pieces among those of all leaves
  uint32_t filled = 0;  // rows that the list has got
};

// What leaves add to a split's score.
struct alignas(16) ScoreSums {
  double gain = 0;
  double norm = 0;
};

// A split of a level.
struct PickedSplit {
  static constexpr uint32_t kNone = ~0U;

  double score = 0;
  uint32_t column = kNone;  // of those that the view has; kNone: no row goes to the right
  uint32_t place = 0;
};

struct ObliviousView {
  uint64_t rows = 0;
  uint32_t outputs = 1;
  uint32_t level = 0;  // splits so far
  double l2 = 0;
  bool is_cosine = true;
  bool has_unit_weights = false;  // weights are 0 and 1
  // Histograms of all leaves are made from rows, not only those of the smaller leaf of each pair.
  bool builds_all = true;
  bool sets_totals = true;

  // The blocks of a launch.
  uint32_t blocks = 0;
  const ColumnBlock* block = nullptr;
  const DeviceColumn* columns = nullptr;  // of all blocks
  uint32_t column_count = 0;

  const Row32* gradients = nullptr;  // of each output all rows
  const GradientUnits* units = nullptr;
  uint16_t* leaves = nullptr;  // of each row
  uint32_t* counts = nullptr;  // of each leaf its rows, of level after level; not of the first one
  ListedLeaf* listed = nullptr;
  int32_t* listed_of = nullptr;     // of each leaf its place among the listed ones, or -1
  uint32_t* piece_count = nullptr;  // of all listed leaves
  uint32_t* list = nullptr;         // rows of listed leaves
  // Of each output the gradients of the list's rows; null: they are read where the rows have them,
  // which is cheaper where they are read once.
  Row32* list_gradients = nullptr;
  uint64_t histogram_size = 0;         // of a leaf and output
  GradientSums* histograms = nullptr;  // of a border's column: sums of the bin and those below it
  GradientSums* totals = nullptr;      // of each leaf and output
  const GradientSums* totals_before = nullptr;  // of the level before
  ScoreSums* parts = nullptr;  // of a pair and output what it adds to gain and norm, by place
  double* scores = nullptr;    // of each place, which is the split's in a histogram

  __host__ __device__ uint32_t leaf_count() const { return 1U << level; }
  // Leaves that differ in the last split alone; the first level's leaf has no other.
  __host__ __device__ uint32_t pairs() const { return level == 0 ? 1 : leaf_count() / 2; }
  __host__ __device__ uint32_t listed_count() const { return builds_all ? leaf_count() : pairs(); }
  // Where a listed leaf's histogram is made. That of a smaller leaf takes the place of the right
  // one of its pair, as the left one's has the parent's histogram.
  __host__ __device__ uint32_t SlotOf(uint32_t place) const {
    return builds_all ? place : place + pairs();
  }
  // Rows of the leaves of this level, and of the next one.
  __host__ __device__ uint32_t* LeafCounts() const { return counts + leaf_count(); }
  __host__ __device__ uint32_t* NextCounts() const { return counts + 2 * leaf_count(); }
  __device__ GradientSums* HistogramOf(uint32_t slot, uint32_t output) const {
    return histograms + (uint64_t{slot} * outputs + output) * histogram_size;
  }
};

// Puts the rows right of a split into the new leaves, and adds up the rows of leaves, which begin
// with zeros. `level` of the view is that before the split, which is in the GPU's memory.
void SplitRows(const ObliviousView& view, const PickedSplit* split, cudaStream_t stream);
// Writes the split with the largest score. `of_blocks` has room for one of each block.
void PickSplit(const ObliviousView& view, PickedSplit* of_blocks, PickedSplit* picked,
               cudaStream_t stream);
// Lists the rows of the leaves whose histograms are to be made; on the first level only plans them.
void ListRows(const ObliviousView& view, uint32_t grid, cudaStream_t stream);
Status PrepareLists();
// Writes the gradients of the list's rows, which the view has room for. The first level has no
// list.
void ListGradients(const ObliviousView& view, cudaStream_t stream);
// Makes the histograms of listed leaves, and the totals of all leaves.
void BuildObliviousHistograms(const ObliviousView& view, uint32_t grid, uint32_t bins_max,
                              cudaStream_t stream);
Status PrepareObliviousHistograms();
// Writes the scores of all splits of the blocks, from histograms of all leaves, and keeps those for
// the next level.
void ScoreSplits(const ObliviousView& view, cudaStream_t stream);
// How many `parts` ScoreSplits needs for a level, in places.
uint64_t PartsFor(const ObliviousView& view);
// Writes the bins of a block's columns row by row. `count` columns from one on, which the view has.
void InterleaveColumns(const DeviceColumn* columns, uint32_t count, uint64_t rows, uint8_t* bins,
                       cudaStream_t stream);
// Writes the histograms of a column of all leaves, of one output, one after another.
void GatherHistograms(const ObliviousView& view, uint32_t column, uint32_t bins,
                      GradientSums* histograms, cudaStream_t stream);
// Leaves the first splits alone in the numbers of leaves, and takes the bit of one of them out,
// unless that is 16.
void DropSplits(const ObliviousView& view, uint32_t splits, uint32_t without, cudaStream_t stream);

}  // namespace strata::gpu_tree
