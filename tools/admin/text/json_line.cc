#include "tools/admin/text/json_line.h"

#include <nlohmann/json.hpp>

namespace strata::admin {

std::string JsonLine(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace strata::admin
