// DataParameters: which rows are read, and how their values become bins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/data/feature/data_spec.h"
#include "worker/gbdt/data/bin_mapper.h"

namespace strata {

struct DataParameters {
  std::string path;  // of the rows to train on, or to predict
  std::vector<std::string> valid;

  // Of a job file: columns by their names, categories as texts. Nothing: files as LightGBM reads
  // them, with the columns below.
  std::optional<DataSpec> columns;
  bool header = false;
  std::string label_column;
  std::string weight_column;
  std::string group_column;
  std::vector<std::string> ignore_column;
  std::vector<std::string> categorical_feature;  // "3", "name:age"

  BinningRules binning;
  int64_t bin_construct_sample_cnt = 200000;
  int64_t data_random_seed = 1;             // of the sample, and of how gradients are rounded
  std::vector<int64_t> max_bin_by_feature;  // of each feature; empty: max_bin
  std::string forcedbins_filename;
  bool enable_bundle = true;
};

}  // namespace strata
