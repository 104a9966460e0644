// RowGatherer: gathers rows of the table below on host threads, and sends them to the GPU chunk by
// chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread/side_thread.h"
#include "base/thread/work_pool.h"
#include "storage/gpu/hot/keys_down.h"
#include "storage/gpu/hot/lower_rows.h"
#include "storage/gpu/pinned_pool.h"
#include "strata/exec.h"
#include "strata/status.h"

namespace strata {

class ChunkSlot;
struct Reading;
struct RowChunk;

// Which rows come up, and what becomes of them.
struct ReadRule {
  // Of the rows that a lookup misses one of so many comes up where others would have to go for
  // them, of a table in host memory that is only read.
  static constexpr uint64_t kTurns = 8;

  ReadFrom from = ReadFrom::kAll;
  uint64_t tick = 0;        // when they are used
  uint64_t alive_from = 0;  // those that have expired by it stay below
  uint32_t stays_from = 0;  // RowChunk::stay: rows of so many pushes
  // Of kTurns turns: its rows come up, those of the others are for the answer alone.
  std::optional<uint64_t> turn = std::nullopt;
};

// Threads that gather rows on their way up, as many as saturate a host's memory; tables share them.
Result<std::unique_ptr<WorkPool>> StartGatherers();

// Not thread-safe: its calls belong to the table's thread.
class RowGatherer {
 public:
  // Two threads fill, so that none waits for the last row of a chunk, while the GPU takes in
  // another chunk, and one is between.
  static constexpr size_t kFillers = 2;
  static constexpr size_t kSlots = kFillers + 2;
  static constexpr size_t kChunkBytes = size_t{16} << 20;
  // Enqueues on the stream what the GPU does with a chunk.
  using Use = std::function<void(const RowChunk&)>;

  // `row_words`: stored_words() of the schema. `chunk_rows_min`: no chunk is smaller but the last
  // ones. What is passed by reference outlives it.
  RowGatherer(const Exec& exec, PinnedPool& host, LowerRows& below, WorkPool& workers,
              size_t row_words, size_t chunk_rows_min);
  ~RowGatherer();  // nothing is being read

  uint32_t chunk_rows() const { return chunk_rows_; }  // at most
  // Rows are to be gathered soon.
  void Wake();
  // Rows of the first `count` keys, one at least, to use(chunk), in order. This thread gathers the
  // first chunk, the others are gathered meanwhile. prepare(reading) comes before the first use.
  Status Read(const KeysDown& keys, size_t count, const ReadRule& rule,
              const std::function<Status(const Reading&)>& prepare, const Use& use);

  // The parts of Read, for a reading that goes on while the table does other work.
  Status MakeSlots(size_t count);
  Status StartFillers();
  ChunkSlot& slot(size_t number) { return *slots_[number]; }
  // Where the chunks of so many keys begin, and the last one ends.
  std::vector<size_t> ChunksOf(size_t keys) const;
  // The same of keys whose rows fit one slot.
  std::vector<size_t> PartsOfSlot(size_t keys) const;
  // The fillers begin to gather the chunks from `first` on, each one behind before(its number).
  void Begin(Reading& reading, size_t first, const std::function<void(size_t)>& before);
  Status UseAll(Reading& reading, const Use& use);
  Status UseReady(Reading& reading, const Use& use);  // those that wait for nothing
  void AwaitFillers(const Reading& reading);
  void End(Reading& reading);  // chunks that are not used by now are lost

 private:
  // Reads what the chunk's keys have below into the slot from `place` on.
  Status Fill(const Reading& reading, size_t c, ChunkSlot& slot, size_t place);
  void FillChunk(Reading& reading, size_t c);
  Status UseNext(Reading& reading, const Use& use);  // the next one, which is full

  const Exec& exec_;
  PinnedPool& host_;
  LowerRows& below_;
  WorkPool& workers_;
  const size_t row_words_;
  const size_t chunk_rows_min_;
  const uint32_t chunk_rows_;
  std::array<std::unique_ptr<ChunkSlot>, kSlots> slots_;
  std::array<std::unique_ptr<SideThread>, kFillers> fillers_;  // none yet: all chunks were alone
};

}  // namespace strata
