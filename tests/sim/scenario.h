// One seed of the simulation, from an empty cluster to the verdict.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/sim/ledger.h"
#include "tests/sim/sim_server.h"

namespace strata::sim {

struct SeedResult {
  uint64_t seed = 0;
  uint64_t operations = 0;
  uint64_t acked = 0;
  uint64_t unknown = 0;
  uint64_t processes = 0;  // of servers
  uint64_t kills = 0;      // by the nemesis from outside
  uint64_t power_losses = 0;
  uint64_t checkpoints = 0;  // taken under load
  uint64_t steps = 0;        // of synchronous training
  uint64_t expired = 0;      // sessions of clients
  uint64_t left = 0;         // clients, with all their writes answered
  Findings findings;
  bool hung = false;
  std::string stuck;     // what hung, in words
  uint64_t history = 0;  // the same for the same seed
  bool ok() const { return findings.none() && !hung; }
  // What was found, and how to see it `again`.
  std::string Describe(std::string_view again) const;
};

// Two to three servers and three clients under the nemesis, at least 1,000 operations, checkpoints,
// and perhaps a training group, or windows for fewer clients than there are; the seed chooses.
// `bugs` are planted into every server.
SeedResult RunSeed(uint64_t seed, const Bugs& bugs = {});

}  // namespace strata::sim
