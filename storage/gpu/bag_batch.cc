#include "storage/gpu/bag_batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"

namespace strata {

std::vector<uint64_t> KeysOf(const BagBatch& batch) {
  std::vector<uint64_t> keys;
  for (const EmbeddingBags& table : batch.tables) keys.push_back(table.keys);
  return keys;
}

bool HasKeys(std::span<const uint64_t> counts) {
  return std::ranges::any_of(counts, [](uint64_t count) { return count != 0; });
}

bool IsAligned(const void* memory, size_t bytes) {
  return memory != nullptr && reinterpret_cast<uintptr_t>(memory) % bytes == 0;
}

Status CheckKeys(size_t tables, const Key* keys, std::span<const uint64_t> counts) {
  if (counts.size() != tables) {
    return Invalid(
        fmt::format("a batch of {} for a group of {}", Counted(counts.size(), "table"), tables));
  }
  uint64_t all = 0;
  for (const uint64_t count : counts) all += std::min<uint64_t>(count, INT32_MAX);
  if (HasKeys(counts) && keys == nullptr) return Invalid("a batch whose keys are nowhere (null)");
  if (HasKeys(counts) && !IsAligned(keys, sizeof *keys)) {
    return Invalid("keys do not begin at a multiple of 8 bytes");
  }
  if (all >= INT32_MAX) {
    return Invalid(
        fmt::format("a batch of {} keys or more; at most {} go into one", all, INT32_MAX - 1));
  }
  return {};
}

namespace {

uint64_t VectorStride(const EmbeddingBags& bags, uint32_t dim) {
  return bags.vector_stride == 0 ? dim : bags.vector_stride;
}

}  // namespace

Status CheckBags(std::span<const TableSpec> specs, const BagBatch& batch) {
  if (batch.tables.size() != specs.size()) {
    return Invalid(fmt::format("a batch of {} for a group of {}",
                               Counted(batch.tables.size(), "table"), specs.size()));
  }
  for (size_t t = 0; t < specs.size(); ++t) {
    const EmbeddingBags& table = batch.tables[t];
    const auto wrong = [&](std::string what) {
      return Invalid(fmt::format("the bags of table '{}': {}", specs[t].name, what));
    };
    if (table.offsets == nullptr && table.keys != table.bags) {
      return wrong(fmt::format("{} for {}, and no offsets", Counted(table.keys, "key"),
                               Counted(table.bags, "bag")));
    }
    if (table.bags == 0 && table.keys != 0) {
      return wrong(fmt::format("{} in no bags", Counted(table.keys, "key")));
    }
    const uint64_t vector_stride = VectorStride(table, specs[t].dim);
    if (vector_stride < specs[t].dim) {
      return wrong(fmt::format("vectors of {} elements do not fit a vector_stride of {} elements",
                               specs[t].dim, vector_stride));
    }
    if (table.slots == 0 || table.stride / table.slots < vector_stride) {
      return wrong(
          fmt::format("vectors of {} elements, {} of them a sample, do not fit a stride "
                      "of {} elements",
                      vector_stride, table.slots, table.stride));
    }
    if ((table.offsets != nullptr && !IsAligned(table.offsets, sizeof *table.offsets)) ||
        (table.weights != nullptr && !IsAligned(table.weights, sizeof *table.weights))) {
      return wrong("their offsets and weights begin at multiples of 4 bytes");
    }
    if (table.bags != 0 && !IsVector(table.out)) {
      return wrong("their vectors begin at a multiple of 16 bytes");
    }
  }
  return CheckKeys(specs.size(), batch.keys, KeysOf(batch));
}

Status CheckGradients(std::span<const TableSpec> specs, std::span<const PooledTable> bags,
                      PooledType type, std::span<const void* const> gradients) {
  if (gradients.size() != specs.size()) {
    return Invalid(fmt::format("gradients of {} for a group of {}",
                               Counted(gradients.size(), "table"), specs.size()));
  }
  const size_t bytes = type == PooledType::kFloat32 ? 4 : 2;
  for (size_t t = 0; t < gradients.size(); ++t) {
    if (bags[t].bags == 0) continue;
    if (gradients[t] == nullptr) {
      return Invalid(fmt::format("the bags of table '{}' have no gradients (null)", specs[t].name));
    }
    if (!IsAligned(gradients[t], bytes)) {
      return Invalid(fmt::format(
          "the gradients of the bags of table '{}' do not begin at a multiple of {} bytes",
          specs[t].name, bytes));
    }
  }
  return {};
}

std::vector<PooledTable> PooledOf(const TableGroup& group, const BagBatch& batch) {
  std::vector<PooledTable> pooled;
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const EmbeddingBags& bags = batch.tables[t];
    const GroupTable& table = group.tables[t];
    pooled.push_back({.map = table.map,
                      .start = table.start,
                      .keys = batch.keys + table.first_key,
                      .offsets = bags.offsets,
                      .weights = bags.weights,
                      .bags = bags.bags,
                      .out = bags.out,
                      .stride = bags.stride,
                      .vector_stride = VectorStride(bags, table.map.dim),
                      .slots = bags.slots,
                      .combiner = bags.combiner});
  }
  return pooled;
}

}  // namespace strata
