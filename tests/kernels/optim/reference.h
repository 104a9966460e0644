// The formulas of kernels/optim in double, written apart from them.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/optimizer_spec.h"

namespace strata {

struct ReferenceRow {
  std::vector<double> value;
  std::vector<double> state;  // as rules.h lays it out
  uint64_t last_step = 0;
};

double ReferenceRate(const OptimizerSpec& spec, uint64_t step);

// One update of the row with its summed gradient.
void ReferenceStep(const OptimizerSpec& spec, uint64_t step, const std::vector<float>& gradient,
                   ReferenceRow* row);

}  // namespace strata
