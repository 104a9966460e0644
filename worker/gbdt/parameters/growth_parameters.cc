#include "worker/gbdt/parameters/growth_parameters.h"

#include <algorithm>

namespace strata {

bool GrowthParameters::is_monotone() const {
  return std::ranges::any_of(monotone_constraints, [](int64_t way) { return way != 0; });
}

const char* GrowsOnHost(const GrowthParameters& growth) {
  if (!growth.forcedsplits_filename.empty()) return "forcedsplits_filename";
  if (!growth.is_monotone() || growth.monotone_constraints_method == "basic") return nullptr;
  return growth.monotone_constraints_method == "advanced"
             ? "monotone_constraints_method = advanced"
             : "monotone_constraints_method = intermediate";
}

}  // namespace strata
