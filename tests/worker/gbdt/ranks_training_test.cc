// Whole trainings over ranks in one process: models and metrics are those of one rank, to the bit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "base/hash.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/rank_world.h"
#include "worker/gbdt/tree_task.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr size_t kRows = 700;

double Uniform(uint64_t seed, size_t row) {
  return static_cast<double>(Mix64(seed * 1000003 + row) >> 11) * 0x1p-53;
}

// Rows of a label, four numbers (one with missing values, one rough), a category and, if asked, a
// query in front.
std::string Rows(uint64_t seed, size_t rows, const std::string& label, bool queries) {
  std::string text;
  size_t query = 0;
  size_t left = 0;
  for (size_t row = 0; row < rows; ++row) {
    const double a = Uniform(seed + 1, row) * 4 - 2;
    const double b = std::floor(Uniform(seed + 2, row) * 9);
    const double c = Uniform(seed + 3, row);
    const double d = Uniform(seed + 4, row) * 100;
    const auto category = static_cast<int>(Uniform(seed + 5, row) * 11);
    const double target = a * c + (category % 3) * 0.7 - b / 9 + Uniform(seed + 6, row) * 0.8;
    double y = target;
    if (label == "class") y = target > 0.4 ? 1 : 0;
    if (label == "three") y = target > 0.8 ? 2 : target > 0 ? 1 : 0;
    if (queries && left-- == 0) {
      ++query;
      left = static_cast<size_t>(Uniform(seed + 7, row) * 24);
    }
    if (queries) text += fmt::format("{}\t", query);
    const std::string missing = Uniform(seed + 8, row) < 0.1 ? "nan" : fmt::format("{:.3f}", c);
    text += fmt::format("{}\t{}\t{}\t{}\t{:.2f}\t{}\n", y, a, b, missing, d, category);
  }
  return text;
}

struct Case {
  const char* name;
  const char* label;
  const char* more;
  bool queries = false;
  int rounds = 6;
};

struct Trained {
  Status status;
  std::string model;
  std::vector<Evaluation> evaluations;
};

class RanksTraining : public ::testing::Test {
 protected:
  void WriteData(const Case& c) {
    WriteWholeFile(folder_.File("train.tsv"), Rows(1, kRows, c.label, c.queries));
    WriteWholeFile(folder_.File("valid.tsv"), Rows(100, kRows / 3, c.label, c.queries));
  }

  std::string Conf(const Case& c, const std::string& more) const {
    return fmt::format(
        "task = train\ndata = {0}/train.tsv\nvalid = {0}/valid.tsv\noutput_model = {0}/model.txt\n"
        "num_leaves = 12\nmin_data_in_leaf = 5\nmin_data_in_bin = 1\n"
        "is_provide_training_metric = true\ncategorical_feature = {1}\nverbosity = -1\n"
        "num_threads = 2\nnum_iterations = {5}\n{2}{3}\n{4}\n",
        folder_.path(), c.queries ? 5 : 4, c.queries ? "label_column = 1\ngroup_column = 0\n" : "",
        c.more, more, c.rounds);
  }

  // What rank 0 wrote and measured; all ranks must have measured the same.
  Trained Train(int world, const std::string& conf) {
    Trained trained;
    std::mutex mutex;
    RunRanks(world, [&](Group& group) {
      const auto parameters = ParseLightGbmConf(conf, "train.conf", {});
      ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
      const TreeTaskContext context = {
          .disk = RealDisk(),
          .clock = RealClock(),
          .progress = [](const TreeProgress&) {},
          .check = [] { return Status::Ok(); },
          .group = world == 1 ? nullptr : &group};
      const auto result = RunTreeTask(*parameters, context);
      const std::lock_guard lock(mutex);
      if (!result.ok()) {
        group.Cancel(result.status());
        if (group.rank() == 0) trained.status = result.status();
        return;
      }
      if (!trained.evaluations.empty()) ExpectSame(trained.evaluations, result->evaluations);
      trained.evaluations = result->evaluations;
    });
    if (trained.status.ok()) trained.model = ReadWholeFile(folder_.File("model.txt"));
    return trained;
  }

  static void ExpectSame(const std::vector<Evaluation>& a, const std::vector<Evaluation>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].metrics.size(), b[i].metrics.size());
      for (size_t m = 0; m < a[i].metrics.size(); ++m) {
        EXPECT_EQ(a[i].metrics[m].value, b[i].metrics[m].value)
            << a[i].data << " " << a[i].metrics[m].name;
      }
    }
  }

  TempFolder folder_;
};

const Case kCases[] = {
    {"bagging", "class",
     "objective = binary\nmetric = auc,binary_logloss\nbagging_freq = 1\nbagging_fraction = 0.7\n"
     "feature_fraction = 0.7"},
    {"goss", "class",
     "objective = binary\nmetric = average_precision\ndata_sample_strategy = goss\n"
     "learning_rate = 0.5\nis_unbalance = true"},
    {"quantised", "class", "objective = binary\nuse_quantized_grad = true\nextra_trees = true"},
    {"absolute", "number", "objective = regression_l1\nfeature_fraction_bynode = 0.7"},
    {"mape", "number", "objective = mape\ngradient_bits = 16"},
    {"classes", "three", "objective = multiclass\nnum_class = 3\nmetric = multi_logloss"},
    {"dart", "number", "objective = regression\nboosting = dart\nskip_drop = 0.2\ndrop_rate = 0.5"},
    {"forest", "number",
     "objective = huber\nboosting = rf\nbagging_freq = 1\nbagging_fraction = 0.6"},
    {"stopping", "number", "objective = regression\nlearning_rate = 1\nearly_stopping_round = 2",
     false, 60},
    {"rank", "three", "objective = lambdarank\nmetric = ndcg,map\neval_at = 1,3,5", true},
    {"rank_sampled", "three",
     "objective = rank_xendcg\nbagging_by_query = true\nbagging_freq = 1\nbagging_fraction = 0.7",
     true},
};

TEST_F(RanksTraining, TheModelIsTheSameForAnyNumberOfRanks) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    WriteData(c);
    const Trained alone = Train(1, Conf(c, ""));
    ASSERT_TRUE(alone.status.ok()) << alone.status.ToString();
    EXPECT_THAT(alone.model, HasSubstr("Tree=2\n"));
    for (const int world : {2, 3, 5}) {
      for (const char* learner : {"data", "feature"}) {
        if (world == 5 && learner == std::string_view("feature")) continue;
        SCOPED_TRACE(fmt::format("{} ranks, {}-parallel", world, learner));
        const Trained together = Train(world, Conf(c, fmt::format("tree_learner = {}", learner)));
        ASSERT_TRUE(together.status.ok()) << together.status.ToString();
        EXPECT_EQ(together.model, alone.model);
        ExpectSame(together.evaluations, alone.evaluations);
      }
    }
  }
}

// Of voting nothing but the features that are looked at may differ.
TEST_F(RanksTraining, VotingIsTheSameFromRunToRunAndDataParallelWhereAllFeaturesWin) {
  const Case& c = kCases[0];
  WriteData(c);
  const Trained data = Train(3, Conf(c, "tree_learner = data"));
  const Trained all = Train(3, Conf(c, "tree_learner = voting\ntop_k = 5"));
  ASSERT_TRUE(all.status.ok()) << all.status.ToString();
  ExpectSame(all.evaluations, data.evaluations);
  const Trained few = Train(3, Conf(c, "tree_learner = voting\ntop_k = 1"));
  const Trained again = Train(3, Conf(c, "tree_learner = voting\ntop_k = 1"));
  ASSERT_TRUE(few.status.ok()) << few.status.ToString();
  EXPECT_EQ(few.model, again.model);
  EXPECT_NE(few.model, data.model);
  ASSERT_EQ(few.evaluations.size(), 2U);
  EXPECT_GT(few.evaluations[0].metrics[0].value, data.evaluations[0].metrics[0].value - 0.02);
}

// With pre_partition each rank's file is its part; together they are the one file of one rank.
TEST_F(RanksTraining, FilesOfTheirOwnAreTheirPartsOfTheRows) {
  const Case& c = kCases[1];
  WriteData(c);
  const Trained alone = Train(1, Conf(c, ""));
  const std::string all = ReadWholeFile(folder_.File("train.tsv"));
  const std::string valid = ReadWholeFile(folder_.File("valid.tsv"));
  const auto part = [](const std::string& text, int rank) {
    // Uneven: a fifth, and the rest.
    const size_t cut = text.find('\n', text.size() / 5) + 1;
    return rank == 0 ? text.substr(0, cut) : text.substr(cut);
  };
  for (const int rank : {0, 1}) {
    WriteWholeFile(folder_.File(fmt::format("train.{}", rank)), part(all, rank));
    WriteWholeFile(folder_.File(fmt::format("valid.{}", rank)), part(valid, rank));
  }
  RunRanks(2, [&](Group& group) {
    auto parameters =
        ParseLightGbmConf(Conf(c, "tree_learner = data\npre_partition = true"), "train.conf", {});
    ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
    parameters->data = folder_.File(fmt::format("train.{}", group.rank()));
    parameters->valid = {folder_.File(fmt::format("valid.{}", group.rank()))};
    const TreeTaskContext context = {
        .disk = RealDisk(),
        .clock = RealClock(),
        .progress = [](const TreeProgress&) {},
        .check = [] { return Status::Ok(); },
        .group = &group};
    const auto result = RunTreeTask(*parameters, context);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    ExpectSame(result->evaluations, alone.evaluations);
  });
  // The file's name is a parameter, and so the only line that differs.
  const auto trees = [](const std::string& model) {
    return model.substr(0, model.find("\nparam"));
  };
  EXPECT_EQ(trees(ReadWholeFile(folder_.File("model.txt"))), trees(alone.model));
}

TEST_F(RanksTraining, SideFilesAreReadInParts) {
  const Case c = {"side", "three", "objective = lambdarank\nmetric = ndcg\neval_at = 3"};
  WriteData(c);
  for (const auto& [name, rows] : {std::pair{"train.tsv", kRows}, {"valid.tsv", kRows / 3}}) {
    std::string queries;
    std::string weights;
    size_t left = rows;
    for (size_t q = 0; left > 0; ++q) {
      const size_t size = std::min<size_t>(left, q % 7 == 3 ? 0 : Mix64(q) % 60);
      queries += fmt::format("{}\n", size);
      left -= size;
    }
    for (size_t row = 0; row < rows; ++row) weights += fmt::format("{:.2f}\n", Uniform(9, row));
    WriteWholeFile(folder_.File(name) + ".query", queries);
    WriteWholeFile(folder_.File(name) + ".weight", weights);
  }
  const Trained alone = Train(1, Conf(c, ""));
  ASSERT_TRUE(alone.status.ok()) << alone.status.ToString();
  for (const int world : {2, 5}) {
    const Trained together = Train(world, Conf(c, "tree_learner = data"));
    ASSERT_TRUE(together.status.ok()) << together.status.ToString();
    EXPECT_EQ(together.model, alone.model);
    ExpectSame(together.evaluations, alone.evaluations);
  }
}

TEST_F(RanksTraining, WhatCannotBeDividedIsSaid) {
  const Case& c = kCases[0];
  WriteData(c);
  WriteWholeFile(folder_.File("valid.tsv"), Rows(100, 3, c.label, false));
  const Trained few = Train(5, Conf(c, "tree_learner = data"));
  EXPECT_EQ(few.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(few.status.message(), HasSubstr("has no row"));
}

TEST_F(RanksTraining, RanksThatWantDifferentModelsAreNamed) {
  const Case& c = kCases[0];
  WriteData(c);
  RunRanks(3, [&](Group& group) {
    auto parameters = ParseLightGbmConf(
        Conf(c, group.rank() == 2 ? "tree_learner = data\nlambda_l2 = 3" : "tree_learner = data"),
        "train.conf", {});
    ASSERT_TRUE(parameters.ok());
    const TreeTaskContext context = {.disk = RealDisk(),
                                     .clock = RealClock(),
                                     .progress = {},
                                     .check = [] { return Status::Ok(); },
                                     .group = &group};
    const auto result = RunTreeTask(*parameters, context);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::kInvalid);
    EXPECT_THAT(result.status().message(), HasSubstr("rank 2 has 'lambda_l2 = 3'"));
  });
}

}  // namespace
}  // namespace strata
