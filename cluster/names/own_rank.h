// FindRank (cluster/topology/rank.h) fed with what this machine and its resolver say.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

// The rank of this process within `role`: `rank` when given; else the one entry (with `port`, when
// given) one of whose addresses belongs to this machine. Resolving all names takes at most
// `timeout`.
Result<int> DetectOwnRank(const MachineList& list, Role role, std::optional<int> rank,
                          std::optional<uint16_t> port, TimeNs timeout);

}  // namespace strata
