#include "ps/client/table_wire.h"

namespace strata {

wire::TableDefinition ToWire(const TableSpec& spec) {
  return {.name = spec.name,
          .dim = spec.dim,
          .seed = spec.seed,
          .optimizer = static_cast<uint8_t>(spec.optimizer.kind),
          .initializer = static_cast<uint8_t>(spec.initializer.kind),
          .learning_rate = spec.optimizer.learning_rate,
          .epsilon = spec.optimizer.epsilon,
          .beta1 = spec.optimizer.beta1,
          .beta2 = spec.optimizer.beta2,
          .initial_accumulator = spec.optimizer.initial_accumulator,
          .initializer_scale = spec.initializer.scale,
          .ack = static_cast<uint8_t>(spec.ack),
          .extension = wire::ExtensionOf(spec.optimizer),
          .types = {.value = static_cast<uint8_t>(spec.value_type),
                    .state = static_cast<uint8_t>(spec.state_type)}};
}

Result<TableSpec> FromWire(const wire::TableDefinition& definition) {
  TableSpec spec;
  spec.name = definition.name;
  spec.dim = definition.dim;
  spec.seed = definition.seed;
  spec.optimizer = {.kind = static_cast<OptimizerKind>(definition.optimizer),
                    .learning_rate = definition.learning_rate,
                    .epsilon = definition.epsilon,
                    .beta1 = definition.beta1,
                    .beta2 = definition.beta2,
                    .initial_accumulator = definition.initial_accumulator};
  if (definition.extension) wire::CopyExtension(*definition.extension, &spec.optimizer);
  spec.initializer = {.kind = static_cast<InitializerKind>(definition.initializer),
                      .scale = definition.initializer_scale};
  spec.ack = static_cast<AckLevel>(definition.ack);
  spec.value_type = static_cast<ElementType>(definition.types.value);
  spec.state_type = static_cast<ElementType>(definition.types.state);
  STRATA_TRY(ValidateTableSpec(spec));
  return spec;
}

wire::StatsReply ToWire(const TableStats& stats) {
  return {.rows = stats.rows,
          .bytes = stats.bytes,
          .lookups = stats.lookups,
          .lookup_hits = stats.lookup_hits,
          .updates = stats.updates,
          .steps = stats.steps,
          .rejected = stats.rejected};
}

TableStats FromWire(const wire::StatsReply& stats) {
  return {.rows = stats.rows,
          .bytes = stats.bytes,
          .lookups = stats.lookups,
          .lookup_hits = stats.lookup_hits,
          .updates = stats.updates,
          .steps = stats.steps,
          .rejected = stats.rejected};
}

}  // namespace strata
