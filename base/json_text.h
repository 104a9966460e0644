// These functions parse JSON that somebody else has written: a file, a peer, a user. Nothing else
// parses it. JsonNumber writes numbers that JSON may not have.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace strata {

// Readers of values (printing, comparing, freeing) go down as deep as these nest, a call of a
// function for each level. What the project writes nests less than ten deep.
inline constexpr int kJsonDepthMax = 64;

// Whether arrays and objects of the text nest deeper than that, whether or not it is JSON.
bool NestsTooDeep(std::string_view json);

// The value; discarded (nlohmann's is_discarded, and no object, array or other kind) if the text is
// no JSON, or nests too deep. Of an ordered one members keep their order.
nlohmann::json ParseJson(std::string_view text);
nlohmann::ordered_json ParseOrderedJson(std::string_view text);

// The number; null for NaN and infinities, which JSON does not have.
nlohmann::ordered_json JsonNumber(double value);

}  // namespace strata
