// What this project does with table specs beyond what users see (strata/table_spec.h).
#pragma once

#include <string>
#include <string_view>

#include "storage/optimizer_fields.h"
#include "storage/row_schema.h"
#include "strata/status.h"
#include "strata/table_spec.h"

namespace strata {

// kInvalid unless it is 1 to 128 of A-Z a-z 0-9 _ . -; `what` is named ("table name").
Status ValidateName(std::string_view what, const std::string& name);

RowSchema SchemaOf(const TableSpec& spec);

// "dim 8 here, 16 asked for; seed ...": what an error about two specs of one name says. Empty when
// they are equal.
std::string DifferenceOf(const TableSpec& ours, const TableSpec& theirs);

}  // namespace strata
