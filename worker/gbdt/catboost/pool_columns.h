// The columns of a file of rows, as CatBoost's column description says what they are, and which
// feature of a model each of them is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

enum class PoolColumnKind : uint8_t {
  kNumber,
  kCategory,
  kSampleId,
  kLabel,  // this and those below are not read for prediction
  kWeight,
  kGroup,  // ids and weights of groups, and times: what training would have to go by
  kIgnored,
};

struct PoolColumn {
  PoolColumnKind kind = PoolColumnKind::kNumber;
  std::string name;  // of a feature; empty: none is known
};

// Reads a column description, whose lines are "place<tab>type[<tab>name]", for rows of `count`
// fields. It gives `count` columns, and one without a line is a number. `name` and that of the
// rows' file, `rows`, stand in messages. kInvalid: name:line, expected and found; also for features
// of the same name, and types that prediction would have to take into account (Baseline, Text,
// ...).
Result<std::vector<PoolColumn>> ParseColumnDescription(std::string_view text,
                                                       const std::string& name,
                                                       const std::string& rows, size_t count);

// The columns of rows of `count` fields without a column description: a label, then numbers.
std::vector<PoolColumn> DefaultColumns(size_t count);

// What a column is to a model.
struct ModelColumn {
  bool is_read = false;
  size_t feature = 0;  // place in the model's numbers, or categories
};

// Gives a model, which has none yet, a number or a category for each column that is a feature, in
// their order.
std::vector<ModelColumn> AddFeatures(const std::vector<PoolColumn>& columns, CatBoostModel* model);

// Says of each column what it is to the model. Names decide where the columns of features have
// different ones, and those of all features that the model uses are among them. Else the place
// among the features decides, and names that both have must be the same. Only what the model's
// splits and keys use is read, and `categories`, which are places in its list. kInvalid: a feature
// is not there, or is of the other kind. `name` is that of the rows, and stands in messages.
Result<std::vector<ModelColumn>> MatchColumns(const CatBoostModel& model,
                                              const std::vector<PoolColumn>& columns,
                                              const std::string& name,
                                              std::span<const uint32_t> categories = {});

}  // namespace strata
