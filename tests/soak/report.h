// What a soak found: the line of JSON that each kind of ./dev soak ends with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "strata/status.h"
#include "tests/soak/findings.h"

namespace strata::soak {

struct SoakReport {
  std::string soak;
  uint64_t cycles = 0;
  uint64_t seeds = 0;
  uint64_t operations = 0;
  uint64_t acked = 0;
  uint64_t restarts = 0;
  uint64_t at_copies = 0;  // of a collection: queries for which a lane searched copies
  uint64_t checkpoints = 0;
  uint64_t hangs = 0;
  uint64_t sessions_lost = 0;  // connections that a client had to give up
  Findings findings;
  TimeNs elapsed = 0;
  std::string more;  // further members of the JSON, ", \"name\": ..."

  bool clean() const { return findings.none() && hangs == 0 && sessions_lost == 0; }
};

std::string ToJson(const SoakReport& report);

// "name": count, ...: members of a JSON object.
std::string CountsJson(const std::map<std::string, uint64_t>& counts);

// Counts an error: kDeadlineExceeded as a hang, the rest as wrong; and says it on stderr.
void Count(const Status& status, SoakReport* report);

// Runs `cycles` in all, a hundred a seed from `first_seed` on, each time `run` of a seed and as
// many cycles, which it counts in the report; until one ends in an error, which is counted.
using SeedRun = std::function<Status(uint64_t seed, uint64_t cycles, SoakReport* report)>;
SoakReport RunSeeds(const std::string& soak, uint64_t first_seed, uint64_t cycles,
                    const SeedRun& run);

}  // namespace strata::soak
