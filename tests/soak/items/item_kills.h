// Collections that are killed while they change: a process of their own opens one, proves that it
// is what its log says, changes, saves and searches it, and is killed at a random moment, also
// while it opens it. What it had acknowledged must be there in the next life, and nothing else.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "tests/soak/report.h"

namespace strata::soak {

struct ItemKillsOptions {
  uint64_t cycles = 0;  // kills
  uint64_t seed = 1;    // a new collection with the next one every kCyclesOfASeed cycles
  bool forget = false;  // removes the images after each kill: the soak must find that
  TimeNs patience = 0;  // whatever takes longer is a hang

  static constexpr uint64_t kCyclesOfASeed = 100;
};

// Of this process no other thread may run.
SoakReport RunItemKills(const ItemKillsOptions& options);

}  // namespace strata::soak
