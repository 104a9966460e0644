// Which entry of the machine list this process is. Pure: the caller brings what it knows of the
// machine (cluster/names finds it out).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

struct RankClues {
  std::optional<int> rank;       // --rank: decides alone
  std::optional<uint16_t> port;  // --port: only entries with this port come into question
  std::vector<std::string> local_addresses;  // numeric, of this machine's interfaces
  // Numeric addresses of each entry of list.Of(role), in rank order; empty where the name has none.
  std::vector<std::vector<std::string>> entry_addresses;
};

// The rank within `role`. kInvalid when --rank is out of range, when no entry has an address of
// this machine (the text says which were compared), or when more than one has.
Result<int> FindRank(const MachineList& list, Role role, const RankClues& clues);

}  // namespace strata
