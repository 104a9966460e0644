#include "base/json_text.h"

#include <cmath>

namespace strata {
namespace {

template <typename Json>
Json Parse(std::string_view text) {
  if (NestsTooDeep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

bool NestsTooDeep(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepthMax) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

nlohmann::json ParseJson(std::string_view text) { return Parse<nlohmann::json>(text); }
nlohmann::ordered_json ParseOrderedJson(std::string_view text) {
  return Parse<nlohmann::ordered_json>(text);
}

nlohmann::ordered_json JsonNumber(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace strata
