// Errors about settings of a job file.
#pragma once

#include <string_view>

#include "base/settings/settings.h"
#include "strata/status.h"

namespace strata {

// An error about a setting's value: the place that gave it, the key, and `what` is wrong with it.
Status Wrong(const Settings& settings, std::string_view key, std::string_view what);

// The same about a key of one [[section]].
Status WrongIn(std::string_view section, const Settings& element, std::string_view key,
               std::string_view what);

}  // namespace strata
