// What governs how a training learns from categories, under CatBoost's own names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/border_selection.h"

namespace strata {

// A statistic of categories, of which each prior, and each border of the target, makes a column.
struct CtrDescription {
  CtrType type = CtrType::kBorders;
  std::vector<float> priors = {0, 0.5F, 1};        // numerators; the denominators are 1
  size_t border_count = 15;                        // of the column's equal steps: up to 255
  std::optional<size_t> target_border_count = {};  // nothing: CategoryParameters' own
  BorderType target_border_type = BorderType::kMinEntropy;
};

struct CategoryParameters {
  size_t one_hot_max_size = 2;  // categories of more values have statistics
  std::vector<CtrDescription> simple = {};
  std::vector<CtrDescription> combinations = {};
  // Instead of `simple`, by the place of the category among all features.
  std::map<size_t, std::vector<CtrDescription>> per_feature = {};
  size_t target_border_count = 1;
  size_t max_ctr_complexity = 1;  // categories of a combination, and one for all splits
  double model_size_reg = 0.5;
  bool has_time = false;  // rows come in the order of their times
  size_t permutation_count = 4;
  std::optional<size_t> permutation_block =
      {};  // rows that stay together; nothing: CatBoost's choice
};

// Reads descriptions parted by commas, as CatBoost writes them:
// "Borders:TargetBorderCount=2:Prior=0/1:Prior=1/1,Counter". Names of options have any case.
// kInvalid: what was found, and what was expected; also types and options of GPUs alone.
Result<std::vector<CtrDescription>> ParseCtrDescriptions(std::string_view text);

// Reads the same by features, parted by semicolons: "0:Borders,Counter;3:Buckets".
Result<std::map<size_t, std::vector<CtrDescription>>> ParsePerFeatureCtrs(std::string_view text);

}  // namespace strata
