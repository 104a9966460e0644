// The statistics of categories in CatBoost's JSON: the tables of "ctr_data", and the numbers made
// of them in "features_info"."ctrs".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/model/json_at.h"

namespace strata {

// Fills the model's tables and ctrs, and lists their splits after those of the features, which are
// there. kCorrupt: the place, expected and found.
Status ReadCtrs(const JsonAt& document, CatBoostModel* model);

// Puts both into the document. kInvalid: as WriteCatBoostJson.
Status WriteCtrs(const CatBoostModel& model, nlohmann::json* document);

}  // namespace strata
