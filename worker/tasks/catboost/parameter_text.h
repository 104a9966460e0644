// Parameters of a file of JSON as the words of a command line have them.
#pragma once

#include <string>
#include <string_view>

#include "strata/status.h"
#include "worker/gbdt/model/json_at.h"

namespace strata {

// The text of the parameter with this key. Items of lists are parted as the key has it, and of
// features and weights of classes an object has names: "0:1,age:-1". A loss or metric may be
// {"type": "Quantile", "params": {"alpha": 0.3}}, as a model's JSON has it. kCorrupt: the key has
// no such value; its place, expected and found.
Result<std::string> ParameterText(std::string_view key, const JsonAt& value);

}  // namespace strata
