// ShuffleSource gives the samples of another source in random order, through a buffer of bounded
// size. Each sample that leaves is drawn at random from the buffer, and the source's next one takes
// its place. Several threads copy the samples; what is drawn does not depend on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/thread/work_pool.h"
#include "worker/data/batch/batch.h"

namespace strata {

class ShuffleSource : public BatchSource {
 public:
  // A buffer of `rows` samples, at least 1. The order is a function of the source's order, `rows`,
  // `seed` and the epoch; ranks give different seeds (Mix64(seed + rank)). Null `threads`: the
  // calling one alone.
  ShuffleSource(std::unique_ptr<BatchSource> source, size_t rows, uint64_t seed,
                std::unique_ptr<WorkPool> threads = nullptr);

  Status Rewind(uint64_t epoch) override;
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override { return source_->Progress(); }
  uint64_t bad_rows() const override { return source_->bad_rows(); }

 private:
  // A sample in one piece of memory, as it is found at a random place: keys, ends, weights of keys
  // if it has any, dense numbers, label and weight. `ends` has for each slot how many keys there
  // are up to its last one.
  struct Row {
    std::vector<std::byte> bytes;
    uint32_t keys = 0;
    bool has_key_weights = false;
    uint64_t move = 0;  // the last one at this place, counted over all passes

    void Prefetch() const;
  };
  // A sample goes from a place of the buffer to the batch. Others of the same call may be at the
  // same place.
  struct Move {
    size_t place = 0;
    size_t from = kNone;  // of incoming_: the sample is still there, not at its place
    size_t in = kNone;    // of incoming_: the sample that has the place in the end
    size_t first = 0;     // the first move at the place
    size_t keys = 0;      // of the sample
    size_t key_at = 0;    // where they stand in the batch
  };
  static constexpr size_t kNone = SIZE_MAX;

  Status Fill();
  Status ReadIncoming();
  void DrawFull(size_t count);
  void DrawRest(size_t count);
  Status CopyDrawn(Batch* batch);
  void Take(size_t sample, Row* row) const;
  static void Put(const Row& row, size_t sample, size_t key_at, Batch* batch);

  std::unique_ptr<BatchSource> source_;
  size_t rows_max_;
  uint64_t seed_;
  Random random_;          // of this epoch
  std::vector<Row> rows_;  // the buffer; its first `filled_` hold samples
  size_t filled_ = 0;
  Batch incoming_;  // what was last read from the source
  size_t incoming_next_ = 0;
  std::vector<Move> drawn_;  // what the batch gets next
  uint64_t moves_ = 0;       // so far
  bool ended_ = false;       // the source has no more
  std::unique_ptr<WorkPool> threads_;
};

}  // namespace strata
