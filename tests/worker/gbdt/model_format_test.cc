// Models written for people and compilers: the JSON dump, C++, and the task convert.
#include "worker/gbdt/model/model_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/golden/gbdt/binary.cpp"  // NOLINT(bugprone-suspicious-include)
#include "tests/support/sim_disk.h"
namespace infinite {
#include "tests/golden/gbdt/infinite.cpp"  // NOLINT(bugprone-suspicious-include)
}  // namespace infinite
#include "tests/support/golden.h"
#include "tests/worker/gbdt/category_edges.h"
#include "tests/worker/gbdt/golden_model.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {
namespace {

TreeModel ModelOf(const std::string& name) {
  Result<TreeModel> model = ReadLightGbmText(Golden("gbdt/" + name + ".model.txt"), name);
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  return *std::move(model);
}

// The texts hold the same values. Numbers may differ after their sixth digit: LightGBM keeps gains
// as floats.
void ExpectSameJson(const std::string& found_text, const std::string& expected_text) {
  const nlohmann::json found = nlohmann::json::parse(found_text).flatten();
  const nlohmann::json expected = nlohmann::json::parse(expected_text).flatten();
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [path, value] : expected.items()) {
    ASSERT_TRUE(found.contains(path)) << path;
    if (!value.is_number() || !found[path].is_number()) {
      EXPECT_EQ(found[path], value) << path;
      continue;
    }
    const auto number = value.get<double>();
    EXPECT_NEAR(found[path].get<double>(), number, 1e-6 * std::max(1.0, std::fabs(number))) << path;
  }
}

TEST(ModelFormat, JsonIsLightGbmsDump) {
  for (const std::string name : {"binary", "infinite"}) {
    const Result<std::string> text = WriteModelAs(ModelOf(name), ModelFormat::kJson);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    SCOPED_TRACE(name);
    ExpectSameJson(*text, Golden("gbdt/" + name + ".dump.json"));
  }
}

// Both are in tests/golden/gbdt, and the compiler has read them above.
TEST(ModelFormat, CppPredictsWhatTheModelPredicts) {
  const Result<std::string> text = WriteModelAs(ModelOf("binary"), ModelFormat::kCpp);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  ExpectGolden("gbdt/binary.cpp", *text);
  static_assert(boosted_trees::kFeatures == 6 && boosted_trees::kOutputs == 1);
  const auto rows = GoldenRows("rows.csv");
  const std::vector<ExpectedRow> expected = GoldenExpected("binary");
  for (size_t i = 0; i < rows.size(); ++i) {
    double raw = 0;
    double prediction = 0;
    boosted_trees::PredictRaw(rows[i].data(), &raw);
    boosted_trees::Predict(rows[i].data(), &prediction);
    EXPECT_EQ(raw, expected[i].raw[0]) << "row " << i;
    EXPECT_NEAR(prediction, expected[i].predictions[0], 1e-14) << "row " << i;
  }
}

TEST(ModelFormat, CppHasInfiniteThresholds) {
  const Result<std::string> text = WriteModelAs(ModelOf("infinite"), ModelFormat::kCpp);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  ExpectGolden("gbdt/infinite.cpp", *text);
  const auto rows = GoldenRows("rows.csv");
  const std::vector<ExpectedRow> expected = GoldenExpected("infinite");
  for (size_t i = 0; i < rows.size(); ++i) {
    double raw = 0;
    infinite::boosted_trees::PredictRaw(rows[i].data(), &raw);
    EXPECT_EQ(raw, expected[i].raw[0]) << "row " << i;
  }
}

TEST(ModelFormat, CppTakesCategoriesAsTheModelDoes) {
  const std::uint32_t words[] = {0b10011};
  Tree tree;
  tree.set_words.assign(std::begin(words), std::end(words));
  tree.set_begins = {0, 1};
  for (const bool nan_in : {false, true}) {
    const TreeNode node = {.categorical = true, .default_left = nan_in};
    for (const double value : CategoryEdges()) {
      EXPECT_EQ(boosted_trees::IsIn(value, words, 1, nan_in), tree.GoesLeft(node, value)) << value;
    }
  }
}

TEST(ModelFormat, ConvertWritesAnyFormatFromAnyModel) {
  SimDisk disk;
  ASSERT_TRUE(WriteFileAtomically(disk, "m.txt", Golden("gbdt/binary.model.txt")).ok());
  ASSERT_TRUE(WriteFileAtomically(disk, "m.json", Golden("gbdt/xgb_squared.json")).ok());
  const TreeTaskContext context = {.disk = disk, .clock = RealClock(), .progress = {}, .check = {}};
  const auto convert = [&](const std::string& conf) {
    const Result<TreeParameters> p = ParseLightGbmConf("task = convert_model\n" + conf, "f", {});
    EXPECT_TRUE(p.ok()) << p.status().ToString();
    return p.ok() ? RunTreeTask(*p, context) : Result<TreeTaskResult>(p.status());
  };
  const auto read = [&](const std::string& path) {
    const Result<std::string> text = ReadFile(disk, path, 1 << 20);
    EXPECT_TRUE(text.ok()) << text.status().ToString();
    return text.ok() ? *text : "";
  };
  Result<TreeTaskResult> result = convert("input_model = m.txt\n");
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(read("gbdt_prediction.cpp"), Golden("gbdt/binary.cpp"));
  ASSERT_TRUE(convert("input_model=m.txt\nmodel_format=xgboost\nconvert_model=x.json\n").ok());
  ASSERT_TRUE(convert("input_model=x.json\nmodel_format=lightgbm\nconvert_model=y.txt\n").ok());
  EXPECT_TRUE(ReadLightGbmText(read("y.txt"), "y").ok());
  EXPECT_FALSE(convert("model_format=json\n").ok());
  EXPECT_EQ(convert("input_model=none\n").status().code(), StatusCode::kNotFound);
  // Missing categories go left there, which LightGBM's text cannot say.
  result = convert("input_model=m.json\nmodel_format=lightgbm\nconvert_model=z.txt\n");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("m.json: a categorical split"), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(disk, "m.ubj", "{L\x00\x01").ok());
  EXPECT_NE(convert("input_model=m.ubj\n").status().message().find("binary JSON"),
            std::string::npos);
}

TEST(ModelFormat, AByteOrderMarkIsNoPartOfAModel) {
  SimDisk disk;
  const TreeModel model = ModelOf("binary");
  for (const ModelFormat format : {ModelFormat::kLightGbm, ModelFormat::kXgboost}) {
    const std::string text = *WriteModelAs(model, format);
    ASSERT_TRUE(WriteFileAtomically(disk, "m", "\xef\xbb\xbf" + text).ok());
    const Result<TreeModel> read = ReadModelFile(disk, "m");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->trees.size(), model.trees.size());
  }
}

// A model of CatBoost is known by a word that a feature of another model may have as its name.
TEST(ModelFormat, AFeatureOfAnyNameIsNoModelOfCatBoost) {
  SimDisk disk;
  TreeModel model = ModelOf("binary");
  model.feature_names[0] = "features_info";
  ASSERT_TRUE(WriteFileAtomically(disk, "m", *WriteModelAs(model, ModelFormat::kXgboost)).ok());
  const Result<TreeModel> read = ReadModelFile(disk, "m");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->feature_names, model.feature_names);
}

TEST(ModelFormat, FilesThatHoldNoModelAreNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {Golden("gbdt/binary.dump.json"), "m: a dump of a model"},
      {*WriteModelAs(ModelOf("binary"), ModelFormat::kJson), "m: a dump of a model"},
      {"[\n  { \"nodeid\": 0, \"depth\": 0 }]", "m: a dump of a model"},
      {Golden("catboost/numbers.json"), "m: a model of CatBoost"},
      {"booster[0]:\n0:[f2<2.45] yes=1,no=2,missing=2\n", "m: a dump of a model"},
      {"\x1f\x8b\x08\x01", "m: expected a model as text, found compressed with gzip"},
      {"\x80\x04\x95\x01", "m: expected a model as text, found a Python pickle"}};
  for (const auto& [text, message] : cases) {
    SimDisk disk;
    ASSERT_TRUE(WriteFileAtomically(disk, "m", text).ok());
    const Status status = ReadModelFile(disk, "m").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << status.ToString();
    EXPECT_EQ(status.message().substr(0, std::string_view(message).size()), message);
  }
}

}  // namespace
}  // namespace strata
