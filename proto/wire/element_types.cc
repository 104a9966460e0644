#include "proto/wire/element_types.h"

#include <fmt/format.h>

namespace strata::wire {
namespace {

constexpr uint8_t kMark = 254;
constexpr size_t kBytes = 3;  // with the mark

}  // namespace

void AppendElementTypes(const ElementTypes& types, ByteWriter& writer) {
  if (types == ElementTypes{}) return;
  writer.Put(kMark);
  writer.Put(types.value);
  writer.Put(types.state);
}

Result<ElementTypes> ReadElementTypes(ByteReader& reader) {
  if (!reader.NextIs(kMark)) return ElementTypes{};
  if (reader.left() < kBytes) {
    return Invalid(fmt::format("table definition: element types of {} bytes, found {}", kBytes,
                               reader.left()));
  }
  reader.Get<uint8_t>();
  ElementTypes types;
  types.value = reader.Get<uint8_t>();
  types.state = reader.Get<uint8_t>();
  if (types == ElementTypes{}) {
    return Invalid("table definition: element types say fp32, which none at all says");
  }
  return types;
}

}  // namespace strata::wire
