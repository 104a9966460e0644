// Bins from an array of numbers. Threads of the host copy pieces of it into pinned memory, each of
// them two in turn; a piece goes to the GPU and becomes bins there while the next ones are copied.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>

#include "kernels/tree/device_bins.cuh"
#include "kernels/tree/gpu_bins.h"

namespace strata::gpu_tree {
namespace {

constexpr size_t kReaders = 16;
constexpr size_t kPieceBytes = 2 << 20;
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

// The first error of several threads.
class SharedStatus {
 public:
  bool ok() const { return ok_; }
  void Keep(Status status) {
    if (status.ok()) return;
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
    ok_ = false;
  }
  const Status& status() const { return status_; }

 private:
  std::atomic<bool> ok_{true};
  std::mutex mutex_;
  Status status_;
};

struct ReaderPiece {
  std::span<std::byte> host;
  std::byte* device = nullptr;
  cudaEvent_t read = nullptr;  // from host memory
};

// One thread's share of the work: whatever nobody has taken yet.
class Reader {
 public:
  Reader() = default;
  ~Reader() {
    if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
    for (const ReaderPiece& piece : pieces_) {
      if (piece.read != nullptr) (void)cudaEventDestroy(piece.read);
    }
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Status Start(std::span<std::byte> host, std::byte* device, size_t piece_bytes) {
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    for (size_t i = 0; i < pieces_.size(); ++i) {
      pieces_[i] = {host.subspan(i * piece_bytes, piece_bytes), device + i * piece_bytes, nullptr};
      STRATA_TRY(
          FromCuda(cudaEventCreateWithFlags(&pieces_[i].read, cudaEventDisableTiming), "an event"));
    }
    return {};
  }

  Status BinRows(const NumberArray& array, uint64_t first, uint64_t count,
                 const DeviceMemory<BlockColumns>& blocks) {
    ReaderPiece& piece = pieces_[turn_];
    turn_ = 1 - turn_;
    STRATA_TRY(FromCuda(cudaEventSynchronize(piece.read), "copying an array to the GPU"));
    const size_t bytes = count * array.row_bytes();
    STRATA_TRY(array.read(first, piece.host.first(bytes)));
    STRATA_TRY(FromCuda(
        cudaMemcpyAsync(piece.device, piece.host.data(), bytes, cudaMemcpyDefault, stream_),
        "copying an array to the GPU"));
    const auto rows = static_cast<uint32_t>(count);
    const auto block_count = static_cast<uint32_t>(blocks.size());
    const unsigned grid = (rows + kTileRows - 1) / kTileRows * block_count;
    if (array.value_bytes == sizeof(float)) {
      BinPiece<<<grid, kThreads, 0, stream_>>>(reinterpret_cast<const float*>(piece.device),
                                               array.columns, first, rows, blocks.data(),
                                               block_count);
    } else {
      BinPiece<<<grid, kThreads, 0, stream_>>>(reinterpret_cast<const double*>(piece.device),
                                               array.columns, first, rows, blocks.data(),
                                               block_count);
    }
    STRATA_TRY(FromCuda(cudaGetLastError(), "bins of an array"));
    return FromCuda(cudaEventRecord(piece.read, stream_), "an event");
  }

  Status CopyBack(const void* from, std::span<std::byte> to) {
    STRATA_TRY(FromCuda(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDefault, stream_),
                        "copying bins from the GPU"));
    return Wait();
  }

  Status Wait() { return FromCuda(cudaStreamSynchronize(stream_), "bins of an array"); }

 private:
  cudaStream_t stream_ = nullptr;
  std::array<ReaderPiece, 2> pieces_;
  size_t turn_ = 0;
};

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
    const uint64_t piece_rows = std::max<uint64_t>(1, kPieceBytes / array.row_bytes());
    const size_t piece_bytes = (piece_rows * array.row_bytes() + 255) / 256 * 256;
    PinnedMemory<std::byte> host;
    DeviceMemory<std::byte> device;
    STRATA_TRY(host.Make(kReaders * 2 * piece_bytes, "pieces of an array on the host"));
    STRATA_TRY(device.Make(kReaders * 2 * piece_bytes, "pieces of an array on the GPU"));
    std::array<Reader, kReaders> readers;
    for (size_t i = 0; i < kReaders; ++i) {
      STRATA_TRY(readers[i].Start(host.values().subspan(i * 2 * piece_bytes, 2 * piece_bytes),
                                  device.data() + i * 2 * piece_bytes, piece_bytes));
    }
    const uint64_t pieces = (array.rows + piece_rows - 1) / piece_rows;
    STRATA_TRY(ForAll(pool, &readers, pieces, [&](Reader& reader, uint64_t piece) {
      const uint64_t first = piece * piece_rows;
      return reader.BinRows(array, first, std::min(piece_rows, array.rows - first), blocks_);
    }));
    for (Reader& reader : readers) STRATA_TRY(reader.Wait());
    return CopyBack(pool, &readers, bins);
  }

 private:
  // Calls work(reader, i) for all i below a number, each reader in a thread of its own.
  template <typename Work>
  Status ForAll(WorkPool& pool, std::array<Reader, kReaders>* readers, uint64_t count,
                const Work& work) {
    std::atomic<uint64_t> next{0};
    SharedStatus result;
    pool.Run(kReaders, [&](size_t number) {
      const DeviceScope scope(device_);
      for (uint64_t i = next++; i < count && result.ok(); i = next++) {
        result.Keep(work((*readers)[number], i));
      }
    });
    return result.status();
  }

  Status CopyBack(WorkPool& pool, std::array<Reader, kReaders>* readers, BinMatrix* bins) {
    const size_t blocks = bins_.blocks().size();
    return ForAll(pool, readers, blocks + bins_.features().size(), [&](Reader& reader, uint64_t i) {
      if (i < blocks) return reader.CopyBack(bins_.blocks()[i].bins, bins->BytesOfBlock(i));
      return reader.CopyBack(bins_.features()[i - blocks].column, bins->BytesOfColumn(i - blocks));
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
