// LightGBM's text models, versions 2 to 4 read and version 4 written, so that each side's
// predictions are those of the other (its gbdt_model_text.cpp and tree.cpp).
#pragma once

#include <string>
#include <string_view>

#include "strata/status.h"
#include "worker/gbdt/model/importance.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

// kInvalid: what the format cannot say of the trees.
Status CheckLightGbmCanSay(const TreeModel& model);

// The whole file. The format has one tree a class in each round, so that of several parallel ones
// (XGBoost's) each becomes a round of its own. Numbers have as many digits as it takes to read the
// same again. Features are named by ModelFeatureNames. kInvalid: what the format cannot say, or two
// names become one.
Result<std::string> WriteLightGbmText(const TreeModel& model,
                                      ImportanceKind importance = ImportanceKind::kSplit);

// `name` stands in messages. kCorrupt: name:line, what was expected and found; nothing of the text
// is trusted: counts, children (no cycles), features, sets.
Result<TreeModel> ReadLightGbmText(std::string_view text, const std::string& name);

}  // namespace strata
