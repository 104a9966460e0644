// Three ways to one number: what training prints for a data set, what task = evaluate says of the
// saved model on it, and the metric by hand from what task = predict writes. With dart, training's
// number is left out where scores tie so nearly that the order of additions decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/soak/trees/tree_case.h"

namespace strata::soak {

struct CaseOutcome {
  uint64_t compared = 0;                 // pairs of numbers
  std::vector<std::string> differences;  // what was not the same, and errors of tasks
};

// Runs the tasks of a case in the folder, which is empty.
CaseOutcome CheckTreeCase(const TreeCase& tree_case, const std::string& folder);

}  // namespace strata::soak
