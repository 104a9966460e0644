// Predictions against what CatBoost says, and against a plain reading of a model row by row.
#include "worker/gbdt/catboost/catboost_predictor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/catboost/golden_catboost.h"
#include "tests/worker/gbdt/catboost/reference_catboost.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/category_hash.h"
#include "worker/gbdt/catboost/prediction_type.h"

namespace strata {
namespace {

// Float arithmetic of statistics decides which leaf a row reaches, so that those may not be apart
// either.
void ExpectNear(std::span<const double> found, const nlohmann::json& expected, double tolerance,
                const std::string& where) {
  ASSERT_EQ(found.size(), expected.size() * expected.at(0).size()) << where;
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t width = expected.at(0).size();
    const double want = NumberOf(expected[i / width][i % width]);
    if (found[i] == want) continue;
    EXPECT_NEAR(found[i], want, tolerance) << where << " number " << i;
  }
}

TEST(CatBoostPredictor, GoldenModelsPredictWhatCatBoostPredicts) {
  for (const char* name : kGoldenCatBoost) {
    const CatBoostModel model = GoldenCatBoost(name);
    const std::vector<double> raw = RawOf(model, RowsFor(model, GoldenCatBoostCells()));
    const nlohmann::json expected = GoldenCatBoostExpected(name);
    for (const auto& [type, values] : expected.items()) {
      const Result<PredictedValues> predicted = PredictedValues::Make(model, type);
      ASSERT_TRUE(predicted.ok()) << predicted.status().ToString();
      std::vector<double> found(raw.size() / model.outputs * predicted->columns());
      std::string classes;
      for (size_t row = 0; row < raw.size() / model.outputs; ++row) {
        const std::span<double> of_row =
            std::span(found).subspan(row * predicted->columns(), predicted->columns());
        predicted->Of(std::span(raw).subspan(row * model.outputs, model.outputs), of_row);
        if (type != "Class") continue;
        std::string text;
        predicted->AppendText(of_row, &text);
        const nlohmann::json& label = values[row][0];
        EXPECT_EQ(text, label.is_string() ? label.get<std::string>() : label.dump())
            << name << " row " << row;
      }
      if (type != "Class") ExpectNear(found, values, 1e-12, fmt::format("{} {}", name, type));
    }
  }
}

// ../shared/oracles/catboost beside the repository, where it is: cases of CatBoost 1.2.10.
TEST(CatBoostPredictor, OracleCasesPredictWhatCatBoostPredicts) {
  const std::filesystem::path folder = STRATA_SOURCE_DIR "/../shared/oracles/catboost";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  std::vector<std::map<std::string, std::string>> data;
  std::istringstream lines(ReadWholeFile(folder / "data.csv"));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream fields(line);
    for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(cell);
    if (names.empty()) {
      names = cells;
      continue;
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i == 0) data.emplace_back();
      data.back()[names[i]] = cells[i];
    }
  }
  ASSERT_EQ(data.size(), 500U);
  size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const nlohmann::json json = nlohmann::json::parse(ReadWholeFile(entry.path()));
    if (!json.contains("case")) continue;
    ++cases;
    const std::string name = json["case"];
    const Result<CatBoostModel> model = ReadCatBoostJson(json["model"].dump(), name);
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    const auto expect = [&](size_t begin, size_t end, nlohmann::json expected) {
      std::vector<std::vector<std::string>> cells;
      for (size_t row = begin; row < end; ++row) {
        cells.emplace_back();
        for (const std::string feature : json["features"]) {
          cells.back().push_back(data[row][feature]);
        }
      }
      for (nlohmann::json& value : expected) {
        if (!value.is_array()) value = nlohmann::json::array({value});
      }
      ExpectNear(RawOf(*model, RowsFor(*model, cells)), expected,
                 model->ctrs.empty() ? 1e-12 : 1e-9, name);
    };
    expect(0, 30, json["train_raw"]);
    expect(400, 500, json["test_raw"]);
  }
  EXPECT_EQ(cases, 24U);
}

class RandomModel {
 public:
  explicit RandomModel(uint32_t seed) : random_(seed) {}

  CatBoostModel Make() {
    CatBoostModel model;
    model.oblivious = Below(2) == 0;
    model.outputs = 1 + Below(3);
    model.scale = 0.5 + Unit();
    for (size_t k = 0; k < model.outputs; ++k) model.bias.push_back(Unit());
    const size_t numbers = 1 + Below(4);
    for (uint32_t f = 0; f < numbers; ++f) {
      model.numbers.push_back({.id = "",
                               .index = f,
                               .flat_index = 2 * f,
                               .borders = Borders(Below(3) == 0 ? 600 : Below(9)),
                               .has_nans = true,
                               .nan = static_cast<NanTreatment>(Below(3))});
    }
    for (uint32_t c = 0; c < 3; ++c) {
      model.categories.push_back(
          {.id = "", .index = c, .flat_index = 2 * c + 1, .values = {}, .string_values = {}});
      const size_t values = c == 0 ? 300 : Below(3);
      for (size_t v = 0; v < values; ++v) {
        model.categories.back().values.push_back(
            static_cast<int32_t>(CategoryHash(fmt::format("{}", v))));
      }
    }
    model.ListFeatureSplits();
    feature_splits_ = model.splits.size();
    for (size_t t = 0; t < 4; ++t) AddTable(&model);
    model.ListCtrSplits();
    if (model.splits.empty()) return Make();
    for (size_t t = 0; t < 12; ++t) model.trees.push_back(Tree(model));
    return model;
  }

  CatBoostRows Rows(const CatBoostModel& model, size_t count) {
    CatBoostRows rows(model, count);
    for (size_t row = 0; row < count; ++row) {
      for (size_t f = 0; f < model.numbers.size(); ++f) {
        const std::vector<float>& borders = model.numbers[f].borders;
        float value = static_cast<float>(4 * Unit() - 2);
        if (!borders.empty() && Below(3) == 0) value = borders[Below(borders.size())];
        rows.Number(f)[row] = Below(8) == 0 ? NAN : value;
      }
      for (size_t c = 0; c < model.categories.size(); ++c) {
        rows.Category(c)[row] = CategoryHash(fmt::format("{}", Below(c == 0 ? 320 : 4)));
      }
    }
    return rows;
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  double Unit() { return static_cast<double>(random_()) / 4294967296.0; }

  std::vector<float> Borders(size_t count) {
    std::set<float> borders;
    while (borders.size() < count) borders.insert(static_cast<float>(4 * Unit() - 2));
    return {borders.begin(), borders.end()};
  }

  void AddTable(CatBoostModel* model) {
    CtrTable table;
    table.type = static_cast<CtrType>(model->tables.size() + Below(3));
    table.projection.categories.push_back(static_cast<uint32_t>(Below(3)));
    if (Below(2) == 0) table.projection.categories.push_back(static_cast<uint32_t>(Below(3)));
    std::set<uint32_t> splits;
    if (feature_splits_ > 0) splits.insert(static_cast<uint32_t>(Below(feature_splits_)));
    table.projection.splits.assign(splits.begin(), splits.end());
    for (const CtrTable& other : model->tables) {
      if (other.type == table.type && other.projection == table.projection) return;
    }
    table.width = table.IsMean() ? 2 : table.IsCount() ? 1 : 2 + Below(3);
    table.denominator = table.IsCount() ? 50 : 0;
    // Keys that rows have, as the reference below makes them; and some that none has.
    std::set<uint64_t> keys = {0, ~uint64_t{0}};
    const CatBoostRows rows = Rows(*model, 60);
    model->tables.push_back(table);
    for (size_t row = 0; row < rows.rows(); ++row) {
      keys.insert(ReferenceKey(*model, table, rows, row));
    }
    CtrTable& added = model->tables.back();
    added.keys.assign(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size() * table.width; ++i) {
      added.numbers.push_back(static_cast<double>(Below(50)));
    }
    const size_t ctrs = 1 + Below(2);
    for (size_t i = 0; i < ctrs; ++i) {
      const bool by_class = !table.IsMean() && !table.IsCount();
      model->ctrs.push_back(
          {.table = model->tables.size() - 1,
           .target_border = by_class ? static_cast<uint32_t>(Below(table.width - 1)) : 0,
           .prior_numerator = 0.5F,
           .prior_denominator = 1,
           .shift = 0.25F,
           .scale = 1.5F,
           .borders = Borders(Below(4) == 0 ? 300 : 5)});
    }
  }

  CatBoostTree Tree(const CatBoostModel& model) {
    CatBoostTree tree;
    size_t leaves = 1;
    if (model.oblivious) {
      const size_t depth = Below(9);
      for (size_t k = 0; k < depth; ++k) {
        tree.splits.push_back(static_cast<uint32_t>(Below(model.splits.size())));
      }
      leaves <<= depth;
    } else {
      leaves = 1 + Below(12);
      for (size_t i = 0; i + 1 < leaves; ++i) {
        // Each node's left child is a leaf, and its right one the next node.
        const bool is_last = i + 2 == leaves;
        tree.nodes.push_back(
            {.split = static_cast<uint32_t>(Below(model.splits.size())),
             .left = ~static_cast<int32_t>(i),
             .right = is_last ? ~static_cast<int32_t>(i + 1) : static_cast<int32_t>(i + 1)});
      }
    }
    for (size_t i = 0; i < leaves * model.outputs; ++i) tree.values.push_back(Unit() - 0.5);
    return tree;
  }

  std::mt19937 random_;
  size_t feature_splits_ = 0;
};

// The models have features of more than 255 borders and values, and both kinds of trees. Rows have
// missing values, values on borders and keys that are not known. What is written and read again
// predicts the same.
TEST(CatBoostPredictor, RandomModelsPredictWhatTheyMean) {
  size_t ctrs = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    RandomModel random(seed);
    const CatBoostModel model = random.Make();
    ctrs += model.ctrs.size();
    const CatBoostRows rows = random.Rows(model, 300);
    const std::vector<double> raw = RawOf(model, rows);
    for (size_t i = 0; i < raw.size(); ++i) {
      ASSERT_EQ(raw[i], ReferenceRaw(model, rows, i / model.outputs, i % model.outputs))
          << "seed " << seed << " number " << i;
    }
    const Result<std::string> text = WriteCatBoostJson(model);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    const Result<CatBoostModel> again = ReadCatBoostJson(*text, "again");
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(RawOf(*again, rows), raw) << "seed " << seed;
  }
  EXPECT_GT(ctrs, 100U) << "statistics are among them";
}

}  // namespace
}  // namespace strata
