// CatBoost's JSON models, as save_model(format="json") of its versions 1.0 to 1.2 writes them.
#pragma once

#include <string>
#include <string_view>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

// Whether the text is JSON of CatBoost rather than of another library; it may be wrong all the
// same.
bool LooksLikeCatBoostJson(std::string_view text);

// `name` stands in messages. kCorrupt: name, the place, expected and found. kInvalid: what is not
// supported (features that are texts or embeddings, CatBoost's binary format).
Result<CatBoostModel> ReadCatBoostJson(std::string_view text, const std::string& name);

// What CatBoost loads and predicts the same with. kInvalid: a table of means whose sums are no
// whole numbers, as with several target borders: CatBoost reads its own files of those wrong, too.
Result<std::string> WriteCatBoostJson(const CatBoostModel& model);

}  // namespace strata
