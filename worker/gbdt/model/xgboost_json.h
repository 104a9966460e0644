// XGBoost's JSON models (versions 1.0 to 3.2; its doc/model.schema and src/tree/io_utils.h).
#pragma once

#include <string>
#include <string_view>

#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

// Boosters gbtree and dart. Thresholds become those that send every double where XGBoost sends it
// after rounding it to float; base_score is added to the leaves of the first trees. Objectives:
// reg:squarederror, reg:squaredlogerror, reg:absoluteerror, reg:pseudohubererror,
// reg:quantileerror (one quantile), reg:logistic, reg:gamma, reg:tweedie, count:poisson,
// binary:logistic, multi:softprob, rank:*; ours are those that predict the same. What XGBoost takes
// as absent from sparse data is missing there and 0 here. `name` stands in messages. kCorrupt:
// name, the place, expected and found; kInvalid: what is not supported (linear boosters, several
// targets).
Result<TreeModel> ReadXgboostJson(std::string_view text, const std::string& name);

// Leaves are rounded to float, thresholds to the float that sends every float where they do.
// huber, fair, quantile, mape and raw scores become reg:squarederror, which predicts the same.
// kInvalid: what XGBoost cannot say (zero as missing, square roots, one-vs-all).
Result<std::string> WriteXgboostJson(const TreeModel& model);

}  // namespace strata
