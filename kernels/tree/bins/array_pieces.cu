#include <algorithm>

#include "kernels/tree/bins/array_pieces.cuh"

namespace strata::gpu_tree {
namespace {

constexpr size_t kPieceBytes = 2 << 20;

}  // namespace

ArrayPieces::Room::~Room() {
  if (done != nullptr) (void)cudaEventDestroy(done);
}

ArrayPieces::Reader::~Reader() {
  if (stream_ == nullptr) return;
  (void)cudaStreamSynchronize(stream_);
  (void)cudaStreamDestroy(stream_);
}

Result<cudaStream_t> ArrayPieces::Reader::Stream() {
  if (stream_ == nullptr) {
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
  }
  return stream_;
}

// The room whose turn it is, once what was in it is done with.
Result<ArrayPieces::Room*> ArrayPieces::Reader::NextRoom(size_t bytes, size_t scratch_bytes,
                                                         size_t result_bytes) {
  std::unique_ptr<Room>& room = rooms_[turn_];
  turn_ = 1 - turn_;
  if (room != nullptr && room->host.values().size() >= bytes &&
      room->scratch.size() >= scratch_bytes && room->host_results.values().size() >= result_bytes) {
    return room.get();
  }
  room = std::make_unique<Room>();
  const size_t room_bytes = std::max(bytes, kPieceBytes);
  STRATA_TRY(room->host.Make(room_bytes, "pieces of an array on the host"));
  STRATA_TRY(room->device.Make(room_bytes, "pieces of an array on the GPU"));
  STRATA_TRY(room->scratch.Make(scratch_bytes, "pieces of an array on the GPU"));
  if (result_bytes > 0) {
    const size_t results = std::max(result_bytes, kPieceBytes);
    STRATA_TRY(room->host_results.Make(results, "results on the host"));
    STRATA_TRY(room->device_results.Make(results, "results on the GPU"));
  }
  STRATA_TRY(FromCuda(cudaEventCreateWithFlags(&room->done, cudaEventDisableTiming), "an event"));
  return room.get();
}

Status ArrayPieces::Reader::Take(Room* room, const PieceWork& work) {
  if (room == nullptr || room->piece.rows == 0) return {};
  STRATA_TRY(FromCuda(cudaEventSynchronize(room->done), "rows of an array on the GPU"));
  const size_t bytes = room->piece.rows * work.result_bytes;
  if (bytes > 0) work.take(room->piece.first_row, room->host_results.values().first(bytes));
  room->piece.rows = 0;
  return {};
}

Status ArrayPieces::Reader::Send(const NumberArray& array, uint64_t first, uint64_t count,
                                 const PieceWork& work) {
  STRATA_ASSIGN(const cudaStream_t stream, Stream());
  STRATA_TRY(Take(rooms_[turn_].get(), work));
  const size_t bytes = count * array.row_bytes();
  const size_t result_bytes = count * work.result_bytes;
  STRATA_ASSIGN(Room* const room, NextRoom(bytes, count * work.scratch_bytes, result_bytes));
  STRATA_TRY(array.read(first, room->host.values().first(bytes)));
  const auto copy = [&](void* to, const void* from, size_t size) {
    return FromCuda(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream),
                    "rows of an array on the GPU");
  };
  STRATA_TRY(copy(room->device.data(), room->host.values().data(), bytes));
  room->piece = {.first_row = first,
                 .rows = static_cast<uint32_t>(count),
                 .values = room->device.data(),
                 .scratch = room->scratch.data(),
                 .results = room->device_results.data()};
  work.enqueue(room->piece, stream);
  STRATA_TRY(FromCuda(cudaGetLastError(), "rows of an array on the GPU"));
  if (result_bytes > 0) {
    STRATA_TRY(copy(room->host_results.values().data(), room->device_results.data(), result_bytes));
  }
  return FromCuda(cudaEventRecord(room->done, stream), "an event");
}

Status ArrayPieces::Reader::Finish(const PieceWork& work) {
  for (size_t i = 0; i < rooms_.size(); ++i) {
    STRATA_TRY(Take(rooms_[turn_].get(), work));
    turn_ = 1 - turn_;
  }
  return {};
}

// Each reader in a thread of its own.
Status ArrayPieces::ForReaders(WorkPool& pool, uint64_t count,
                               const std::function<Status(Reader& reader, uint64_t i)>& work) {
  std::atomic<uint64_t> next{0};
  SharedStatus result;
  pool.Run(std::min<uint64_t>(kReaders, count), [&](size_t number) {
    const DeviceScope scope(device_);
    for (uint64_t i = next++; i < count && result.ok(); i = next++) {
      result.Keep(work(readers_[number], i));
    }
  });
  return result.status();
}

Status ArrayPieces::Run(const NumberArray& array, WorkPool& pool, const PieceWork& work) {
  const size_t row_bytes =
      std::max({array.row_bytes(), work.scratch_bytes, work.result_bytes, size_t{1}});
  const uint64_t piece_rows = std::max<uint64_t>(1, kPieceBytes / row_bytes);
  const uint64_t pieces = (array.rows + piece_rows - 1) / piece_rows;
  Status sent = ForReaders(pool, pieces, [&](Reader& reader, uint64_t piece) {
    const uint64_t first = piece * piece_rows;
    return reader.Send(array, first, std::min(piece_rows, array.rows - first), work);
  });
  SharedStatus result;
  result.Keep(std::move(sent));
  pool.Run(kReaders, [&](size_t number) {
    const DeviceScope scope(device_);
    result.Keep(readers_[number].Finish(work));
  });
  return result.status();
}

Status ArrayPieces::ForAll(WorkPool& pool, uint64_t count,
                           const std::function<Status(cudaStream_t stream, uint64_t i)>& work) {
  return ForReaders(pool, count, [&](Reader& reader, uint64_t i) -> Status {
    STRATA_ASSIGN(const cudaStream_t stream, reader.Stream());
    return work(stream, i);
  });
}

}  // namespace strata::gpu_tree
