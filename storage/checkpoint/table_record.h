// Between storage's TableSpec and its record in a checkpoint's part.
#pragma once

#include <string>

#include "proto/format/checkpoint_part.h"
#include "storage/table_spec.h"
#include "strata/status.h"

namespace strata {

format::TableRecord ToRecord(const TableSpec& spec, uint32_t since);
// kCorrupt, with `where` before it, for what no table of this build can be.
Result<TableSpec> FromRecord(const format::TableRecord& record, const std::string& where);

}  // namespace strata
