// ColumnRoles: which column of a file is the label, a weight, a query, or a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

// Columns by "3" or "name:age"; numbers leave the label's column out (so does LightGBM), the
// label's own excepted.
struct ColumnChoice {
  bool header = false;
  std::string label = {};   // "": the first
  std::string weight = {};  // "": none
  std::string query = {};   // "": none
  std::vector<std::string> ignored = {};
  // Of what is predicted for, the number of features. A file of so many columns has no label, as
  // with LightGBM; elsewhere nobody looks at labels, weights and queries. Labels are NaN.
  std::optional<size_t> predicted_features = std::nullopt;
};

enum class ColumnRole : uint8_t { kFeature, kLabel, kWeight, kQuery, kIgnored };

struct ColumnRoles {
  std::vector<ColumnRole> of;      // by column
  std::vector<std::string> names;  // by feature; empty: none are known
  size_t features = 0;             // columns that are not the label: LightGBM numbers them all
  bool has_label = true;
  bool reads_label = true;  // if there is one

  // `names` of a file's columns, empty without a header. kInvalid: a column that is not there.
  static Result<ColumnRoles> Find(const ColumnChoice& choice, std::vector<std::string> names,
                                  size_t columns, const std::string& path);

  // The names, or Column_0, Column_1, ...
  std::vector<std::string> Names() const;

  bool Reads(ColumnRole role) const {
    return role != ColumnRole::kIgnored && (role != ColumnRole::kLabel || reads_label);
  }
  // The label of a row of which none is read.
  void PutNoLabel(SparseRows* block) const;
  // Puts one value into the last row of the block. "": fine; else what is wrong with it.
  // `feature` counts columns that are not the label.
  const char* Put(ColumnRole role, uint32_t feature, double value, SparseRows* block) const;
};

// Column_0, Column_1, ...
std::vector<std::string> DefaultFeatureNames(size_t features);

}  // namespace strata
