// CatBoost's JSON models, as save_model(format="json") of its versions 1.0 to 1.2 writes them.
#pragma once

#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

// Reads a model; `name` stands in messages. kCorrupt: name, the place, expected and found.
// kInvalid: what is not supported (features that are texts or embeddings, CatBoost's binary
// format).
Result<CatBoostModel> ReadCatBoostJson(std::string_view text, const std::string& name);

// The model of a file of up to 16 GiB. Errors of the disk as they come.
Result<CatBoostModel> ReadCatBoostFile(Disk& disk, const std::string& path);

// Writes JSON that CatBoost loads, and with which it predicts the same. kInvalid: a table of means
// holds sums that are no whole numbers, which CatBoost would read as other numbers.
Result<std::string> WriteCatBoostJson(const CatBoostModel& model);

}  // namespace strata
