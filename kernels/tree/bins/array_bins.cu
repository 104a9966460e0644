// Bins from an array of numbers, piece by piece.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/tree/bins/array_pieces.cuh"
#include "kernels/tree/bins/device_bins.cuh"
#include "kernels/tree/bins/gpu_bins.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint32_t kTileRows = 128;

// How a block of features comes from columns. Bounds are [bound][lane], infinite behind a feature's
// last one.
struct BlockColumns {
  BlockView block;
  const double* bounds = nullptr;
  uint32_t bounds_max = 0;
  uint32_t first_step = 0;  // the largest power of two that is no more
  uint32_t column[kLanes] = {};
  uint32_t zero_bin[kLanes] = {};
  uint32_t missing_bin[kLanes] = {};
  void* to_column[kLanes] = {};
};

__device__ uint32_t BinOf(const BlockColumns& columns, uint32_t lane, double value) {
  if (value != value) return columns.missing_bin[lane];
  if (fabs(value) <= ColumnBins::kZeroSize) return columns.zero_bin[lane];
  uint32_t bin = 0;
  for (uint32_t step = columns.first_step; step > 0; step /= 2) {
    if (bin + step > columns.bounds_max) continue;
    if (value > columns.bounds[uint64_t{bin + step - 1} * kLanes + lane]) bin += step;
  }
  return bin;
}

// Bins of a piece's rows: a tile of rows and a block of features in a block of threads.
template <typename Value>
__global__ void __launch_bounds__(kThreads)
    BinPiece(const Value* values, uint64_t stride, uint64_t first_row, uint32_t rows,
             const BlockColumns* all, uint32_t blocks) {
  __shared__ uint16_t tile[kTileRows][kLanes + 2];
  const BlockColumns& columns = all[blockIdx.x % blocks];
  const BlockView& block = columns.block;
  const uint32_t begin = blockIdx.x / blocks * kTileRows;
  const uint32_t count = min(kTileRows, rows - begin);
  const uint32_t lane = threadIdx.x % kLanes;
  auto* const to = const_cast<void*>(block.bins);
  for (uint32_t row = threadIdx.x / kLanes; row < count; row += kThreads / kLanes) {
    uint32_t bin = 0;
    if (lane < block.features) {
      bin = BinOf(columns, lane, values[(begin + row) * stride + columns.column[lane]]);
    }
    tile[row][lane] = static_cast<uint16_t>(bin);
    if (lane >= block.stride) continue;
    const uint64_t at = (first_row + begin + row) * block.stride + lane;
    if (block.wide) {
      static_cast<uint16_t*>(to)[at] = static_cast<uint16_t>(bin);
    } else {
      static_cast<uint8_t*>(to)[at] = static_cast<uint8_t>(bin);
    }
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < block.features * kTileRows; i += kThreads) {
    const uint32_t row = i % kTileRows;
    const uint32_t feature = i / kTileRows;
    if (row >= count) continue;
    const uint64_t at = first_row + begin + row;
    if (block.wide) {
      static_cast<uint16_t*>(columns.to_column[feature])[at] = tile[row][feature];
    } else {
      static_cast<uint8_t*>(columns.to_column[feature])[at] =
          static_cast<uint8_t>(tile[row][feature]);
    }
  }
}

class ArrayBins : public HeldBins {
 public:
  explicit ArrayBins(int device) : device_(device) {}
  int device() const override { return device_; }
  const DeviceBins& bins() const override { return bins_; }

  Status Fill(const NumberArray& array, std::span<const ColumnBins> columns,
              std::span<const FeatureShape> shapes, WorkPool& pool, BinMatrix* bins) {
    const DeviceScope scope(device_);
    STRATA_TRY(bins_.Reserve(*bins, shapes));
    STRATA_TRY(PutColumns(columns));
    ArrayPieces pieces(device_);
    STRATA_TRY(
        pieces.Run(array, pool, {.enqueue = [&](const ArrayPiece& piece, cudaStream_t stream) {
                     Bin(array, piece, stream);
                   }}));
    return CopyBack(pool, &pieces, bins);
  }

 private:
  void Bin(const NumberArray& array, const ArrayPiece& piece, cudaStream_t stream) const {
    const auto blocks = static_cast<uint32_t>(blocks_.size());
    const unsigned grid = (piece.rows + kTileRows - 1) / kTileRows * blocks;
    if (array.value_bytes == sizeof(float)) {
      BinPiece<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const float*>(piece.values),
                                              array.columns, piece.first_row, piece.rows,
                                              blocks_.data(), blocks);
    } else {
      BinPiece<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const double*>(piece.values),
                                              array.columns, piece.first_row, piece.rows,
                                              blocks_.data(), blocks);
    }
  }

  Status CopyBack(WorkPool& pool, ArrayPieces* pieces, BinMatrix* bins) {
    const size_t blocks = bins_.blocks().size();
    return pieces->ForAll(
        pool, blocks + bins_.features().size(), [&](cudaStream_t stream, uint64_t i) {
          const void* const from =
              i < blocks ? bins_.blocks()[i].bins : bins_.features()[i - blocks].column;
          const std::span<std::byte> to =
              i < blocks ? bins->BytesOfBlock(i) : bins->BytesOfColumn(i - blocks);
          STRATA_TRY(
              FromCuda(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDefault, stream),
                       "copying bins from the GPU"));
          return FromCuda(cudaStreamSynchronize(stream), "bins of an array");
        });
  }

  Status PutColumns(std::span<const ColumnBins> columns) {
    std::vector<BlockColumns> blocks;
    std::vector<double> bounds;
    std::vector<size_t> begins;
    for (const BlockView& view : bins_.blocks()) {
      BlockColumns block{.block = view};
      const auto own = columns.subspan(view.first_feature, view.features);
      for (const ColumnBins& column : own) {
        block.bounds_max = std::max(block.bounds_max, static_cast<uint32_t>(column.bounds.size()));
      }
      block.first_step = std::bit_floor(block.bounds_max);
      begins.push_back(bounds.size());
      bounds.resize(bounds.size() + size_t{block.bounds_max} * kLanes,
                    std::numeric_limits<double>::infinity());
      for (size_t lane = 0; lane < own.size(); ++lane) {
        block.column[lane] = own[lane].column;
        block.zero_bin[lane] = own[lane].zero_bin;
        block.missing_bin[lane] = own[lane].missing_bin;
        block.to_column[lane] =
            const_cast<void*>(bins_.features()[view.first_feature + lane].column);
        for (size_t i = 0; i < own[lane].bounds.size(); ++i) {
          bounds[begins.back() + i * kLanes + lane] = own[lane].bounds[i];
        }
      }
      blocks.push_back(block);
    }
    STRATA_TRY(bounds_.Make(bounds.size(), "bounds of bins on the GPU"));
    STRATA_TRY(bounds_.Set(bounds, nullptr));
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i].bounds = bounds_.data() + begins[i];
    STRATA_TRY(blocks_.Make(blocks.size(), "columns of an array on the GPU"));
    STRATA_TRY(blocks_.Set(blocks, nullptr));
    return FromCuda(cudaStreamSynchronize(nullptr), "bounds of bins");
  }

  const int device_;
  DeviceBins bins_;
  DeviceMemory<double> bounds_;
  DeviceMemory<BlockColumns> blocks_;
};

}  // namespace
}  // namespace strata::gpu_tree

namespace strata {

Result<std::shared_ptr<const GpuBins>> GpuBins::Make(int device, const NumberArray& array,
                                                     std::span<const ColumnBins> columns,
                                                     std::span<const FeatureShape> shapes,
                                                     WorkPool& pool, BinMatrix* bins) {
  STRATA_CHECK(columns.size() == bins->features() && shapes.size() == bins->features());
  STRATA_CHECK(array.rows == bins->rows());
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_shared<gpu_tree::ArrayBins>(device);
  STRATA_TRY(made->Fill(array, columns, shapes, pool, bins));
  return std::shared_ptr<const GpuBins>(std::move(made));
}

}  // namespace strata
