// Figures as text: a JSON line each, or rows of a table.
#pragma once

#include <string>
#include <string_view>

#include "bench/harness/figure.h"

namespace strata::bench {

// {"suite", "case", "unit", "ours", "peer", "peer_value", "source", "limit", "ratio", "device"};
// what there is none of is null.
std::string JsonLine(std::string_view suite, const Figure& figure, std::string_view device);

// Columns: case, unit, ours, peer, its value, ratio, limit, share of it.
std::string TableHead();
std::string TableRow(const Figure& figure);

}  // namespace strata::bench
