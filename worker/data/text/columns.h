// ColumnPlan: the job file's names matched with the columns that a data file has.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "strata/status.h"
#include "worker/data/feature/data_spec.h"

namespace strata {

struct ColumnPlan {
  static constexpr size_t kNone = static_cast<size_t>(-1);

  std::vector<std::string> names;  // of all columns, in file order
  size_t label = kNone;            // kNone only where labels are not required
  size_t weight = kNone;
  size_t query = kNone;
  size_t group = kNone;
  std::vector<size_t> feature_columns;  // of each feature of the spec
  std::vector<size_t> numeric_columns;  // those that must hold numbers, each once, ascending
};

// Every column must be a feature, the label, the weight or ignored, and every name of the spec must
// be a column: anything else is kInvalid, names the column, and begins with `where` (the file and
// line that lists the columns). Without `labels_required` the columns of the label, the
// weight, the query and the group may be absent.
Result<ColumnPlan> PlanColumns(std::span<const std::string> columns, const DataSpec& spec,
                               const std::string& where, bool labels_required);

}  // namespace strata
