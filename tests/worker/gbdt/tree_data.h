// Small random training data for the tests of boosting, with the raw values beside the bins.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

struct TreeData {
  std::vector<std::vector<double>> rows;  // features' values
  std::string text;                       // as a file
  std::unique_ptr<TreeDataset> data;

  // Whose rows predict() goes over.
  std::vector<double> Predict(const TreeModel& model, size_t k = 0) const {
    std::vector<double> scores(rows.size(), 0);
    for (size_t row = 0; row < rows.size(); ++row) {
      for (size_t t = k; t < model.trees.size(); t += model.trees_per_iteration) {
        const Tree& tree = model.trees[t];
        scores[row] += tree.leaves[tree.LeafOf(rows[row])].value;
      }
    }
    return scores;
  }
};

// Values are of 20 steps from -1 to 0.9, one in ten of the second feature is missing.
// label(row) of the values.
inline TreeData MakeTreeData(uint64_t seed, size_t rows, size_t features,
                             const std::function<double(const std::vector<double>&)>& label,
                             WorkPool& pool, size_t classes = 1) {
  Random random(seed);
  TreeData out;
  TextDisk disk;
  for (size_t row = 0; row < rows; ++row) {
    std::vector<double> values(features);
    for (double& value : values) value = static_cast<double>(random.Below(20)) / 10 - 1;
    std::string line = fmt::format("{}", label(values));
    if (features > 1 && random.Chance(0.1)) values[1] = std::nan("");
    for (const double value : values) line += fmt::format(",{}", value);
    out.text += line + "\n";
    out.rows.push_back(std::move(values));
  }
  disk.files["data.csv"] = out.text;
  auto source = TextRows::Open(disk, "data.csv", {});
  STRATA_CHECK(source.ok());
  Result<TreeDataset> data =
      LoadTreeDataset(disk, **source, "data.csv",
                      {.binning = {.min_data_in_bin = 1, .pre_filter = false},
                       .classes = classes,
                       .categorical = {}},
                      nullptr, pool);
  STRATA_CHECK(data.ok());
  out.data = std::make_unique<TreeDataset>(std::move(*data));
  return out;
}

inline TreeParameters ParametersOf(const std::string& conf) {
  Result<TreeParameters> parameters = ParseLightGbmConf(conf, "test.conf", {});
  if (!parameters.ok()) ADD_FAILURE() << parameters.status().ToString();
  STRATA_CHECK(parameters.ok());
  return *parameters;
}

}  // namespace strata
