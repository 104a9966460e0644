#include "storage/checkpoint/table_record.h"

#include <fmt/format.h>

namespace strata {

format::TableRecord ToRecord(const TableSpec& spec, uint32_t since) {
  return {.name = spec.name,
          .dim = spec.dim,
          .state_width = SchemaOf(spec).state_width,
          .since = since,
          .seed = spec.seed,
          .optimizer = static_cast<uint8_t>(spec.optimizer.kind),
          .initializer = static_cast<uint8_t>(spec.initializer.kind),
          .ack = static_cast<uint8_t>(spec.ack),
          .learning_rate = spec.optimizer.learning_rate,
          .epsilon = spec.optimizer.epsilon,
          .beta1 = spec.optimizer.beta1,
          .beta2 = spec.optimizer.beta2,
          .initial_accumulator = spec.optimizer.initial_accumulator,
          .initializer_scale = spec.initializer.scale,
          .extension = wire::ExtensionOf(spec.optimizer),
          .types = {.value = static_cast<uint8_t>(spec.value_type),
                    .state = static_cast<uint8_t>(spec.state_type)}};
}

Result<TableSpec> FromRecord(const format::TableRecord& record, const std::string& where) {
  TableSpec spec{.name = record.name,
                 .dim = record.dim,
                 .optimizer = {.kind = static_cast<OptimizerKind>(record.optimizer),
                               .learning_rate = record.learning_rate,
                               .epsilon = record.epsilon,
                               .beta1 = record.beta1,
                               .beta2 = record.beta2,
                               .initial_accumulator = record.initial_accumulator},
                 .initializer = {.kind = static_cast<InitializerKind>(record.initializer),
                                 .scale = record.initializer_scale},
                 .seed = record.seed,
                 .ack = static_cast<AckLevel>(record.ack),
                 .value_type = static_cast<ElementType>(record.types.value),
                 .state_type = static_cast<ElementType>(record.types.state)};
  if (record.extension) wire::CopyExtension(*record.extension, &spec.optimizer);
  if (const Status valid = ValidateTableSpec(spec); !valid.ok()) {
    return Corrupt(where + ": " + valid.message());
  }
  if (const uint32_t width = SchemaOf(spec).state_width; width != record.state_width) {
    return Corrupt(fmt::format("{}: table '{}': expected {} elements of state a row, found {}",
                               where, spec.name, width, record.state_width));
  }
  return spec;
}

}  // namespace strata
