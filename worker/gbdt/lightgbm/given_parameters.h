// Parameters from keys and values as LightGBM names them, wherever they were given.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strata/status.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// A key, its value as text, and where it was given ("train.conf:3", "command line").
struct GivenParameter {
  std::string key;
  std::string value;
  std::string origin;
};

// Parameters from what was given, each key once; `file` stands in messages about several of them.
// kInvalid: the place, the key, expected and found. A key that LightGBM knows and Strata does not
// support is refused unless it has no effect at the value given.
Result<TreeParameters> MakeTreeParameters(std::span<const GivenParameter> given,
                                          const std::string& file);

// A key or a value without the blanks and quotes around it.
std::string_view Trimmed(std::string_view text);

}  // namespace strata
