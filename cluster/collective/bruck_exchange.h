// Bruck's all-to-all: blocks that travel by way of other ranks.
#pragma once

#include <span>
#include <vector>

#include "cluster/collective/engine.h"

namespace strata {

// sizes[s * world + d] is what rank s has for rank d, in bytes; all ranks have the same ones.
// Blocks of `call.from` are by destination, those of `call.into` by source. Each round moves half
// of all blocks and needs memory for as many, which lies in workspace->bytes.
Status RunBruckAllToAll(Exchanger& exchanger, const ScheduleCall& call,
                        std::span<const size_t> sizes, Workspace* workspace);

}  // namespace strata
