// Rows of a table, and which of them exist: the lookup of a TableStore does not say.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "ps/client/lane_exchange.h"
#include "storage/table_spec.h"
#include "strata/status.h"

namespace strata {

struct ExistingRow {
  std::vector<float> values;   // the initial value where there is no row
  std::optional<bool> exists;  // nothing: the key's server is of a version that does not say
};

// In the order of the keys, which may repeat. Blocks. Changes nothing. kNotFound: there is no such
// table; else as LaneExchange::Exchange. For a few keys: servers find their rows one by one.
Result<std::vector<ExistingRow>> LookUpExisting(LaneExchange& lanes, const TableSpec& spec,
                                                std::span<const Key> keys,
                                                TimeNs deadline = kNever);

}  // namespace strata
