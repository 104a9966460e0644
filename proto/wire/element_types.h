// What rows of a table are stored as, where that is not fp32: behind its optimizer's extension (if
// there is one), on the wire and in a checkpoint's part.
//
//   | 254 u8 | value type u8 | state type u8 |    numbers of include/strata/element_type.h
//
// No name has 254 bytes, so that a reader that does not know it refuses the whole definition.
#pragma once

#include <cstdint>

#include "proto/wire/bytes.h"
#include "strata/status.h"

namespace strata::wire {

struct ElementTypes {
  static constexpr uint8_t kFp32 = 1;
  uint8_t value = kFp32;
  uint8_t state = kFp32;
  friend bool operator==(const ElementTypes&, const ElementTypes&) = default;
};

// Nothing where both are fp32.
void AppendElementTypes(const ElementTypes& types, ByteWriter& writer);
// Of the definition that `reader` stands behind; fp32 where none follow. kInvalid: cut short, or
// fp32 for both, which is not written.
// Whether such types exist is not looked at.
Result<ElementTypes> ReadElementTypes(ByteReader& reader);

}  // namespace strata::wire
