// The parameters of `catboost fit` that `strata-worker` does not take, unless they say what holds
// anyway.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/status.h"

namespace strata {

struct RefusedParameter {
  std::string_view key;
  // Values at which it changes nothing, parted by blanks, as JSON has them; texts without quotes.
  std::string_view idle = {};
  std::string_view why = {};  // "is not there yet"
};

std::span<const RefusedParameter> RefusedParameters();

// The one with this key; null: there is none.
const RefusedParameter* FindRefused(std::string_view key);

// OK where the value changes nothing. Numbers are compared as floats, as CatBoost has them.
// kInvalid: "params.json: langevin = true is not there yet: expected false".
Status CheckRefused(const RefusedParameter& refused, std::string_view value,
                    const std::string& origin);

}  // namespace strata
