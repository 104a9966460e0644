#include <fmt/format.h>

#include "proto/wire/bytes.h"
#include "proto/wire/commands.h"

namespace strata::wire {
namespace {

constexpr size_t kNameBytesMax = 128;
constexpr size_t kFixedBytes = 40;  // of one definition, before its name

void Append(const TableDefinition& table, ByteWriter& writer) {
  STRATA_CHECK(table.name.size() <= kNameBytesMax);
  writer.Put(static_cast<uint8_t>(table.name.size()));
  writer.Put(static_cast<uint8_t>(table.ack + 1));  // the default is 0
  writer.Put(table.optimizer);
  writer.Put(table.initializer);
  writer.Put(table.dim);
  writer.Put(table.seed);
  for (const float value : {table.learning_rate, table.epsilon, table.beta1, table.beta2,
                            table.initial_accumulator, table.initializer_scale}) {
    writer.PutFloat(value);
  }
  writer.PutText(table.name);
  AppendOptimizerExtension(table.extension, writer);
  AppendElementTypes(table.types, writer);
}

Result<TableDefinition> ReadOne(ByteReader& reader) {
  if (reader.left() < kFixedBytes) {
    return Invalid(
        fmt::format("table definition: at least {} bytes, found {}", kFixedBytes, reader.left()));
  }
  TableDefinition table;
  const auto length = reader.Get<uint8_t>();
  table.ack = static_cast<uint8_t>(reader.Get<uint8_t>() - 1);
  table.optimizer = reader.Get<uint8_t>();
  table.initializer = reader.Get<uint8_t>();
  table.dim = reader.Get<uint32_t>();
  table.seed = reader.Get<uint64_t>();
  for (float* value : {&table.learning_rate, &table.epsilon, &table.beta1, &table.beta2,
                       &table.initial_accumulator, &table.initializer_scale}) {
    *value = reader.GetFloat();
  }
  if (length > kNameBytesMax || length > reader.left()) {
    return Invalid(
        fmt::format("table definition: a name of {} bytes announced (at most {}), {} "
                    "bytes follow",
                    length, kNameBytesMax, reader.left()));
  }
  table.name = reader.GetText(length);
  STRATA_ASSIGN(table.extension, ReadOptimizerExtension(reader));
  STRATA_ASSIGN(table.types, ReadElementTypes(reader));
  return table;
}

}  // namespace

Frame EncodeTableDefinitions(std::span<const TableDefinition> tables) {
  ByteWriter writer;
  for (const TableDefinition& table : tables) Append(table, writer);
  return writer.Take();
}

Result<std::vector<TableDefinition>> DecodeTableDefinitions(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<TableDefinition> tables;
  while (reader.left() > 0) {
    STRATA_ASSIGN(TableDefinition table, ReadOne(reader));
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace strata::wire
