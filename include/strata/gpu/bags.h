// A batch of bags, as a model hands it to a group of tables on GPUs. A bag is the keys of one slot
// of one sample, and its vector what a model sees of them.
#pragma once

#include <cstdint>
#include <span>

#include "strata/combiner.h"
#include "strata/row.h"

namespace strata {

constexpr uint32_t kPoolTablesMax = 64;  // of a group

enum class PooledType : uint8_t { kFloat32, kBFloat16, kFloat16 };

// The bags of one table in a batch. Device memory.
struct EmbeddingBags {
  uint64_t keys = 0;  // of all bags
  // Ascending from 0 to `keys`, one for each bag and one more, which nobody checks. Null: bag b is
  // key b.
  const uint32_t* offsets = nullptr;
  const float* weights = nullptr;  // by key; null: all are 1
  uint64_t bags = 0;
  void* out = nullptr;  // vectors; a multiple of 16 bytes
  uint64_t stride = 0;  // elements from sample to sample
  uint32_t slots = 1;   // bags of a sample
  // Elements from bag to bag of a sample; 0: the table's dim. Where this, `stride` and the
  // beginning of gradients are multiples of four elements, four are moved at once, whatever the
  // dim. Elements between vectors are then overwritten, and those of gradients are read but of no
  // effect.
  uint64_t vector_stride = 0;
  Combiner combiner = Combiner::kSum;
};
struct BagBatch {
  const Key* keys = nullptr;              // those of table 0, then of table 1, ...; device memory
  std::span<const EmbeddingBags> tables;  // one for each of the group
  PooledType type = PooledType::kFloat32;
  // A CUDA event after which the keys are there, or null. Given one, a group may combine the keys
  // beside what its stream has still to do, most often the update of the batch before, and look for
  // the rows that it will update beside the pooled lookup and the model.
  void* ready = nullptr;
};

// Rows as they are, a vector a key.
struct RowBatch {
  const Key* keys = nullptr;         // as BagBatch has them
  std::span<const uint64_t> counts;  // of them, by table
  float* rows = nullptr;  // one behind the other, each of its table's dim; device memory, a
                          // multiple of 16 bytes
};

}  // namespace strata
