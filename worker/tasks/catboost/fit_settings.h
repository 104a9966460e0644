// The parameters of `catboost fit` that `strata-worker` takes. refused_parameters.h has others.
#pragma once

#include <span>
#include <string_view>

#include "base/settings/settings.h"

namespace strata {

const SettingsTable& FitSettingsTable();

// Other names that CatBoost knows parameters by.
struct FitAlias {
  std::string_view name;
  std::string_view key;
};
std::span<const FitAlias> FitAliases();

// The key of the parameter with this name; a name that is no alias is the key.
std::string_view FitKey(std::string_view name);

}  // namespace strata
