// Between storage's TableSpec and its form on the wire. Used by client and server.
#pragma once

#include "proto/wire/commands.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

wire::TableDefinition ToWire(const TableSpec& spec);
// kInvalid for what ValidateTableSpec refuses, unknown optimizers and initializers among it.
Result<TableSpec> FromWire(const wire::TableDefinition& definition);

wire::StatsReply ToWire(const TableStats& stats);
TableStats FromWire(const wire::StatsReply& stats);

}  // namespace strata
