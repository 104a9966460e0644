#include "storage/row_elements.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/core/initializer.h"
#include "kernels/core/narrow.h"

namespace strata {
namespace {

constexpr size_t kRowsWidened = 64;   // at a time: they stay in the cache
constexpr size_t kRowsUpdated = 512;  // that a thread takes at a time

void Widen(ElementType type, const std::byte* from, size_t count, float* out) {
  if (type == ElementType::kFp32) {
    memcpy(out, from, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    memcpy(&bits, from + i * sizeof bits, sizeof bits);
    out[i] = narrow::FromBits(type, bits);
  }
}

// bits_of(element, value): the 16 bits that hold it.
template <typename BitsOf>
void Store(ElementType type, const float* elements, size_t count, std::byte* to,
           const BitsOf& bits_of) {
  if (type == ElementType::kFp32) {
    memcpy(to, elements, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint16_t bits = bits_of(i, elements[i]);
    memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

// Calls run(type, first element, their count, place) for those elements of a row, from `first` on,
// that are of one type and lie side by side.
template <typename Row, typename Run>
void WithTypes(const RowSchema& schema, size_t first, size_t count, Row* row, const Run& run) {
  const size_t last = first + count;
  const auto part = [&](size_t begin, size_t end, ElementType type, size_t offset) {
    const size_t from = std::max(begin, first);
    const size_t to = std::min(end, last);
    if (from < to) run(type, from, to - from, row + offset + (from - begin) * BytesOf(type));
  };
  const size_t dim = schema.dim;
  part(0, dim, schema.value_type, 0);
  part(dim, 2 * dim, schema.state_types.first, schema.state_offset());
  part(2 * dim, SIZE_MAX, schema.state_types.second,
       schema.state_offset() + dim * schema.state_types.element_bytes());
}

void WriteStochastic(const RowSchema& schema, const float* elements, uint64_t sequence, void* row) {
  WithTypes(schema, 0, size_t{schema.dim} + schema.state_width, static_cast<std::byte*>(row),
            [&](ElementType type, size_t first, size_t count, std::byte* to) {
              Store(type, elements + first, count, to, [&](size_t i, float value) {
                return narrow::ToBitsStochastic(type, value, SequenceBits(sequence, first + i));
              });
            });
}

}  // namespace

void ReadNarrow(const RowSchema& schema, const void* row, size_t count, float* out) {
  WithTypes(schema, 0, count, static_cast<const std::byte*>(row),
            [&](ElementType type, size_t first, size_t many, const std::byte* from) {
              Widen(type, from, many, out + first);
            });
}

void WriteNarrow(const RowSchema& schema, const float* elements, size_t first, size_t count,
                 void* row) {
  WithTypes(schema, first, count, static_cast<std::byte*>(row),
            [&](ElementType type, size_t begin, size_t many, std::byte* to) {
              Store(type, elements + (begin - first), many, to,
                    [type](size_t /*i*/, float value) { return narrow::ToBits(type, value); });
            });
}

Status CheckValuesFit(const TableSpec& spec, std::span<const Key> keys,
                      std::span<const float> values) {
  const ElementType type = spec.value_type;
  if (type == ElementType::kFp32) return {};
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    if (std::isfinite(narrow::FromBits(type, narrow::ToBits(type, values[i])))) continue;
    const float largest = narrow::Largest(type);
    return Invalid(fmt::format(
        "value {} of key {}: table '{}' stores {}: expected a value from -{} to {}; a "
        "table of value type fp32 holds larger ones",
        values[i], keys[i / spec.dim], spec.name, ElementTypeName(type), largest, largest));
  }
  return {};
}

void InitialValue(const TableSpec& spec, const RowSchema& schema, Key key, std::span<float> out) {
  InitialRow(spec.initializer, spec.seed, key, out);
  if (schema.value_type == ElementType::kFp32) return;
  for (float& value : out) {
    value = narrow::FromBits(schema.value_type, narrow::ToBits(schema.value_type, value));
  }
}

void WriteInitialValue(const TableSpec& spec, const RowSchema& schema, Key key, void* row) {
  if (!schema.IsNarrow()) {
    InitialRow(spec.initializer, spec.seed, key, {static_cast<float*>(row), schema.dim});
    return;
  }
  float value[RowSchema::kDimMax];
  InitialRow(spec.initializer, spec.seed, key, {value, schema.dim});
  WriteNarrow(schema, value, 0, schema.dim, row);
}

void WriteInitialState(const TableSpec& spec, const RowSchema& schema, void* row) {
  if (!schema.IsNarrow()) {
    InitialState(spec.optimizer, {static_cast<float*>(row) + schema.dim, schema.state_width});
    return;
  }
  float state[2 * RowSchema::kDimMax];
  InitialState(spec.optimizer, {state, schema.state_width});
  WriteNarrow(schema, state, schema.dim, schema.state_width, row);
}

RowUpdates::RowUpdates(const TableSpec& spec) : spec_(spec), schema_(SchemaOf(spec)) {}

void RowUpdates::Apply(uint64_t step, WorkPool* threads) {
  if (schema_.IsNarrow()) return ApplyNarrow(step);
  const auto apply = [&](size_t begin, size_t end) {
    ApplyRows(Exec{}, spec_.optimizer, step, spec_.dim,
              std::span(updates_).subspan(begin, end - begin));
  };
  if (threads == nullptr) return apply(0, updates_.size());
  threads->RunPieces(updates_.size(), kRowsUpdated, apply);
}

void RowUpdates::ApplyNarrow(uint64_t step) {
  const size_t width = size_t{schema_.dim} + schema_.state_width;
  widened_.resize(kRowsWidened * width);
  for (size_t begin = 0; begin < updates_.size(); begin += kRowsWidened) {
    const size_t end = std::min(begin + kRowsWidened, updates_.size());
    widened_updates_.assign(updates_.begin() + static_cast<ptrdiff_t>(begin),
                            updates_.begin() + static_cast<ptrdiff_t>(end));
    for (size_t i = begin; i < end; ++i) {
      float* elements = &widened_[(i - begin) * width];
      ReadNarrow(schema_, updates_[i].row, width, elements);
      widened_updates_[i - begin].row = elements;
    }
    ApplyRows(Exec{}, spec_.optimizer, step, spec_.dim, widened_updates_);
    for (size_t i = begin; i < end; ++i) {
      WriteStochastic(schema_, widened_updates_[i - begin].row,
                      narrow::RoundingSequence(spec_.seed, keys_[i], step), updates_[i].row);
    }
  }
}

}  // namespace strata
