// UniqueKeys: the distinct keys of a batch, and UniqueFinder, which finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/seeded_hash.h"
#include "base/thread/work_pool.h"
#include "storage/row_schema.h"
#include "strata/key_order.h"
#include "worker/data/batch/batch.h"

namespace strata {

// The keys of table after table, each table's in key order (strata/key_order.h); those of a group
// are in order of first appearance.
struct UniqueKeys {
  std::vector<Key> keys;
  std::vector<size_t> begins;   // tables + 1: where those of table t begin
  std::vector<uint32_t> index;  // for each key of the batch, its place among those of its table
  std::span<const Key> of_table(size_t number) const {
    return std::span(keys).subspan(begins[number], begins[number + 1] - begins[number]);
  }
};

// Deals keys by their groups into parts that fit a core's cache, and finds the distinct ones part
// by part. Keeps its memory for the next call. One thread at a time.
class UniqueFinder {
 public:
  // `threads` help with large batches, and outlive this; null: the calling thread works alone. The
  // result does not depend on them.
  explicit UniqueFinder(WorkPool* threads = nullptr) : threads_(threads) {}

  // Table t has table_slots[t] of the batch's slots, those after the slots of the tables before.
  // The batch has at most Batch::kKeysMax keys.
  void Find(const Batch& batch, std::span<const uint32_t> table_slots, UniqueKeys* unique);

  // Places of other keys on the way to those of the last batch; tests bound them.
  uint64_t passed() const;

 private:
  struct Entry {
    Key key;
    uint32_t at;  // in the batch
  };
  // The keys of one table: some slots of each sample.
  struct TableKeys {
    const Batch& batch;
    size_t first_slot;
    size_t slots;
    size_t count;  // of keys
  };

  void FindOfTable(const TableKeys& of, UniqueKeys* unique);
  void Plan(const TableKeys& of);
  void Deal(const TableKeys& of);
  void FindOfPart(size_t part);
  void NumberPart(size_t part, std::span<Key> distinct, std::span<uint32_t> index);
  // Calls visit(at) with the batch's keys of that run, in their order.
  template <typename Visit>
  void ForEachOfRun(const TableKeys& of, size_t run, const Visit& visit) const;
  template <typename Task>
  void Run(size_t count, const Task& task);
  size_t PartOf(Key key) const { return KeyGroup(key) >> part_shift_; }

  WorkPool* const threads_;
  const SeededHash hash_;  // within a part, as anybody can choose keys of one group
  // Of the table that is worked on.
  size_t parts_ = 1;  // a power of two
  int part_shift_ = 0;
  size_t runs_ = 1;  // of samples
  size_t run_samples_ = 1;
  std::vector<uint32_t> counts_;      // by part and run: of keys, then where the next one goes
  std::vector<uint32_t> begins_;      // by part, and one more: where its entries begin
  std::vector<Entry> entries_;        // by part, each part's in the order of the batch
  std::vector<size_t> place_begins_;  // by part, and one more
  std::vector<uint32_t> places_;      // by part: a hash table of its entries' numbers, 0: free
  std::vector<uint32_t> firsts_;      // by entry: the number of the first one that is equal
  std::vector<uint32_t> groups_;      // by group: distinct keys, then the number of the next one
  std::vector<uint64_t> passed_;      // by part
  uint64_t passed_before_ = 0;        // of the tables before
};

}  // namespace strata
