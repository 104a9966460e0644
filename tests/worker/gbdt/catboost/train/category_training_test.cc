// Trainings from categories whose rows are permuted, held against plain sums over rows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/file/text_file.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/train/training_case.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/train/row_orders.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr size_t kTownRows = 400;
constexpr uint64_t kTownSeed = 17;

struct TownRow {
  float label = 0;
  std::string town;
  std::string kind;
};

std::vector<TownRow> MakeTowns() {
  std::mt19937_64 random(3);
  std::vector<TownRow> rows(kTownRows);
  for (TownRow& row : rows) {
    const uint64_t town = random() % 6;
    const uint64_t kind = random() % 5;
    row = {.label = static_cast<float>(6 * ((town + kind) % 3) + town + random() % 5) / 4,
           .town = fmt::format("t{}", town),
           .kind = fmt::format("k{}", kind)};
  }
  return rows;
}

class CategoryTrainingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (const TownRow& row : rows_) {
      text += fmt::format("{}\t{}\t{}\n", row.label, row.town, row.kind);
    }
    Write("learn.tsv", text);
    Write("rows.cd", "0\tLabel\n1\tCateg\n2\tCateg\n");
    Write("params.json", fmt::format(R"({{"loss_function": "RMSE", "iterations": 12, "depth": 4,
                 "learning_rate": 0.3, "bootstrap_type": "No", "random_strength": 0,
                 "random_seed": {}, "max_ctr_complexity": 2, "model_size_reg": 0,
                 "simple_ctr": "Borders", "combinations_ctr": "Borders:Prior=1"}})",
                                     kTownSeed));
  }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(disk_, path, text).ok());
  }

  std::string Train(const std::vector<std::string>& words) {
    const auto result = TrainFromFiles(disk_, words);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    const Result<std::string> text = ReadFile(disk_, "model.json", 1 << 24);
    return text.ok() ? *text : text.status().ToString();
  }

  void ExpectError(const std::vector<std::string>& words, const std::string& message) {
    EXPECT_THAT(TrainFromFiles(disk_, words).status().message(), HasSubstr(message));
  }

  SimDisk disk_;
  const std::vector<TownRow> rows_ = MakeTowns();
};

// Bins of the share of labels above the border among the rows before, with the same texts.
std::vector<size_t> PlainBins(const std::vector<std::string>& keys,
                              const std::vector<bool>& is_above, const RowOrder& order,
                              float prior) {
  std::map<std::string, std::pair<float, float>> seen;  // good, total
  std::vector<size_t> bins(keys.size());
  for (const uint32_t row : order) {
    auto& [good, total] = seen[keys[row]];
    bins[row] = static_cast<size_t>((good + prior) / (total + 1) * 15);
    good += is_above[row] ? 1.0F : 0.0F;
    ++total;
  }
  return bins;
}

// Labels above the border that parts them at the least sum of w * ln(w) of two parts.
std::vector<bool> AboveTheBorder(const std::vector<TownRow>& rows) {
  std::map<float, double> counts;
  for (const TownRow& row : rows) ++counts[row.label];
  double below = 0;
  double least = INFINITY;
  float border = 0;
  for (auto at = counts.begin(); std::next(at) != counts.end(); ++at) {
    below += at->second;
    const double above = kTownRows - below;
    const double cost = below * std::log(below) + above * std::log(above);
    if (cost >= least) continue;
    least = cost;
    border = (at->first + std::next(at)->first) / 2;
  }
  std::vector<bool> is_above;
  for (const TownRow& row : rows) is_above.push_back(row.label > border);
  return is_above;
}

std::vector<std::string> KeysOf(const std::vector<TownRow>& rows,
                                const std::vector<uint32_t>& categories) {
  std::vector<std::string> keys;
  for (const TownRow& row : rows) {
    keys.emplace_back();
    for (const uint32_t category : categories) keys.back() += category == 0 ? row.town : row.kind;
  }
  return keys;
}

// Of each row which leaf of the tree it is in, where rows come in the order.
std::vector<size_t> PlainLeaves(const CatBoostModel& model, const CatBoostTree& tree,
                                const std::vector<TownRow>& rows, const RowOrder& order) {
  std::vector<size_t> leaves(kTownRows);
  const std::vector<bool> is_above = AboveTheBorder(rows);
  for (size_t k = 0; k < tree.splits.size(); ++k) {
    const CatBoostSplit& split = model.splits[tree.splits[k]];
    const CatBoostCtr& ctr = model.ctrs[split.of];
    const CtrProjection& projection = model.tables[ctr.table].projection;
    EXPECT_TRUE(projection.splits.empty());
    const std::vector<size_t> bins =
        PlainBins(KeysOf(rows, projection.categories), is_above, order, ctr.prior_numerator);
    for (size_t row = 0; row < kTownRows; ++row) {
      const bool bit = static_cast<float>(bins[row]) > ctr.borders[split.place] - 0.999999F;
      leaves[row] |= size_t{bit} << k;
    }
  }
  return leaves;
}

// Rows of one leaf with what is left of their labels.
struct PlainLeaf {
  double sum = 0;
  double weight = 0;
  double value() const { return sum / (weight + 3); }
};

std::vector<PlainLeaf> SumLeavesOf(const std::vector<size_t>& leaves, size_t count,
                                   const std::vector<TownRow>& rows,
                                   const std::vector<double>& raw) {
  std::vector<PlainLeaf> sums(count);
  for (size_t row = 0; row < kTownRows; ++row) {
    sums[leaves[row]].sum += rows[row].label - raw[row];
    ++sums[leaves[row]].weight;
  }
  return sums;
}

// The model's leaves are those of the averaging fold, the last order of the rows.
TEST_F(CategoryTrainingTest, LeavesAreThoseOfTheAveragingFold) {
  const Result<CatBoostModel> model = ReadCatBoostJson(Train({}), "model.json");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  Random random(kTownSeed);
  const RowOrder order = MakeRowOrders({}, kTownRows, &random).back();
  std::vector<double> raw(kTownRows, model->bias[0]);
  for (const CatBoostTree& tree : model->trees) {
    const std::vector<size_t> leaves = PlainLeaves(*model, tree, rows_, order);
    const std::vector<PlainLeaf> sums = SumLeavesOf(leaves, tree.values.size(), rows_, raw);
    for (size_t leaf = 0; leaf < sums.size(); ++leaf) {
      EXPECT_EQ(tree.weights[leaf], sums[leaf].weight);
      EXPECT_NEAR(tree.values[leaf], 0.3F * sums[leaf].value(), 1e-12);
    }
    for (size_t row = 0; row < kTownRows; ++row) raw[row] += tree.values[leaves[row]];
  }
  const auto is_combined = [](const CtrTable& table) {
    return table.projection.categories.size() == 2;
  };
  EXPECT_TRUE(std::ranges::any_of(model->tables, is_combined));
}

// Each split has the largest score in the fold that is drawn, after the leaves of that fold.
TEST_F(CategoryTrainingTest, SplitsAreSearchedInALearningFold) {
  const Result<CatBoostModel> model =
      ReadCatBoostJson(Train({"permutation_count=3", "depth=1", "iterations=40"}), "model.json");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  Random random(kTownSeed);
  const std::vector<RowOrder> orders = MakeRowOrders({.permutation_count = 3}, kTownRows, &random);
  const std::vector<bool> is_above = AboveTheBorder(rows_);
  std::vector<std::vector<double>> raws(2, std::vector<double>(kTownRows, model->bias[0]));
  const auto score_of = [&](const std::vector<size_t>& leaves, const std::vector<double>& raw) {
    double gain = 0;
    double norm = 0;
    for (const PlainLeaf& leaf : SumLeavesOf(leaves, 2, rows_, raw)) {
      gain += leaf.value() * leaf.sum;
      norm += leaf.value() * leaf.value() * leaf.weight;
    }
    return gain / std::sqrt(norm);
  };
  for (const CatBoostTree& tree : model->trees) {
    const size_t fold = random.Below(2);
    const double score = score_of(PlainLeaves(*model, tree, rows_, orders[fold]), raws[fold]);
    for (const uint32_t category : {0U, 1U}) {
      for (const float prior : {0.0F, 0.5F, 1.0F}) {
        const std::vector<size_t> bins =
            PlainBins(KeysOf(rows_, {category}), is_above, orders[fold], prior);
        for (size_t border = 0; border < 15; ++border) {
          std::vector<size_t> other(kTownRows);
          for (size_t row = 0; row < kTownRows; ++row) other[row] = bins[row] > border ? 1 : 0;
          EXPECT_LE(score_of(other, raws[fold]), score * (1 + 1e-6));
        }
      }
    }
    for (size_t f = 0; f < 2; ++f) {
      const std::vector<size_t> leaves = PlainLeaves(*model, tree, rows_, orders[f]);
      const std::vector<PlainLeaf> sums = SumLeavesOf(leaves, 2, rows_, raws[f]);
      for (size_t row = 0; row < kTownRows; ++row) raws[f][row] += 0.3F * sums[leaves[row]].value();
    }
  }
}

TEST_F(CategoryTrainingTest, ThreadsDoNotShow) {
  const std::string one = Train({"thread_count=1"});
  EXPECT_EQ(Train({"thread_count=2"}), one);
  EXPECT_EQ(Train({"thread_count=5"}), one);
}

TEST_F(CategoryTrainingTest, ParametersChangeTheModel) {
  const std::string before = Train({});
  for (const char* word :
       {"random_seed=18", "has_time=true", "permutation_count=2", "fold_permutation_block=50",
        "max_ctr_complexity=1", "model_size_reg=5", "one_hot_max_size=5",
        "ctr_target_border_count=2", "simple_ctr=Counter", "combinations_ctr=Counter",
        "per_feature_ctr=0:Buckets:Prior=0.1", "ignored_features=1", "feature_weights=0:0.1",
        "first_feature_use_penalties=0:100", "rsm=0.5", "random_strength=1"}) {
    EXPECT_NE(Train({word}), before) << word;
  }
}

TEST_F(CategoryTrainingTest, WrongParametersAreNamed) {
  ExpectError({"simple_ctr=Border"}, "command line: simple_ctr: expected Borders, Buckets");
  ExpectError({"combinations_ctr=Borders:Prior=x"},
              "command line: combinations_ctr: Borders: Prior");
  ExpectError({"per_feature_ctr=x:Borders"}, "per_feature_ctr: expected the place of a feature");
  ExpectError({"per_feature_ctr=2:Borders"},
              "per_feature_ctr: feature 2 is no category: expected the place of one among the 2");
  ExpectError({"monotone_constraints=1:1"},
              "monotone_constraints: feature 1 is a category: expected a number");
  ExpectError({"ignored_features=0:1"}, "learn.tsv: no split is possible");
  ExpectError({"counter_calc_method=Full"}, "counter_calc_method = Full is not there yet");
  ExpectError({"ctr_leaf_count_limit=5"}, "ctr_leaf_count_limit = 5 is not there yet");
  Write("params.json", R"({"simple_ctr": ["Borders", 1], "random_strength": 0})");
  ExpectError({},
              "params.json: simple_ctr: expected Borders, Buckets, BinarizedTargetMeanValue or "
              "Counter, found '1'");
}

}  // namespace
}  // namespace strata
