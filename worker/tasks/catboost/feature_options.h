// The parameters of `catboost fit` that speak of single features.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// The text of such a parameter from a list or an object of JSON, as the command line has it:
// "(1,0,-1)", "0:1,age:-1", or "3:age" of ignored_features. Nothing: the key is another one, or
// what is in there is neither a number nor a text.
std::optional<std::string> FeatureText(std::string_view key, const nlohmann::json& value);

// Sets `features` by feature_weights, first_feature_use_penalties, penalties_coefficient,
// monotone_constraints and ignored_features, which the settings have rows of. Loss and leaf method
// are set before. kInvalid: a text of another form, a number that the parameter cannot have, or
// monotone_constraints of a loss or leaf method that lacks them.
Status SetFeatureRules(const Settings& settings, FitParameters* parameters);

}  // namespace strata
