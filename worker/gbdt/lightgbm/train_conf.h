// LightGBM's train.conf: parameters by its names, aliases and defaults (its docs/Parameters.rst).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/gbdt/lightgbm/given_parameters.h"

namespace strata {

// Reads `text` as train.conf (key = value, # comments), `overrides` ("key=value") win. kInvalid: as
// MakeTreeParameters, with file:line. `config` in a file names another file, which is not read, as
// in LightGBM, and is warned of.
Result<TreeParameters> ParseLightGbmConf(std::string_view text, const std::string& file,
                                         std::span<const std::string> overrides);

// The same from a file. Paths in it are relative to the working directory, as LightGBM has it.
Result<TreeParameters> LoadLightGbmConf(Disk& disk, const std::string& path,
                                        std::span<const std::string> overrides);

}  // namespace strata
