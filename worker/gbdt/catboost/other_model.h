// Models that are given for CatBoost's JSON, and are something else.
#pragma once

#include <string_view>

namespace strata {

// What the text is and what to do with it, for an error behind the file's name; empty: it may well
// be CatBoost's JSON. It knows CatBoost's binary format, and models of LightGBM and XGBoost.
std::string_view OtherModel(std::string_view text);

}  // namespace strata
