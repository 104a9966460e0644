// Peers that are Python packages: each has a script in bench/peers that prints one JSON object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata::bench {

// What the script prints, run by python3 with these arguments, which hold no blanks nor quotes but
// for the first. kNotFound: there is no python3, or by the script's exit code, 69, no such
// `package`. kFailed: it fails, or prints something else.
Result<nlohmann::json> RunPeerScript(const std::string& script, const std::string& package,
                                     const std::vector<std::string>& arguments);

}  // namespace strata::bench
