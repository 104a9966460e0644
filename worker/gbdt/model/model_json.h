// A model as JSON, as LightGBM's dump_model has it: for people and other programs. Strata and
// LightGBM read it no more.
#pragma once

#include <string>

#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

// kInvalid: a tree deeper than 1,024 nodes.
Result<std::string> WriteModelJson(const TreeModel& model);

}  // namespace strata
