// JSON output of strata-admin: one object a line, for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace strata::admin {

// With a newline. Text that is no UTF-8 (a peer may send any bytes) gets replacement characters.
std::string JsonLine(const nlohmann::ordered_json& object);

}  // namespace strata::admin
