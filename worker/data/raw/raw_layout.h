// RawLayout: the records of HugeCTR's raw format, which a file does not describe itself: a label,
// dense numbers, and the same number of keys for each slot in every record. Little-endian words of
// 32 bits, no header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "storage/row_schema.h"

namespace strata {

enum class RawNumber : uint8_t {
  kFloat,  // as it is
  kInt,    // 32 bits with a sign; of dense numbers the model sees log(x + 1)
};

struct RawLayout {
  RawNumber label = RawNumber::kFloat;
  RawNumber dense = RawNumber::kFloat;
  size_t dense_width = 0;
  std::vector<uint32_t> slot_keys;  // keys of each slot, at least 1
  // Which settings say all this and where, for messages.
  std::string settings = "data.raw_*";

  size_t keys() const;  // of a record
  size_t record_bytes() const { return sizeof(uint32_t) * (1 + dense_width + keys()); }
  // "a float label, 13 int numbers and 26 keys in 26 slots"
  std::string Text() const;
  // "keys 3, 2, 1, 1"; of many slots the first ones.
  std::string KeysText() const;
};

// The key of a value in a slot. No two values and slots have the same one. docs/protocol.md, "Keys
// of features", describes it for other programs.
inline Key RawKey(uint32_t slot, uint32_t value) { return Mix64(uint64_t{slot} << 32 | value); }

}  // namespace strata
