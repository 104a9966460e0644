// Peers that are Python packages: each has a script in bench/peers that prints one JSON object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata::bench {

// Runs the script by python3, and returns what it prints. Arguments after the first hold neither
// blanks nor quotes. kNotFound: there is no python3, or by the script's exit code, 69, no such
// `package`. kFailed: it fails, or prints something else.
Result<nlohmann::json> RunPeerScript(const std::string& script, const std::string& package,
                                     const std::vector<std::string>& arguments);

}  // namespace strata::bench
