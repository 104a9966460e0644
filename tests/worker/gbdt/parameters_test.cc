#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/worker/text_disk.h"
#include "worker/gbdt/lightgbm/idle_parameters.h"
#include "worker/gbdt/lightgbm/parameter_place.h"
#include "worker/gbdt/lightgbm/parameter_table.h"
#include "worker/gbdt/lightgbm/train_conf.h"

namespace strata {
namespace {

TEST(ParameterTable, EachKeyMeansOneThingAndIsExplained) {
  std::set<std::string> keys;
  const auto add = [&](std::string_view key) {
    EXPECT_TRUE(keys.emplace(key).second) << key << " stands in the table twice";
  };
  for (const ParameterRow& row : ParameterRows()) {
    add(row.name);
    EXPECT_TRUE(row.help.ends_with('.')) << row.name << " needs sentences that explain it";
    const std::string aliases(row.aliases);
    for (size_t begin = 0; begin < aliases.size();) {
      const size_t end = std::min(aliases.find(' ', begin), aliases.size());
      add(aliases.substr(begin, end - begin));
      EXPECT_EQ(FindParameter(aliases.substr(begin, end - begin)), &row);
      begin = end + 1;
    }
  }
  for (const UnsupportedParameter& row : UnsupportedParameters()) {
    add(row.name);
    EXPECT_TRUE(row.help.ends_with('.')) << row.name;
  }
  for (const IdleParameter& row : ParametersWithoutEffect()) {
    EXPECT_TRUE(row.help.ends_with('.')) << row.names;
    std::istringstream names{std::string(row.names)};
    for (std::string name; names >> name;) {
      add(name);
      EXPECT_TRUE(IsWithoutEffect(name)) << name;
    }
  }
  EXPECT_FALSE(IsWithoutEffect("is_enable_sparse is_sparse"));
}

TEST(LightGbmConf, DefaultsAreLightGbms) {
  const Result<TreeParameters> p = ParseLightGbmConf("", "train.conf", {});
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_EQ(p->growth.num_leaves, 31);
  EXPECT_EQ(p->boosting.num_iterations, 100);
  EXPECT_EQ(p->boosting.learning_rate, 0.1);
  EXPECT_EQ(p->data.binning.max_bin, 255U);
  EXPECT_EQ(p->data.binning.min_data_in_leaf, 20);
  EXPECT_EQ(p->growth.rules.min_sum_hessian_in_leaf, 1e-3);
  EXPECT_EQ(p->boosting.bagging_seed, 3);
}

TEST(LightGbmConf, KeysAliasesCommentsAndOverrides) {
  const std::string overrides[] = {"eta=0.3", "valid=c.tsv"};
  const Result<TreeParameters> p = ParseLightGbmConf(
      "# a comment\n\n task = train\nobjective= mse # behind\n num_leaf =7\nlearning_rate = 0.5\n"
      "test = a.tsv, b.tsv\nmetric = l1,auc\ntraining_metric = "
      "true\neval_at=1,10\nsubsample_for_bin = "
      "5e4\n",
      "train.conf", overrides);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_EQ(p->objective.name, "regression");
  EXPECT_EQ(p->growth.num_leaves, 7);
  EXPECT_EQ(p->boosting.learning_rate, 0.3);
  EXPECT_EQ(p->data.valid, (std::vector<std::string>{"c.tsv"}));
  EXPECT_EQ(p->metric.names, (std::vector<std::string>{"l1", "auc"}));
  EXPECT_TRUE(p->metric.is_provide_training_metric);
  EXPECT_EQ(p->metric.eval_at, (std::vector<int64_t>{1, 10}));
  EXPECT_EQ(p->data.bin_construct_sample_cnt, 50000);
}

TEST(LightGbmConf, AByteOrderMarkIsNoPartOfTheFirstKey) {
  TextDisk disk;
  disk.files["train.conf"] = "\xef\xbb\xbfnum_leaves = 7\n";
  const Result<TreeParameters> parameters = LoadLightGbmConf(disk, "train.conf", {});
  ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
  EXPECT_EQ(parameters->growth.num_leaves, 7);
}

TEST(LightGbmConf, ASeedGivesTheOthers) {
  const std::string overrides[] = {"bagging_seed=77"};
  const Result<TreeParameters> p = ParseLightGbmConf("seed = 5\n", "f", overrides);
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->boosting.bagging_seed, 77);
  EXPECT_NE(p->growth.feature_fraction_seed, 2);
}

TEST(LightGbmConf, BadConfsSayWhatWhereAndWhy) {
  const std::pair<const char*, const char*> cases[] = {
      {"num_leaves 7\n", "f:1: expected key = value, found 'num_leaves 7'"},
      {"\nnum_leafs = 7\n", "f:2: unknown parameter 'num_leafs'; did you mean num_leaves?"},
      {"max_leafs = 7\n", "f:1: unknown parameter 'max_leafs'; did you mean max_leaf?"},
      {"num_leaves = 1\n", "f:1: num_leaves: expected a number from 2 to 131072, found '1'"},
      {"num_leaves = many\n", "expected a whole number, found 'many'"},
      {"num_leaves = 7.5\n", "expected a whole number, found '7.5'"},
      {"num_leaves = 8e82\n", "expected a whole number, found '8e82'"},
      {"learning_rate = -1\n", "learning_rate: expected a number of at least"},
      {"learning_rate = nan\n", "learning_rate: expected a number, found 'nan'"},
      {"header = perhaps\n", "header: expected true or false, found 'perhaps'"},
      {"objective = rocket\n", "objective: expected one of regression|"},
      {"linear_tree = true\n",
       "linear_tree is a parameter of LightGBM that Strata does not support"},
      {"cegb_penalty_split = 1\n", "does not support: remove it (or leave it at 0)"},
      {"gpu_device_id = 1\n",
       "remove it (or leave it at -1); here device_type = cuda:N names a GPU"},
      {"device = gpu\n", "device_type = gpu is LightGBM's OpenCL, which is not here: set"},
      {"device = cuda\nnum_gpu = 0\n", "num_gpu: expected a number from 1 to 16, found '0'"},
      {"device = cuda:1\nnum_gpu = 2\ngpu_device_id_list = 0,2\n",
       "device_type = cuda:1 and gpu_device_id_list both name GPUs"},
      {"gpu_device_id_list = 0,-1\n", "gpu_device_id_list: expected a number from 0 to 1023"},
      {"num_leaves = 7\nnum_leaf = 8\n", "f:2: num_leaf is set again; it was at f:1"},
      {"objective = multiclass\n", "needs num_class of at least 2"},
      {"num_class = 3\n", "num_class = 3 has no effect on objective = regression"},
      {"objective = binary\nis_unbalance = true\nscale_pos_weight = 2\n", "exclude each other"},
      {"gradient_bits = 20\n", "expected 16, 32, or 0"},
      {"boosting = rf\n", "boosting = rf needs trees that differ"},
      {"boosting = goss\ntop_rate = 0.7\nother_rate = 0.4\n", "expected at most 1"},
      {"boosting = goss\nbagging_freq = 1\nbagging_fraction = 0.5\n", "exclude each other"},
      {"bagging_freq = 1\npos_bagging_fraction = 0.5\n", "need objective = binary"},
      {"task = refit\npath_smooth = 1\n", "path_smooth in task = refit is not supported yet"},
      {"max_bin = 70000\n", "max_bin: expected a number from 2 to 65535"},
  };
  for (const auto& [text, message] : cases) {
    const Result<TreeParameters> p = ParseLightGbmConf(text, "f", {});
    ASSERT_FALSE(p.ok()) << text;
    EXPECT_EQ(p.status().code(), StatusCode::kInvalid);
    EXPECT_NE(p.status().message().find(message), std::string::npos)
        << p.status().message() << "\nexpected: " << message;
  }
  const std::string overrides[] = {"num_leaves"};
  EXPECT_FALSE(ParseLightGbmConf("", "f", overrides).ok());
}

// Where a value was given, not the file that other values are in.
TEST(LightGbmConf, ConflictsSayWhereEachValueWasGiven) {
  const std::string overrides[] = {"num_class=3"};
  const auto status = [&](const char* text) {
    return ParseLightGbmConf(text, "f", overrides).status().ToString();
  };
  EXPECT_NE(status("").find("command line: num_class = 3 has no"), std::string::npos) << status("");
  const std::string both = status("\nobjective = l1\n");
  EXPECT_NE(both.find("command line, f:2: num_class = 3 has no"), std::string::npos) << both;
}

// LightGBM's reader makes JSON of what a model says of parameters: true is false to it, and a name
// among numbers or a number without a digit before its point fails the whole model.
TEST(LightGbmConf, ModelsSayParametersAsLightGbmDoes) {
  const auto p = ParseLightGbmConf(
      "header = true\nlearning_rate = .5\nlabel_gain = 0, .5\nnum_leaves = 3e1\nmetric = auc, l2\n"
      "categorical_feature = name:a,b\nignore_column = 3, 4\nvalid = a\"b\nmax_bin = 15\n"
      "lambda_l1 = 1e-5\n",
      "f", {});
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"header", "1"},      {"learning_rate", "0.5"}, {"label_gain", "0,0.5"},
      {"num_leaves", "30"}, {"metric", "auc,l2"},     {"ignore_column", "3,4"},
      {"max_bin", "15"},    {"lambda_l1", "1e-05"}};
  EXPECT_EQ(p->set, expected);
}

TEST(LightGbmConf, WhatHasNoEffectIsAccepted) {
  const Result<TreeParameters> p = ParseLightGbmConf(
      "force_col_wise = true\nlinear_tree = false\nis_enable_sparse = true\nnum_machines = 1\n"
      "hist_pool_size = 512\nprecise_float_parser = false\nlinear_lambda = 0.1\n"
      "gpu_platform_id = 0\ngpu_use_dp = true\nlambdarank_position_bias_regularization = 1\n"
      "cegb_tradeoff = 1.0\ncegb_penalty_split = 0.0\nlinear_trees = False\nheader = TRUE\n",
      "f", {});
  EXPECT_TRUE(p.ok()) << p.status().ToString();
}

TEST(LightGbmConf, WhatHasNoEffectBesideOtherParametersIsAcceptedAndSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"objective = huber\nreg_sqrt = true\n", "reg_sqrt has no effect with objective = huber"},
      {"is_unbalance = true\n", "is_unbalance has no effect with objective = regression"},
      {"scale_pos_weight = 2\n", "scale_pos_weight has no effect with objective = regression"},
      {"num_gpu = 2\n", "num_gpu has no effect with device_type = cpu"},
      {"gpu_device_id_list = 0,1\n", "gpu_device_id_list has no effect with device_type = cpu"},
      {"device = cuda\ngpu_device_id_list = 1\n",
       "gpu_device_id_list has no effect with num_gpu = 1"},
      {"bagging_fraction = 0.5\n", "bagging_fraction has no effect with bagging_freq = 0"},
      {"objective = binary\npos_bagging_fraction = 0.5\n",
       "pos_bagging_fraction or neg_bagging_fraction has no effect with bagging_freq = 0"},
      {"boosting = dart\nearly_stopping_round = 3\n",
       "early_stopping_round has no effect with boosting = dart"},
      {"quant_train_renew_leaf = true\n",
       "quant_train_renew_leaf has no effect with use_quantized_grad = false"},
      {"bagging_by_query = true\n", "bagging_by_query has no effect with all rows"},
      {"monotone_penalty = 1\n", "monotone_penalty has no effect with no monotone_constraints"},
      {"monotone_penalty = 1\nmonotone_constraints = 0,0\n",
       "monotone_penalty has no effect with no monotone_constraints"},
      {"auc_mu_weights = 0,1,1,0\n", "auc_mu_weights has no effect with other metrics"}};
  for (const auto& [text, message] : cases) {
    const Result<TreeParameters> p = ParseLightGbmConf(text, "f", {});
    ASSERT_TRUE(p.ok()) << text << p.status().ToString();
    const std::vector<std::string> idle = WhatHasNoEffect(*p);
    ASSERT_EQ(idle.size(), 1U) << text;
    EXPECT_TRUE(idle[0].starts_with(message)) << idle[0];
  }
}

TEST(LightGbmConf, WhatHasAnEffectIsNotSaidToHaveNone) {
  for (const char* text :
       {"", "objective = multiclassova\nnum_class = 3\nis_unbalance = true\n",
        "objective = binary\nscale_pos_weight = 2\n", "reg_sqrt = true\n",
        "device = cuda\nnum_gpu = 2\ngpu_device_id_list = 0,1\n",
        "bagging_freq = 1\nbagging_fraction = 0.5\nbagging_by_query = true\n",
        "monotone_penalty = 1\nmonotone_constraints = 0,1\n",
        "objective = softmax\nnum_class = 2\nmetric = auc_mu\nauc_mu_weights = 0,1,1,0\n"}) {
    const Result<TreeParameters> p = ParseLightGbmConf(text, "f", {});
    ASSERT_TRUE(p.ok()) << text << p.status().ToString();
    EXPECT_TRUE(WhatHasNoEffect(*p).empty()) << text;
  }
}

TEST(LightGbmConf, DartIsNotStoppedEarly) {
  EXPECT_EQ(ParseLightGbmConf("early_stopping_round = 3\n", "f", {})->patience(), 3);
  EXPECT_EQ(ParseLightGbmConf("early_stopping_round = -1\n", "f", {})->patience(), 0);
  EXPECT_EQ(ParseLightGbmConf("boosting = dart\nearly_stopping = 3\n", "f", {})->patience(), 0);
}

// LightGBM's lists say it once, for all of them.
TEST(LightGbmConf, TheFirstColumnOfAListSaysWhetherAllAreNames) {
  const auto lists = [](const std::string& value) {
    const auto p = ParseLightGbmConf(
        "categorical_feature = " + value + "\nignore_column = " + value + "\n", "f", {});
    EXPECT_TRUE(p.ok()) << p.status().ToString();
    EXPECT_EQ(p->data.categorical_feature, p->data.ignore_column);
    return p->data.ignore_column;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(lists("name:a,b, 3"), (Texts{"name:a", "name:b", "name:3"}));
  EXPECT_EQ(lists("name:a,name:b"), (Texts{"name:a", "name:b"}));
  EXPECT_EQ(lists("3,4"), (Texts{"3", "4"}));
}

TEST(ParameterPlace, KeysAreThoseOfWhoGaveThem) {
  TreeParameters given;
  EXPECT_EQ(KeyOf(given, "output_model"), "output_model");
  given.data.columns.emplace();
  EXPECT_EQ(KeyOf(given, "output_model"), "output.model");
  EXPECT_EQ(KeyOf(given, "report_file"), "gbdt.report_file");
  EXPECT_EQ(KeyOf(given, "data"), "data.train");
  given.task.name = "predict";
  EXPECT_EQ(KeyOf(given, "data"), "data.test");
}

}  // namespace
}  // namespace strata
