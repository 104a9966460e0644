// ArrayPieces: an array's rows on their way to a GPU. Threads of the host copy pieces of it into
// pinned memory, each of them two in turn; a piece goes to the GPU and is worked on there, and
// results come back, while the next ones are copied.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "base/thread/mutex.h"
#include "base/thread/work_pool.h"
#include "kernels/core/device_memory.cuh"
#include "kernels/tree/bins/gpu_bins.h"

namespace strata::gpu_tree {

// The first error of several threads.
class SharedStatus {
 public:
  bool ok() const { return ok_; }
  void Keep(Status status) {
    if (status.ok()) return;
    const MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
    ok_ = false;
  }
  Status status() const {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  std::atomic<bool> ok_{true};
  mutable Mutex mutex_;
  Status status_ STRATA_GUARDED_BY(mutex_);
};

// Rows of the array in the GPU's memory, with room for what is made of them there and for results.
struct ArrayPiece {
  uint64_t first_row = 0;
  uint32_t rows = 0;
  const std::byte* values = nullptr;
  std::byte* scratch = nullptr;
  std::byte* results = nullptr;
};

struct PieceWork {
  // Enqueues the work on a piece.
  std::function<void(const ArrayPiece& piece, cudaStream_t stream)> enqueue;
  size_t scratch_bytes = 0;  // of a row
  size_t result_bytes = 0;   // of a row; 0: no results
  // Takes them; several threads at once.
  std::function<void(uint64_t first_row, std::span<const std::byte> results)> take = {};
};

// One thread at a time, which hands work to those of a pool.
class ArrayPieces {
 public:
  explicit ArrayPieces(int device) : device_(device) {}

  // Works on all rows and waits. Memory that it takes is kept for the next call.
  Status Run(const NumberArray& array, WorkPool& pool, const PieceWork& work);
  // Calls work(stream, i) for all i below a number, in several threads, each with a stream.
  Status ForAll(WorkPool& pool, uint64_t count,
                const std::function<Status(cudaStream_t stream, uint64_t i)>& work);

 private:
  struct Room {
    PinnedMemory<std::byte> host;
    DeviceMemory<std::byte> device;
    DeviceMemory<std::byte> scratch;
    PinnedMemory<std::byte> host_results;
    DeviceMemory<std::byte> device_results;
    cudaEvent_t done = nullptr;
    ArrayPiece piece;  // that is there; of no rows: none
    Room() = default;
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room();
  };
  // One thread's share of the work: whatever nobody has taken yet.
  class Reader {
   public:
    Reader() = default;
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Result<cudaStream_t> Stream();
    Status Send(const NumberArray& array, uint64_t first, uint64_t count, const PieceWork& work);
    Status Finish(const PieceWork& work);

   private:
    Result<Room*> NextRoom(size_t bytes, size_t scratch_bytes, size_t result_bytes);
    static Status Take(Room* room, const PieceWork& work);

    cudaStream_t stream_ = nullptr;
    std::array<std::unique_ptr<Room>, 2> rooms_;
    size_t turn_ = 0;
  };
  static constexpr size_t kReaders = 16;

  Status ForReaders(WorkPool& pool, uint64_t count,
                    const std::function<Status(Reader& reader, uint64_t i)>& work);

  const int device_;
  std::array<Reader, kReaders> readers_;
};

}  // namespace strata::gpu_tree
