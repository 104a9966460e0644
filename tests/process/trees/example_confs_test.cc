// Confs with the keys of LightGBM's examples, six that train and those that predict with their
// models, run as they are; the one with linear trees is refused by name. Rows are made here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/support/free_port.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// What most of them end with.
constexpr const char* kCommon =
    "tree_learner = serial\nis_enable_sparse = true\nuse_two_round_loading = false\n"
    "is_save_binary_file = false\noutput_model = LightGBM_model.txt\nnum_machines = 1\n"
    "local_listen_port = 12400\nmachine_list_file = mlist.txt\n";

class ExampleConfs : public ::testing::Test {
 protected:
  ExampleConfs() {
    for (const char* set : {"train", "test"}) {
      const uint64_t seed = set == std::string("train") ? 1 : 2;
      WriteRows("binary", set, seed, ",", [](double x) { return x > 0.4 ? "1" : "0"; });
      WriteRows("regression", set, seed, "\t", [](double x) { return fmt::format("{:.3f}", x); });
      WriteRows("multiclass", set, seed, "\t",
                [](double x) { return fmt::format("{}", static_cast<int>(x * 2) % 5); });
      WriteRanks(set, seed);
    }
    WriteWholeFile(folder_.File("binary.train.weight"), Weights());
  }

  static double Uniform(uint64_t row, uint64_t seed) {
    return static_cast<double>(Mix64(row * 64 + seed) >> 11) * 0x1p-53;
  }

  template <typename Label>
  void WriteRows(const std::string& name, const std::string& set, uint64_t seed,
                 const std::string& delimiter, const Label& label) const {
    std::string rows;
    for (uint64_t row = 0; row < kRows; ++row) {
      const double x = Uniform(row, seed);
      const double y = Uniform(row, seed + 2);
      rows += fmt::format("{1}{0}{2:.3f}{0}{3:.3f}{0}{4}\n", delimiter, label(2 * x + y / 2), x, y,
                          row % 7);
    }
    WriteWholeFile(folder_.File(name + "." + set), rows);
  }

  // Of ten rows each.
  void WriteRanks(const std::string& set, uint64_t seed) const {
    std::string rows;
    std::string queries;
    for (uint64_t row = 0; row < kRows; ++row) {
      const double x = Uniform(row, seed);
      rows +=
          fmt::format("{} 1:{:.3f} 3:{:.3f}\n", static_cast<int>(x * 5), x, Uniform(row, seed + 2));
      if (row % 10 == 0) queries += "10\n";
    }
    WriteWholeFile(folder_.File("rank." + set), rows);
    WriteWholeFile(folder_.File("rank." + set + ".query"), queries);
  }

  static std::string Weights() {
    std::string weights;
    for (uint64_t row = 0; row < kRows; ++row) weights += row % 3 == 0 ? "2\n" : "1\n";
    return weights;
  }

  ProcessOptions Options(const std::string& conf, const std::vector<std::string>& more) const {
    ProcessOptions options{.arguments = {"--lightgbm_conf=" + conf}, .folder = folder_.path()};
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    return options;
  }

  ProcessResult Run(const std::string& conf, const std::string& text,
                    const std::vector<std::string>& more = {}) const {
    WriteWholeFile(folder_.File(conf), text);
    return RunProcess(ProgramPath("strata-worker"), Options(conf, more));
  }

  // Trains by the one, then predicts the rows of `data` by the other.
  void ExpectRuns(const std::string& train, const std::string& data) const {
    const ProcessResult trained = Run("train.conf", train, {"num_trees=10"});
    ASSERT_EQ(trained.end.code, 0) << trained.errors;
    EXPECT_THAT(trained.output, HasSubstr("valid_1"));
    ExpectPredicts(data);
  }

  void ExpectPredicts(const std::string& data) const {
    const ProcessResult predicted = Run(
        "predict.conf", "task = predict\ndata = " + data + "\ninput_model= LightGBM_model.txt\n");
    ASSERT_EQ(predicted.end.code, 0) << predicted.errors;
    const std::string predictions = ReadWholeFile(folder_.File("LightGBM_predict_result.txt"));
    EXPECT_EQ(std::ranges::count(predictions, '\n'), static_cast<ptrdiff_t>(kRows));
  }

  // What a conf begins with.
  static std::string Begin(const std::string& objective, const std::string& metric,
                           const std::string& data) {
    return fmt::format(
        "task = train\nboosting_type = gbdt\nobjective = {}\nmetric = {}\nmetric_freq = 1\n"
        "is_training_metric = true\nlabel_column = 0\nmax_bin = 255\ndata = {}.train\n"
        "valid_data = {}.test\nnum_trees = 100\n",
        objective, metric, data, data);
  }

  static std::string Binary() {
    return Begin("binary", "binary_logloss,auc", "binary") +
           "learning_rate = 0.1\nnum_leaves = 63\nfeature_fraction = 0.8\nbagging_freq = 5\n"
           "bagging_fraction = 0.8\nmin_data_in_leaf = 50\nmin_sum_hessian_in_leaf = 5.0\n";
  }

  static std::string Ranking(const std::string& objective) {
    return Begin(objective, "ndcg", "rank") +
           "ndcg_eval_at = 1,3,5\nlearning_rate = 0.1\nnum_leaves = 31\nfeature_fraction = 1.0\n"
           "bagging_freq = 1\nbagging_fraction = 0.9\nmin_data_in_leaf = 50\n"
           "min_sum_hessian_in_leaf = 5.0\n";
  }

  static constexpr uint64_t kRows = 400;
  TempFolder folder_;
};

TEST_F(ExampleConfs, BinaryClassificationRuns) { ExpectRuns(Binary() + kCommon, "binary.test"); }

TEST_F(ExampleConfs, RegressionRuns) {
  ExpectRuns(Begin("regression", "l2", "regression") +
                 "learning_rate = 0.05\nnum_leaves = 31\nfeature_fraction = 0.9\nbagging_freq = 5\n"
                 "bagging_fraction = 0.8\nmin_data_in_leaf = 100\nmin_sum_hessian_in_leaf = 5.0\n" +
                 kCommon,
             "regression.test");
}

TEST_F(ExampleConfs, MulticlassClassificationRuns) {
  ExpectRuns(Begin("multiclass", "multi_logloss,auc_mu", "multiclass") +
                 "auc_mu_weights = 0,1,2,3,4,5,0,6,7,8,9,10,0,11,12,13,14,15,0,16,17,18,19,20,0\n"
                 "num_class = 5\nearly_stopping = 10\nlearning_rate = 0.05\nnum_leaves = 31\n",
             "multiclass.test");
}

TEST_F(ExampleConfs, LambdaRankRuns) { ExpectRuns(Ranking("lambdarank") + kCommon, "rank.test"); }

TEST_F(ExampleConfs, XeNdcgRuns) {
  ExpectRuns(Ranking("rank_xendcg") + "num_threads = 1\nobjective_seed = 1025\n" + kCommon,
             "rank.test");
}

// Two workers of one machine, told apart by their ports.
TEST_F(ExampleConfs, ParallelLearningRuns) {
  std::string conf = Binary() + kCommon;
  const auto replace = [&conf](const std::string& from, const std::string& to) {
    const size_t at = conf.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    conf.replace(at, from.size(), to);
  };
  replace("tree_learner = serial", "tree_learner = feature");
  replace("num_machines = 1", "num_machines = 2");
  WriteWholeFile(folder_.File("train.conf"), conf);
  std::deque<FreePort> held(2);
  const std::vector<uint16_t> ports = {held[0].number(), held[1].number()};
  held.clear();  // free until the workers take them
  WriteWholeFile(folder_.File("mlist.txt"),
                 fmt::format("127.0.0.1 {}\n127.0.0.1 {}\n", ports[0], ports[1]));
  std::deque<Process> ranks;
  for (const uint16_t port : ports) {
    ranks.emplace_back(
        ProgramPath("strata-worker"),
        Options("train.conf", {fmt::format("local_listen_port={}", port), "num_trees=10"}));
  }
  for (Process& rank : ranks) ASSERT_EQ(rank.Wait(), ProcessEnd{}) << rank.Errors();
  ExpectPredicts("binary.test");
}

TEST_F(ExampleConfs, LinearTreesAreRefusedByName) {
  const ProcessResult result =
      Run("train_linear.conf", Binary() + "linear_tree = true\n" + kCommon);
  EXPECT_EQ(result.end.code, 2);
  EXPECT_THAT(result.errors,
              HasSubstr("linear_tree is a parameter of LightGBM that Strata does not support"));
}

}  // namespace
}  // namespace strata
