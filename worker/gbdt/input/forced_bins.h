// The file of forcedbins_filename, as LightGBM has it: bounds that bins have in any case.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// The bounds of each feature in [{"feature": 0, "bin_upper_bound": [0.3, 0.5]}, ...]; none without
// a path. kNotFound: no such file; kCorrupt: what does not fit.
Result<std::map<size_t, std::vector<double>>> ReadForcedBins(Disk& disk, const std::string& path);

}  // namespace strata
