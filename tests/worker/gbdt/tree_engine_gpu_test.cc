// Boosting with device = cuda: the model that device = cpu makes, to the last letter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "tests/worker/gbdt/hard_array.h"
#include "tests/worker/text_disk.h"
#include "worker/gbdt/boost/booster.h"
#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/engine/tree_engine.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/parameters/growth_parameters.h"

namespace strata {
namespace {

constexpr size_t kRows = 1500;
constexpr const char* kForced =
    R"({"feature": 0, "threshold": 5, "left": {"feature": 4, "threshold": 3},
        "right": {"feature": 1, "threshold": 2.5, "left": {"feature": 0, "threshold": 0}}})";

// Numbers, some of them missing, a category, and a label that follows them.
std::string Rows(int classes, bool real, uint64_t seed = 5, size_t rows = kRows) {
  Random random(seed);
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    double x[4];
    for (double& value : x) value = static_cast<double>(random.Below(1000)) / 100;
    const uint64_t category = random.Below(9);
    const double score =
        x[0] + (category % 3 == 0 ? x[1] : -x[2]) + static_cast<double>(random.Below(400)) / 100;
    const int label = std::clamp(static_cast<int>(score) / (classes > 2 ? 4 : 8), 0, classes - 1);
    text += real ? fmt::format("{}", score) : fmt::format("{}", label);
    for (const double value : x) {
      text += random.Chance(0.1) ? std::string(",nan") : fmt::format(",{}", value);
    }
    text += fmt::format(",{}\n", category);
  }
  return text;
}

// The metrics after each round, the scores of the training data in the end, and the model.
Result<std::string> Train(const TreeDataset& data, TreeParameters p, const std::string& device,
                          int64_t gpus = 1, std::span<const TreeDataset* const> valid = {}) {
  p.machine.device_type = device;
  p.machine.num_gpu = gpus;
  p.metric.is_provide_training_metric = true;
  BoosterStart start;
  if (!p.growth.forcedsplits_filename.empty()) start.forced_splits = kForced;
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("test", 1));
  STRATA_ASSIGN(const std::unique_ptr<Booster> booster,
                Booster::Make(p, data, valid, *pool, 2, nullptr, nullptr, std::move(start)));
  std::string text;
  for (int round = 0; round < 4; ++round) {
    STRATA_ASSIGN(const bool goes_on, booster->Round());
    STRATA_ASSIGN(const std::vector<Evaluation> evaluations, booster->Evaluate());
    for (const Evaluation& evaluation : evaluations) {
      for (const MetricValue& value : evaluation.metrics) {
        text += fmt::format("{} {} {}\n", evaluation.data, value.name, value.value);
      }
    }
    if (!goes_on) break;
  }
  STRATA_ASSIGN(const std::vector<double> scores, booster->training_scores());
  text += fmt::format("{}\n", fmt::join(scores, " "));
  STRATA_ASSIGN(const std::string model, WriteLightGbmText(booster->model()));
  return text + model;
}

struct Setting {
  std::string name;
  std::vector<std::string> conf;
  int classes = 2;
  bool real = false;
  uint64_t query_rows = 0;  // at most; 0: no queries
  bool weighted = false;
};

// How many rows each query has, some none and some one.
std::string Queries(uint64_t rows_max, size_t all) {
  Random random(6);
  std::string text;
  for (size_t rows = 0; rows < all;) {
    const uint64_t count = std::min(all - rows, random.Below(rows_max + 1));
    text += fmt::format("{}\n", count);
    rows += count;
  }
  return text;
}

std::string Weights(size_t rows, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    text += fmt::format("{}\n", 0.1 * static_cast<double>(random.Below(50) + 1));
  }
  return text;
}

// With `features`, their bins.
Result<TreeDataset> Load(TextDisk& disk, const std::string& path, const TreeParameters& p,
                         std::shared_ptr<const FeatureBinning> features) {
  STRATA_ASSIGN(const std::unique_ptr<TextRows> source, TextRows::Open(disk, path, {}));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("test", 1));
  DatasetOptions options = {.binning = p.data.binning, .categorical = p.data.categorical_feature};
  options.classes = static_cast<size_t>(p.objective.num_class);
  return LoadTreeDataset(disk, *source, path, options, std::move(features), *pool);
}

// As many as are listed, whatever num_gpu says above 1.
TEST(TreeEngineGpus, ThoseThatAreListedGrowTheTrees) {
  TextDisk disk;
  disk.files["d"] = Rows(2, false);
  TreeParameters p;
  p.objective.name = "binary";
  const Result<TreeDataset> data = Load(disk, "d", p, nullptr);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  const Result<std::string> cpu = Train(*data, p, "cpu");
  ASSERT_TRUE(cpu.ok()) << cpu.status().ToString();
  p.machine.gpu_device_id_list = {0, 0};
  const Result<std::string> gpu = Train(*data, p, "cuda", 2);
  if (gpu.status().code() == StatusCode::kNotFound) GTEST_SKIP() << gpu.status().message();
  ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
  EXPECT_EQ(*gpu, *cpu);
  p.machine.gpu_device_id_list = {99};
  EXPECT_TRUE(Train(*data, p, "cuda", 2).status().message().starts_with("GPU 99 is not there"));
}

class TreeEngineTest : public testing::TestWithParam<Setting> {};

TEST_P(TreeEngineTest, AGpuMakesTheModelOfTheCpu) {
  TextDisk disk;
  disk.files["d"] = Rows(GetParam().classes, GetParam().real);
  if (GetParam().query_rows > 0) disk.files["d.query"] = Queries(GetParam().query_rows, kRows);
  if (GetParam().weighted) disk.files["d.weight"] = Weights(kRows, 7);
  std::vector<std::string> conf = {"num_leaves=12", "min_data_in_leaf=10", "categorical_feature=4"};
  conf.insert(conf.end(), GetParam().conf.begin(), GetParam().conf.end());
  const Result<TreeParameters> parameters = ParseLightGbmConf("", "f", conf);
  ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
  const Result<TreeDataset> data = Load(disk, "d", *parameters, nullptr);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  disk.files["v"] = Rows(GetParam().classes, GetParam().real, 6, 321);
  if (GetParam().weighted) disk.files["v.weight"] = Weights(321, 8);
  if (GetParam().query_rows > 0) disk.files["v.query"] = Queries(GetParam().query_rows, 321);
  const Result<TreeDataset> valid = Load(disk, "v", *parameters, data->features);
  ASSERT_TRUE(valid.ok()) << valid.status().ToString();
  const std::vector<const TreeDataset*> validation = {&*valid};
  const Result<std::string> gpu = Train(*data, *parameters, "cuda", 1, validation);
  if (gpu.status().code() == StatusCode::kNotFound) GTEST_SKIP() << gpu.status().message();
  ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
  const Result<std::string> cpu = Train(*data, *parameters, "cpu", 1, validation);
  ASSERT_TRUE(cpu.ok()) << cpu.status().ToString();
  EXPECT_EQ(*gpu, *cpu);
  EXPECT_NE(gpu->find("valid_1 "), std::string::npos);
  EXPECT_NE(gpu->find("split_feature="), std::string::npos);
  const Result<std::string> two = Train(*data, *parameters, "cuda", 2, validation);
  if (const char* const what = GrowsOnHost(parameters->growth); what != nullptr) {
    EXPECT_EQ(two.status().message(),
              fmt::format("num_gpu = 2 with {}: such trees grow on the host, with the rows on one "
                          "GPU; leave num_gpu out",
                          what));
    return;
  }
  if (two.status().code() == StatusCode::kNotFound) {
    EXPECT_EQ(two.status().message(), "num_gpu = 2: GPU 1 is not there; this process sees 1");
    GTEST_SKIP() << two.status().message();
  }
  ASSERT_TRUE(two.ok()) << two.status().ToString();
  EXPECT_EQ(*two, *cpu);
}

class GpuBinsTest : public testing::TestWithParam<int64_t> {};

// With so many bins at most.
TEST_P(GpuBinsTest, AreThoseOfTheCpu) {
  if (GpuLeaves::Devices() == 0) GTEST_SKIP() << "needs a GPU";
  for (const bool floats : {true, false}) {
    TextDisk disk;
    disk.files["x.npy"] = floats ? HardArray<float>(1, 3001, 43) : HardArray<double>(2, 3001, 43);
    const Result<std::unique_ptr<WorkPool>> pool = WorkPool::Start("test", 2);
    ASSERT_TRUE(pool.ok());
    const auto load = [&](std::optional<int> gpu) -> Result<TreeDataset> {
      const ColumnChoice columns{.weight = "0", .ignored = {"9"}};
      STRATA_ASSIGN(const std::unique_ptr<NpyRows> source, NpyRows::Open(disk, "x.npy", columns));
      DatasetOptions options = {.binning = {}, .categorical = {}};
      options.binning.max_bin = static_cast<uint32_t>(GetParam());
      options.binning.zero_as_missing = !floats;
      options.gpu = gpu;
      return LoadTreeDataset(disk, *source, "x.npy", options, nullptr, **pool);
    };
    const Result<TreeDataset> cpu = load(std::nullopt);
    ASSERT_TRUE(cpu.ok()) << cpu.status().ToString();
    const Result<TreeDataset> gpu = load(0);
    ASSERT_TRUE(gpu.ok()) << gpu.status().ToString();
    ASSERT_NE(gpu->gpu_bins, nullptr);
    ASSERT_EQ(gpu->bins.features(), cpu->bins.features());
    for (size_t f = 0; f < gpu->bins.features(); ++f) {
      for (size_t row = 0; row < gpu->rows(); ++row) {
        ASSERT_EQ(gpu->bins.column(f).At(row), cpu->bins.column(f).At(row)) << f << ", " << row;
      }
    }
    for (size_t block = 0; block < cpu->bins.blocks().size(); ++block) {
      EXPECT_EQ(gpu->bins.blocks()[block].narrow, cpu->bins.blocks()[block].narrow);
      EXPECT_EQ(gpu->bins.blocks()[block].wide, cpu->bins.blocks()[block].wide);
    }
    // Trees grow from the GPU's own copy, as free as they are, or with rules that came later.
    std::string contributions = "feature_contri=0.5";
    for (int f = 1; f < 44; ++f) contributions += f % 3 == 0 ? ",0.3" : ",1";
    for (const std::string& rule : {std::string("max_depth=-1"), contributions}) {
      const Result<TreeParameters> parameters = ParseLightGbmConf(
          "", "f", std::vector<std::string>{"objective=binary", "num_leaves=12", rule});
      ASSERT_TRUE(parameters.ok());
      const Result<std::string> from_gpu = Train(*gpu, *parameters, "cuda");
      ASSERT_TRUE(from_gpu.ok()) << from_gpu.status().ToString();
      const Result<std::string> from_cpu = Train(*cpu, *parameters, "cpu");
      ASSERT_TRUE(from_cpu.ok()) << from_cpu.status().ToString();
      EXPECT_EQ(*from_gpu, *from_cpu) << rule;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuBinsTest, testing::Values(15, 255, 2000));

INSTANTIATE_TEST_SUITE_P(
    All, TreeEngineTest,
    testing::Values(
        Setting{"Regression",
                {"objective=regression", "metric=l2,rmse,l1,quantile,huber,fair,mape"},
                2,
                true},
        Setting{"RegressionOfRoots",
                {"objective=regression", "reg_sqrt=true", "metric=l2,l1"},
                2,
                true,
                0,
                true},
        Setting{"Binary",
                {"objective=binary", "bagging_fraction=0.7", "bagging_freq=2",
                 "feature_fraction=0.6", "gradient_bits=16"}},
        // Trees that may have all leaves that their depth allows, and others; a root alone.
        Setting{"Depth", {"objective=binary", "max_depth=4", "num_leaves=16"}},
        Setting{"DepthOfFewLeaves", {"objective=binary", "max_depth=5", "gradient_bits=16"}},
        Setting{"DepthOne", {"objective=regression", "max_depth=1"}, 2, true},
        Setting{"DepthMulticlass",
                {"objective=multiclass", "num_class=3", "max_depth=3", "bagging_fraction=0.7",
                 "bagging_freq=3"},
                3},
        Setting{"RootAlone", {"objective=regression", "min_data_in_leaf=700"}, 2, true},
        Setting{"QuantizedGrad", {"objective=binary", "use_quantized_grad=true"}},
        Setting{"NearestGrad",
                {"objective=binary", "use_quantized_grad=true", "stochastic_rounding=false"}},
        Setting{"RenewedFromGradients",
                {"objective=binary", "use_quantized_grad=true", "quant_train_renew_leaf=true"}},
        Setting{"RenewedFromGradientsOfClasses",
                {"objective=multiclass", "num_class=3", "use_quantized_grad=true",
                 "quant_train_renew_leaf=true", "bagging_fraction=0.6", "bagging_freq=1"},
                3,
                false,
                0,
                true},
        Setting{"RenewedFromGradientsOfGoss",
                {"objective=binary", "use_quantized_grad=true", "quant_train_renew_leaf=true",
                 "data_sample_strategy=goss", "learning_rate=0.5", "path_smooth=3"}},
        Setting{"Renewed", {"objective=regression_l1"}, 2, true},
        Setting{"RenewedByWeight",
                {"objective=regression_l1", "bagging_fraction=0.7", "bagging_freq=1"},
                2,
                true,
                0,
                true},
        // Labels of few values, so that many residuals are equal and the order of rows matters.
        Setting{"RenewedWithTies",
                {"objective=quantile", "alpha=0.1", "num_leaves=40", "min_data_in_leaf=3"},
                5,
                false,
                0,
                true},
        Setting{"RenewedAtTheMedian",
                {"objective=quantile", "alpha=0.5", "bagging_fraction=0.3", "bagging_freq=1"},
                2,
                true},
        Setting{"RenewedAboveWithoutStart",
                {"objective=quantile", "alpha=0.9", "boost_from_average=false", "gradient_bits=16"},
                2,
                true,
                0,
                true},
        Setting{"RenewedByLabel", {"objective=mape"}, 2, true},
        Setting{"RenewedByLabelAndWeight",
                {"objective=mape", "bagging_fraction=0.7", "bagging_freq=1"},
                5,
                false,
                0,
                true},
        Setting{
            "RenewedForest",
            {"objective=regression_l1", "boosting=rf", "bagging_fraction=0.5", "bagging_freq=1"},
            2,
            true},
        Setting{"RenewedDart",
                {"objective=mape", "boosting=dart", "drop_rate=0.5", "skip_drop=0"},
                2,
                true},
        Setting{
            "RenewedGoss",
            {"objective=quantile", "alpha=0.8", "data_sample_strategy=goss", "learning_rate=0.5"},
            2,
            true,
            0,
            true},
        Setting{"Poisson",
                {"objective=poisson", "metric=poisson,gamma_deviance,tweedie,l2"},
                2,
                false,
                0,
                true},
        Setting{"CrossEntropyLambda", {"objective=cross_entropy_lambda"}, 2, false, 0, true},
        Setting{"Curves",
                {"objective=binary",
                 "metric=auc,average_precision,binary_logloss,binary_error,accuracy,"
                 "cross_entropy,kullback_leibler"},
                2,
                false,
                0,
                true},
        Setting{"CurvesOfFewScores",  // runs of equal ones are longer than a tile's part
                {"objective=binary", "metric=auc,average_precision", "num_leaves=2",
                 "bagging_fraction=0.8", "bagging_freq=1"}},
        Setting{"Goss", {"objective=binary", "data_sample_strategy=goss", "learning_rate=0.5"}},
        Setting{"Dart", {"objective=binary", "boosting=dart", "drop_rate=0.5", "skip_drop=0"}},
        Setting{"GossMulticlass",
                {"objective=multiclass", "num_class=3", "data_sample_strategy=goss",
                 "learning_rate=0.5", "top_rate=0.3", "gradient_bits=16"},
                3},
        Setting{"GossTies",  // gradients of few sizes
                {"objective=binary", "data_sample_strategy=goss", "learning_rate=1", "max_bin=3",
                 "num_leaves=3"}},
        Setting{"DartMulticlass",
                {"objective=multiclass", "num_class=3", "boosting=dart", "drop_rate=0.5",
                 "skip_drop=0"},
                3},
        Setting{"RandomForest",
                {"objective=binary", "metric=auc,binary_logloss", "boosting=rf",
                 "bagging_fraction=0.5", "bagging_freq=1"}},
        Setting{"RandomForestMulticlass",
                {"objective=multiclassova", "num_class=3", "boosting=rf", "bagging_fraction=0.5",
                 "bagging_freq=1"},
                3},
        Setting{"RandomForestConstant",
                {"objective=binary", "boosting=rf", "bagging_fraction=0.5", "bagging_freq=1",
                 "min_data_in_leaf=700"}},
        Setting{"BaggingBySide",
                {"objective=binary", "pos_bagging_fraction=0.9", "neg_bagging_fraction=0.4",
                 "bagging_freq=1"}},
        Setting{"BaggingByQuery",
                {"objective=regression", "bagging_by_query=true", "bagging_fraction=0.6",
                 "bagging_freq=2"},
                2,
                true,
                30},
        Setting{"Multiclass",
                {"objective=multiclass", "num_class=3",
                 "metric=multi_logloss,multi_error,auc_mu,accuracy", "multi_error_top_k=2"},
                3},
        Setting{"MulticlassWeighted",
                {"objective=multiclass", "num_class=5", "bagging_fraction=0.7", "bagging_freq=1",
                 "gradient_bits=16", "metric=multi_error,auc_mu,multi_logloss"},
                5,
                false,
                0,
                true},
        Setting{"OneVsAll",
                {"objective=multiclassova", "num_class=4", "sigmoid=1.5",
                 "metric=multi_logloss,multi_error,auc_mu"},
                4},
        Setting{"OneVsAllUnbalanced",
                {"objective=multiclassova", "num_class=4", "is_unbalance=true"},
                4,
                false,
                0,
                true},
        Setting{
            "OneVsAllScaled",
            {"objective=multiclassova", "num_class=4", "scale_pos_weight=3",
             "metric=auc_mu,multi_logloss", "auc_mu_weights=0,1,2,3,4,0,5,6,7,8,0,9,10,11,12,0"},
            4},
        // A class that never occurs has constants for trees.
        Setting{"OneVsAllLacking", {"objective=multiclassova", "num_class=6"}, 4},
        Setting{"LambdaRank",
                {"objective=lambdarank", "eval_at=3,1,500", "metric=ndcg,map"},
                5,
                false,
                60},
        Setting{"LambdaRankPlain",
                {"objective=lambdarank", "eval_at=3,20", "metric=ndcg,map", "lambdarank_norm=false",
                 "lambdarank_truncation_level=4", "sigmoid=2", "bagging_fraction=0.5",
                 "bagging_freq=1", "bagging_by_query=true", "label_gain=0,1,1,5,9"},
                5,
                false,
                20,
                true},
        Setting{"LambdaRankLong",
                {"objective=lambdarank", "eval_at=3,1200", "metric=map,ndcg"},
                5,
                false,
                1400},
        Setting{"LambdaRankForest",
                {"objective=lambdarank", "eval_at=3", "boosting=rf", "bagging_fraction=0.5",
                 "bagging_freq=1"},
                5,
                false,
                40},
        Setting{"XeNdcg", {"objective=rank_xendcg", "eval_at=3"}, 5, false, 60, true},
        Setting{"XeNdcgLong", {"objective=rank_xendcg", "eval_at=3"}, 5, false, 1400},
        Setting{"ExtraTrees",
                {"objective=binary", "extra_trees=true", "feature_fraction_bynode=0.6"}},
        Setting{"Monotone",
                {"objective=binary", "monotone_constraints=1,1,-1,0,0", "monotone_penalty=0.5",
                 "feature_contri=1,0.5,2,1,1"}},
        Setting{
            "Neighbours",
            {"objective=binary", "monotone_constraints=1,1,-1,0,0",
             "monotone_constraints_method=intermediate", "bagging_fraction=0.7", "bagging_freq=1"}},
        Setting{"BoundsByThreshold",
                {"objective=binary", "monotone_constraints=1,1,-1,0,0",
                 "monotone_constraints_method=advanced", "gradient_bits=16"}},
        // The last of them has no row on its left side.
        Setting{"Forced",
                {"objective=binary", "forcedsplits_filename=forced", "feature_fraction=0.7",
                 "max_delta_step=0.5", "gradient_bits=16"}},
        Setting{"DepthWise",
                {"objective=binary", "grow_policy=depthwise",
                 "interaction_constraints=[0,1,4],[2,3],[1,2]", "feature_fraction_bynode=0.7"}}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace strata
