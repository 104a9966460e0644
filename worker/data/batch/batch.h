// Batch: samples as training sees them, and the source that yields them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/row_schema.h"
#include "strata/status.h"
#include "strata/time.h"
#include "worker/data/file/bad_rows.h"

namespace strata {

// Compressed sparse rows. Sample i's keys of slot s are
// keys[offsets[i * slots + s] .. offsets[i * slots + s + 1]).
struct Batch {
  size_t samples = 0;
  size_t slots = 0;
  size_t dense_width = 0;
  std::vector<uint32_t> offsets;  // samples * slots + 1
  std::vector<Key> keys;          // salted by slot: equal strings in two slots are two keys
  // By key of the batch: its row and its linear weight are multiplied by it. Empty: all are 1.
  std::vector<float> key_weights = {};
  std::vector<float> dense;    // samples x dense_width
  std::vector<float> labels;   // samples; 0 or 1, or any number where the loss takes that
  std::vector<float> weights;  // samples; 1 where the data has none
  // Of a source whose rows are in groups and that does not shuffle: that of each sample, as a
  // number.
  std::vector<uint64_t> groups = {};
  // Of a source that keeps rows that cannot be read: these samples, whose values are missing.
  std::vector<BadRow> bad = {};

  // Makes the batch empty, of this shape. Memory is kept.
  void Start(size_t slots_now, size_t dense_width_now);
  static constexpr size_t kKeysMax = size_t{1} << 31;
  // kInvalid: so many samples have more than kKeysMax keys.
  static Status TooManyKeys(size_t samples);
  // Appends a sample's keys, slot after slot, so that there are kKeysMax at most. `ends` has for
  // each slot how many keys there are up to its last one. The weights are as key_weights, of these
  // keys alone.
  void AppendKeys(std::span<const Key> sample_keys, std::span<const float> sample_weights,
                  std::span<const uint32_t> ends);
};

// One rank's share of a data set, batch by batch. One thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Back to the first sample; `epoch` seeds the order where the source shuffles.
  virtual Status Rewind(uint64_t epoch) = 0;
  // Fills the batch with up to samples_max samples; 0 samples: the share is at its end.
  virtual Status Next(size_t samples_max, Batch* batch) = 0;
  // Share of the source that has been read since Rewind, 0 to 1.
  virtual double Progress() const = 0;
  // Rows since Rewind that could not be read, whether the source leaves them out or keeps them.
  virtual uint64_t bad_rows() const { return 0; }
  // How long threads of its own have read and parsed, over all passes.
  virtual TimeNs reading_time() const { return 0; }
};

}  // namespace strata
