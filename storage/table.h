// What implementations of TableStore (strata/table_store.h) share.
#pragma once

#include "base/clock.h"
#include "storage/row_schema.h"
#include "storage/table_spec.h"
#include "strata/status.h"
#include "strata/table_store.h"

namespace strata {

// What every implementation checks first: shapes of the parts, no table twice, an ack level that is
// offered, a step of 1 or more, the rank below the world. kInvalid or kRefused names what is wrong.
Status ValidateOperation(const Operation& operation);

// What an implementation checks for each part once it knows the table: the spans' sizes against its
// dimension. `part` has passed ValidateOperation.
Status ValidatePart(OpKind kind, const TablePart& part, const TableSpec& spec);

}  // namespace strata
