// The options of strata-admin topology cost.
#pragma once

#include <string>
#include <vector>

#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

// As they stand on the command line. The defaults are those of TCP over 10 Gbit/s, and of one core
// that adds floats.
struct CostWords {
  std::string operation;
  std::vector<std::string> bytes = {"8",      "64",   "512",   "4KiB",  "32KiB",
                                    "256KiB", "2MiB", "16MiB", "128MiB"};
  std::string alpha = "20us";
  std::string beta = "0.8";             // ns
  std::string gamma = "0.04";           // ns
  std::vector<std::string> late;        // RANK:DURATION
  std::vector<std::string> slow_ranks;  // RANK:FACTOR
  std::vector<std::string> slow_links;  // A-B:FACTOR
};

// kInvalid names the option. Ranks are checked where the world is known.
Result<CostRequest> ReadCostOptions(const CostWords& words);

}  // namespace strata::admin
