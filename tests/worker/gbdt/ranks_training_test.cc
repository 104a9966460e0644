// Whole trainings over ranks in one process: models and metrics are those of one rank, to the bit.
#include "tests/worker/gbdt/ranks_training.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata {
namespace {

using ::testing::HasSubstr;

const RanksCase kCases[] = {
    {"bagging", "class",
     "objective = binary\nmetric = auc,binary_logloss\nbagging_freq = 1\nbagging_fraction = 0.7\n"
     "feature_fraction = 0.7"},
    {"goss", "class",
     "objective = binary\nmetric = average_precision\ndata_sample_strategy = goss\n"
     "learning_rate = 0.5\nis_unbalance = true"},
    {"quantised", "class", "objective = binary\nuse_quantized_grad = true\nextra_trees = true"},
    {"absolute", "number", "objective = regression_l1\nfeature_fraction_bynode = 0.7"},
    {"mape", "number", "objective = mape\ngradient_bits = 16"},
    {"constrained", "number",
     "objective = regression\nmonotone_constraints = 1,0,-1,0,0\nmonotone_penalty = 0.5\n"
     "grow_policy = depthwise\ninteraction_constraints = [0,1,2],[2,3,4]\n"
     "feature_fraction_bynode = 0.8\nfeature_contri = 1,1,0.5,1,2"},
    {"neighbours", "number",
     "objective = regression\nmonotone_constraints = 1,1,-1,0,0\n"
     "monotone_constraints_method = intermediate"},
    {"by_threshold", "number",
     "objective = regression\nmonotone_constraints = 1,1,-1,0,0\n"
     "monotone_constraints_method = advanced\nbagging_freq = 1\nbagging_fraction = 0.7"},
    {"forced", "number", "objective = huber\nforcedsplits_filename = FOLDER/forced.json"},
    {"renewed", "class",
     "objective = binary\nuse_quantized_grad = true\nquant_train_renew_leaf = true\n"
     "stochastic_rounding = false"},
    {"intensity", "class", "objective = cross_entropy_lambda\nweight_column = 3"},
    {"classes", "three",
     "objective = multiclass\nnum_class = 3\nmetric = multi_logloss,auc_mu\n"
     "auc_mu_weights = 0,1,2,3,0,4,5,6,0"},
    {"sides", "three", "objective = multiclassova\nnum_class = 3\nis_unbalance = true"},
    {"explained", "number", "objective = regression\nmetric = r2\nweight_column = 3"},
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
  for (const RanksCase& c : kCases) {
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

// Counts the collectives of one rank.
class CountedExchanger : public Exchanger {
 public:
  explicit CountedExchanger(Exchanger& exchanger) : exchanger_(exchanger) {}
  int rank() const override { return exchanger_.rank(); }
  int world() const override { return exchanger_.world(); }
  Status Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                  TimeNs deadline) override {
    calls_ = std::max(calls_, tag.call + 1);
    return exchanger_.Exchange(tag, send, receive, deadline);
  }
  void Cancel(const Status& why) override { exchanger_.Cancel(why); }
  uint64_t calls() const { return calls_; }

 private:
  Exchanger& exchanger_;
  uint64_t calls_ = 0;
};

// A tree of 64 leaves: one at a time it takes 184 messages of data-parallel, 61 of feature-parallel
// and 245 of voting.
TEST_F(RanksTraining, SeveralLeavesShareAMessage) {
  const RanksCase c = {"messages", "number", "objective = regression"};
  WriteData(c);
  const auto calls_of = [&](const char* learner, int leaves) {
    MemoryWorld memory(4);
    std::vector<uint64_t> calls(4);
    std::vector<std::thread> threads;
    for (int r = 0; r < 4; ++r) {
      threads.emplace_back([&, r] {
        CountedExchanger counted(memory.rank(r));
        Group group(counted);
        auto parameters =
            ParseLightGbmConf(Conf(c, fmt::format("tree_learner = {}", learner)), "train.conf", {});
        ASSERT_TRUE(parameters.ok());
        parameters->boosting.num_iterations = 1;
        parameters->growth.num_leaves = leaves;
        parameters->growth.rules.min_data_in_leaf = 2;
        const auto result = RunAs(&group, *parameters);
        EXPECT_TRUE(result.ok()) << result.status().ToString();
        calls[static_cast<size_t>(r)] = counted.calls();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return calls[0];
  };
  for (const auto& [learner, most] :
       {std::pair("data", 63U), std::pair("feature", 21U), std::pair("voting", 84U)}) {
    const uint64_t splits = calls_of(learner, 64) - calls_of(learner, 2);
    RecordProperty(learner, static_cast<int>(splits));
    EXPECT_GT(splits, 0U) << learner;
    EXPECT_LT(splits, most) << learner;
  }
}

// Of voting nothing but the features that are looked at may differ.
TEST_F(RanksTraining, VotingIsTheSameFromRunToRunAndDataParallelWhereAllFeaturesWin) {
  const RanksCase& c = kCases[0];
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
  const RanksCase& c = kCases[1];
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
    parameters->data.path = folder_.File(fmt::format("train.{}", group.rank()));
    parameters->data.valid = {folder_.File(fmt::format("valid.{}", group.rank()))};
    const auto result = RunAs(&group, *parameters);
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
  const RanksCase c = {"side", "three", "objective = lambdarank\nmetric = ndcg\neval_at = 3"};
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
  const RanksCase& c = kCases[0];
  WriteData(c);
  WriteWholeFile(folder_.File("valid.tsv"), Rows(100, 3, c.label, false));
  const Trained few = Train(5, Conf(c, "tree_learner = data"));
  EXPECT_EQ(few.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(few.status.message(), HasSubstr("has no row"));
}

// Each rank says what is wrong with all rows, although the first one that ends cancels the others.
TEST_F(RanksTraining, WhatAllRanksFindAllOfThemSay) {
  struct Wrong {
    std::string rows;
    std::string conf;
    const char* message;
  };
  std::string labels;
  std::string zeros;
  for (int row = 0; row < 300; ++row) {
    labels += fmt::format("{}\n", row % 2);
    zeros += fmt::format("0,{},{}\n", row % 7, row % 5);
  }
  for (const Wrong& wrong : {Wrong{labels, "", "there is no feature"},
                             Wrong{zeros, "objective = poisson", "needs a label above 0"}}) {
    WriteWholeFile(folder_.File("wrong.csv"), wrong.rows);
    for (int repeat = 0; repeat < 10; ++repeat) {
      RunRanks(5, [&](Group& group) {
        const auto parameters = ParseLightGbmConf(
            fmt::format("data = {}\ntree_learner = data\nnum_threads = 1\nverbosity = -1\n{}\n",
                        folder_.File("wrong.csv"), wrong.conf),
            "train.conf", {});
        ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
        const Status status = RunAs(&group, *parameters).status();
        group.Cancel(status);
        EXPECT_EQ(status.code(), StatusCode::kInvalid) << status.ToString();
        EXPECT_THAT(status.message(), HasSubstr(wrong.message));
      });
    }
  }
}

TEST_F(RanksTraining, RanksThatWantDifferentModelsAreNamed) {
  const RanksCase& c = kCases[0];
  WriteData(c);
  RunRanks(3, [&](Group& group) {
    auto parameters = ParseLightGbmConf(
        Conf(c, group.rank() == 2 ? "tree_learner = data\nlambda_l2 = 3" : "tree_learner = data"),
        "train.conf", {});
    ASSERT_TRUE(parameters.ok());
    const auto result = RunAs(&group, *parameters);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::kInvalid);
    EXPECT_THAT(result.status().message(), HasSubstr("rank 2 has 'lambda_l2 = 3'"));
  });
}

}  // namespace
}  // namespace strata
