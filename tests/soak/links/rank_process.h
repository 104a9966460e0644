// A rank as a process of its own: links up, does the load until it fails or all are told to leave,
// takes its links down and looks at what they left in the process.
#pragma once

#include <cstdint>

#include "cluster/link/connect/listener.h"
#include "cluster/link/links.h"
#include "tests/soak/links/rank_board.h"

namespace strata::soak {

// Ends the process. Everything that is to be known of it stands on the board.
[[noreturn]] void RunRankProcess(LinkOptions options, Listener listener, uint64_t seed,
                                 RankBoard* board);

}  // namespace strata::soak
