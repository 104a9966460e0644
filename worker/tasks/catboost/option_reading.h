// What the readers of fit's parameters share.
#pragma once

#include <string_view>

#include "base/settings/settings.h"
#include "strata/status.h"

namespace strata {

// kInvalid: "ORIGIN: key has no effect WHERE: remove it". `where` is as "without test_set".
Status HasNoEffect(const Settings& settings, std::string_view key, std::string_view where);

// A number as float, as CatBoost has all of its parameters.
float FloatOption(const Settings& settings, std::string_view key);

}  // namespace strata
