// ColumnRoles: which column of a file is the label, a weight, a query, or a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

// What a feature's values are, where one can tell.
enum class KnownKind : uint8_t { kUnknown, kNumber, kCategory };

// The features that rows are read for: those of a model, or of training data.
struct ExpectedFeatures {
  std::vector<std::string> names;     // of all, by number
  std::vector<bool> needed;           // whether trees may look at it; others may be missing
  std::string owner;                  // for messages: "the model m.txt"
  std::vector<KnownKind> kinds = {};  // of all; empty: unknown

  // Whether each has a name of its own, and they are more than Column_0, Column_1, ...
  bool have_names() const;
  // Whether a header's columns are to be found by these names.
  bool MatchByName(std::span<const std::string> header) const;
  // "3 features (a, b, c)"
  std::string Text() const;
};

// "a, b, c", of many the first ones and how many others there are.
std::string ShownNames(std::span<const std::string> names);

// Columns by "3" or "name:age"; numbers leave the label's column out (so does LightGBM), the
// label's own excepted.
struct ColumnChoice {
  bool header = false;
  std::string label = {};   // "": the first
  std::string weight = {};  // "": none
  std::string query = {};   // "": none
  std::vector<std::string> ignored = {};
  // Null: the file says which features there are. Else a header's columns are matched with these by
  // name, if both have names, and there must be as many columns otherwise.
  const ExpectedFeatures* expected = nullptr;
  // Nobody looks at labels, weights and queries, which need not be there; labels are NaN. Without
  // names, a file of as many columns as features are expected has no label, as with LightGBM.
  bool predicts = false;
  // Features that are missing are 0, and others are passed over.
  bool any_width = false;
};

enum class ColumnRole : uint8_t { kFeature, kLabel, kWeight, kQuery, kIgnored };

struct ColumnRoles {
  std::vector<ColumnRole> of;        // by column
  std::vector<uint32_t> feature_of;  // by column: which feature it is, or would be
  std::vector<std::string> names;    // by feature; empty: none are known
  // Columns that are not the label, as LightGBM numbers them all; or those that were expected.
  size_t features = 0;
  bool has_label = true;
  bool reads_label = true;  // if there is one

  // `names` of a file's columns, empty without a header. kInvalid: a column that is missing, and
  // columns that are not those that were expected; names both.
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
  const char* Put(ColumnRole role, uint32_t feature, double value, SparseRows* block) const;
};

// Column_0, Column_1, ...
std::vector<std::string> DefaultFeatureNames(size_t features);

}  // namespace strata
