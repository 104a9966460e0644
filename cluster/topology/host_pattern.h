// Hosts in Slurm's short form. Pure; `what` is the name of the variable or setting, for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata {

// "node[01-03,07].rack[1-2],login" -> node01.rack1, node01.rack2, node02.rack1, ..., login. A low
// bound that begins with 0 gives the width of all numbers of its range. At most 65,536 hosts.
Result<std::vector<std::string>> ExpandHosts(std::string_view text, std::string_view what);

// Tasks of each host: "2(x3),1" -> 2, 2, 2, 1.
Result<std::vector<int>> ExpandCounts(std::string_view text, std::string_view what);

}  // namespace strata
