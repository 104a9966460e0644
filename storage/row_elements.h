// A row's elements, value then state, as its table stores them (RowSchema) and as fp32, which is
// what everything outside of a table sees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/optim/apply.h"
#include "storage/row_schema.h"
#include "storage/table_spec.h"

namespace strata {

// Of rows in narrow types; the functions below also take rows of fp32.
void ReadNarrow(const RowSchema& schema, const void* row, size_t count, float* out);
void WriteNarrow(const RowSchema& schema, const float* elements, size_t first, size_t count,
                 void* row);

// The first `count` elements.
inline void ReadElements(const RowSchema& schema, const void* row, size_t count, float* out) {
  if (schema.IsNarrow()) {
    ReadNarrow(schema, row, count, out);
  } else {
    std::copy_n(static_cast<const float*>(row), count, out);
  }
}

inline void AppendElements(const RowSchema& schema, const void* row, size_t count,
                           std::vector<float>& to) {
  if (schema.IsNarrow()) {
    to.resize(to.size() + count);
    ReadNarrow(schema, row, count, to.data() + to.size() - count);
  } else {
    const auto* elements = static_cast<const float*>(row);
    to.insert(to.end(), elements, elements + count);
  }
}

// The first elements, each rounded to the nearest that its type has.
inline void WriteElements(const RowSchema& schema, std::span<const float> elements, void* row) {
  if (schema.IsNarrow()) {
    WriteNarrow(schema, elements.data(), 0, elements.size(), row);
  } else {
    std::copy_n(elements.data(), elements.size(), static_cast<float*>(row));
  }
}

// kInvalid, naming the key, when a finite value would be stored as infinity. values.size() is
// keys.size() x dim, on the host.
Status CheckValuesFit(const TableSpec& spec, std::span<const Key> keys,
                      std::span<const float> values);

// As the value that a row of this key has before its first write, rounded.
void InitialValue(const TableSpec& spec, const RowSchema& schema, Key key, std::span<float> out);
// The same for the stored row, and for its state.
void WriteInitialValue(const TableSpec& spec, const RowSchema& schema, Key key, void* row);
void WriteInitialState(const TableSpec& spec, const RowSchema& schema, void* row);

// Optimizer steps on stored rows. Not thread-safe; keeps its memory.
class RowUpdates {
 public:
  explicit RowUpdates(const TableSpec& spec);

  void Clear() {
    updates_.clear();
    keys_.clear();
  }
  // As many as Set is then called for, each with a number of its own, by any threads.
  void Resize(size_t count) {
    updates_.resize(count);
    if (schema_.IsNarrow()) keys_.resize(count);
  }
  void Set(size_t number, Key key, void* row, const float* gradient, uint64_t last_step) {
    updates_[number] = {static_cast<float*>(row), gradient, last_step};
    if (schema_.IsNarrow()) keys_[number] = key;
  }
  // The row stays where it is until Apply.
  void Add(Key key, void* row, const float* gradient, uint64_t last_step) {
    updates_.push_back({static_cast<float*>(row), gradient, last_step});
    if (schema_.IsNarrow()) keys_.push_back(key);
  }
  // The rule in fp32 at time `step`, once for each row. What narrow types cannot hold is rounded
  // stochastically, by random bits that follow from seed, key, element and step.
  // `threads` help with rows of fp32; null: the calling thread works alone.
  void Apply(uint64_t step, WorkPool* threads = nullptr);

 private:
  void ApplyNarrow(uint64_t step);

  const TableSpec spec_;
  const RowSchema schema_;
  std::vector<RowUpdate> updates_;
  std::vector<Key> keys_;       // of narrow rows
  std::vector<float> widened_;  // some rows at a time
  std::vector<RowUpdate> widened_updates_;
};

}  // namespace strata
