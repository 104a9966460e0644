// ShuffleSource: the samples of another source in random order, through a buffer of bounded size:
// each sample that leaves is drawn at random from the buffer, and the source's next one takes its
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "worker/data/batch.h"

namespace strata {

class ShuffleSource : public BatchSource {
 public:
  // A buffer of `rows` samples, at least 1. The order is a function of the source's order, `rows`,
  // `seed` and the epoch; ranks give different seeds (Mix64(seed + rank)).
  ShuffleSource(std::unique_ptr<BatchSource> source, size_t rows, uint64_t seed);

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

    void Prefetch() const;
  };

  Status Fill();
  Status ReadIncoming();
  Status MoveSamples(size_t count, Batch* batch);
  void Take(Row* row);
  Status Append(const Row& row, Batch* batch) const;

  std::unique_ptr<BatchSource> source_;
  size_t rows_max_;
  uint64_t seed_;
  Random random_;          // of this epoch
  std::vector<Row> rows_;  // the buffer; its first `filled_` hold samples
  size_t filled_ = 0;
  Batch incoming_;  // what was last read from the source
  size_t incoming_next_ = 0;
  std::vector<size_t> drawn_;  // places in the buffer
  bool ended_ = false;         // the source has no more
};

}  // namespace strata
