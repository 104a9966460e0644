// KeysByTable puts what a batch has by key into the order of the tables. The keys of the first
// table's slots come first, sample after sample, then those of the next table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/data/batch/batch.h"

namespace strata {

// With one table the order is that of the batch, and nothing is copied. Memory is kept for the next
// batch. One thread at a time.
class KeysByTable {
 public:
  // Table t has table_slots[t] of a batch's slots, those after the slots of the tables before.
  // `threads` help. Both outlive this.
  KeysByTable(std::span<const uint32_t> table_slots, WorkPool& threads)
      : table_slots_(table_slots), threads_(threads) {}

  // All below is about this batch, which stays as it is meanwhile. It has as many slots as the
  // tables (STRATA_CHECK).
  void Set(const Batch& batch);

  // Whether each slot of each sample has one key.
  bool has_key_a_bag() const { return has_key_a_bag_; }
  // The keys of table t are those from begins()[t] to begins()[t + 1] - 1.
  const std::vector<size_t>& begins() const { return begins_; }
  // They are, table after table, those of a Batch of its slots and keys alone: from 0 on, one
  // number more than it has bags. There are none where has_key_a_bag.
  std::span<const uint32_t> offsets() const;
  // Where those of table t begin among them.
  size_t FirstOffset(size_t table) const { return first_slots_[table] * batch_->samples + table; }

  // Puts numbers by key into that order. They come back as by_key itself, or lie in `scratch`.
  // by_key may be empty.
  template <typename T>
  std::span<const T> Ordered(std::span<const T> by_key, std::vector<T>* scratch) const;

 private:
  // Fewer keys are moved faster than threads wake.
  static constexpr size_t kPieceKeys = size_t{1} << 14;

  void AddOffsets(size_t table);
  // How many keys of the table the samples before this one have.
  size_t KeysBefore(size_t table, size_t sample) const {
    const size_t bag = sample * table_slots_[table];
    return has_key_a_bag_ ? bag : offsets_[FirstOffset(table) + bag];
  }

  const std::span<const uint32_t> table_slots_;
  WorkPool& threads_;
  const Batch* batch_ = nullptr;
  bool has_key_a_bag_ = false;
  std::vector<size_t> first_slots_;
  std::vector<size_t> begins_;
  std::vector<uint32_t> offsets_;  // of several tables
};

template <typename T>
std::span<const T> KeysByTable::Ordered(std::span<const T> by_key, std::vector<T>* scratch) const {
  if (table_slots_.size() == 1 || by_key.empty()) return by_key;
  scratch->resize(by_key.size());
  for (size_t table = 0; table < table_slots_.size(); ++table) {
    const size_t slots = table_slots_[table];
    T* const out = scratch->data() + begins_[table];
    threads_.RunPieces(batch_->samples, kPieceKeys / slots + 1, [&](size_t begin, size_t end) {
      for (size_t sample = begin; sample < end; ++sample) {
        const size_t bag = sample * batch_->slots + first_slots_[table];
        T* to = out + KeysBefore(table, sample);
        const uint32_t last = batch_->offsets[bag + slots];
        for (uint32_t key = batch_->offsets[bag]; key < last; ++key) *to++ = by_key[key];
      }
    });
  }
  return *scratch;
}

}  // namespace strata
