// Where the rows of tables lie, tier by tier, for strata-admin stats.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "proto/control/control.pb.h"

namespace strata::admin {

// One table over all servers that answered, by name.
using TableSums = std::map<std::string, control::TableStatus>;

// Adds what one server tells of a table's tiers. One of a version before tiers tells nothing.
void AddTiers(const control::TableStatus& part, control::TableStatus* sum);

// {"hot": {"rows", "bytes", "hits", "rows_in", "bytes_in"}, "warm": ..., "cold": ...}
nlohmann::ordered_json TiersJson(const control::TableStatus& table);

// "97.5 %"; "-" of nothing.
std::string Percent(uint64_t part, uint64_t whole);

// For people: a line for each tier of each table that has used another one than host memory, or of
// all when `all`, behind an empty line; "" when there is none. The hit rate of tier hot is that of
// the keys looked up; those of the tiers below are of the keys that one of them had.
std::string TiersText(const TableSums& tables, bool all);

}  // namespace strata::admin
