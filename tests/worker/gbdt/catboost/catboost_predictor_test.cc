// Predictions against what CatBoost says, and against a plain reading of a model row by row.
#include "worker/gbdt/catboost/catboost_predictor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/catboost/golden_catboost.h"
#include "tests/worker/gbdt/catboost/random_catboost.h"
#include "tests/worker/gbdt/catboost/reference_catboost.h"
#include "worker/gbdt/catboost/catboost_json.h"
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

// The models have features of more than 255 borders and values, and both kinds of trees. Rows have
// missing values, values on borders and keys that are not known. What is written and read again
// predicts the same.
TEST(CatBoostPredictor, RandomModelsPredictWhatTheyMean) {
  size_t ctrs = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    RandomCatBoost random(seed);
    const CatBoostModel model = random.Make();
    ctrs += model.ctrs.size();
    const CatBoostRows rows = random.Rows(model, 300);
    const std::vector<double> raw = RawOf(model, rows);
    for (const int threads : {0, 4}) {
      const auto pool = WorkPool::Start("test", threads);
      std::vector<double> predicted(raw.size(), 7);
      ASSERT_TRUE(CatBoostPredictor(model).Predict(rows, **pool, predicted).ok());
      EXPECT_EQ(predicted, raw) << "seed " << seed << ", " << threads << " more threads";
    }
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
