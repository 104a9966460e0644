// Models that training over ranks goes on from, or gives new leaves: those of one process, to the
// bit, with whatever number of ranks; and objectives of a caller's own over ranks.
#include <gmock/gmock.h>

#include <optional>

#include "tests/worker/gbdt/ranks_training.h"
#include "worker/gbdt/data/text_rows.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// Without the parameters, which say how it came about.
std::string TreesOf(const std::string& model) { return model.substr(0, model.find("\nparam")); }

class RanksContinue : public RanksTraining {
 protected:
  // Trains by as many ranks the rounds that the start lacks.
  Trained GoOn(int world, const RanksCase& c, const std::string& start, int rounds) {
    return Train(world, Conf(c, "tree_learner = data"), [&](TreeParameters* p) {
      p->task.input_model = start;
      p->boosting.num_iterations = rounds;
    });
  }
};

const RanksCase kCases[] = {
    {"goss", "class",
     "objective = binary\nmetric = auc\ndata_sample_strategy = goss\nlearning_rate = 0.5\n"
     "feature_fraction = 0.7"},
    {"bagging", "three",
     "objective = multiclass\nnum_class = 3\nbagging_freq = 2\nbagging_fraction = 0.6"},
    {"renewal", "number", "objective = quantile\nalpha = 0.7"},
    {"forest", "number",
     "objective = regression\nboosting = rf\nbagging_freq = 1\nbagging_fraction = 0.6"},
    {"rank", "three", "objective = lambdarank\nmetric = ndcg\neval_at = 3", true},
};

TEST_F(RanksContinue, TrainingGoesOnFromASnapshotWithAnyNumberOfRanks) {
  for (const RanksCase& c : kCases) {
    SCOPED_TRACE(c.name);
    WriteData(c);
    const Trained whole = Train(3, Conf(c, "tree_learner = data\nsnapshot_freq = 2"));
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    EXPECT_THAT(whole.model, HasSubstr("Tree=5\n"));
    const std::string snapshot = folder_.File("model.txt.snapshot_iter_4");
    for (const int world : {1, 2, 5}) {
      SCOPED_TRACE(fmt::format("{} ranks", world));
      const Trained later = GoOn(world, c, snapshot, 2);
      ASSERT_TRUE(later.status.ok()) << later.status.ToString();
      EXPECT_EQ(TreesOf(later.model), TreesOf(whole.model));
      ExpectSame(later.evaluations, whole.evaluations);
    }
  }
}

TEST_F(RanksContinue, RefitGivesTheSameLeavesForAnyNumberOfRanks) {
  for (const RanksCase& c : {kCases[1], kCases[4]}) {
    SCOPED_TRACE(c.name);
    WriteData(c);
    ASSERT_TRUE(Train(1, Conf(c, "")).status.ok());
    const std::string start = folder_.File("start.txt");
    WriteWholeFile(start, ReadWholeFile(folder_.File("model.txt")));
    const auto refit = [&](int world, const char* learner) {
      return Train(world, Conf(c, fmt::format("tree_learner = {}", learner)),
                   [&](TreeParameters* p) {
                     p->task.name = "refit";
                     p->data.path = p->data.valid[0];
                     p->task.input_model = start;
                   });
    };
    const Trained alone = refit(1, "serial");
    ASSERT_TRUE(alone.status.ok()) << alone.status.ToString();
    EXPECT_NE(alone.model, ReadWholeFile(start));
    for (const auto& [world, learner] : {std::pair{2, "data"}, {5, "data"}, {3, "feature"}}) {
      SCOPED_TRACE(fmt::format("{} ranks, {}-parallel", world, learner));
      const Trained together = refit(world, learner);
      ASSERT_TRUE(together.status.ok()) << together.status.ToString();
      EXPECT_EQ(together.model, alone.model);
    }
  }
}

// The fourth power of the error, of this rank's rows.
class FourthPower : public TreeObjective {
 public:
  explicit FourthPower(const TreeDataset& data) : data_(data) {}
  std::string ModelText() const override { return "custom"; }
  double StartScore(size_t /*k*/) const override { return 0.25; }
  void Gradients(std::span<const double> scores, uint64_t /*round*/, WorkPool& /*pool*/,
                 std::span<float> gradients, std::span<float> hessians) const override {
    for (size_t row = 0; row < scores.size(); ++row) {
      const double error = scores[row] - static_cast<double>(data_.labels[row]);
      gradients[row] = static_cast<float>(4 * error * error * error);
      hessians[row] = static_cast<float>(12 * error * error + 0.1);
    }
  }

 private:
  const TreeDataset& data_;
};

// As a caller of the library does it: every rank loads its part, and brings gradients of its rows.
TEST_F(RanksContinue, ACallersObjectiveGivesOneModel) {
  const RanksCase c = {"own", "number", "bagging_freq = 1\nbagging_fraction = 0.7"};
  WriteData(c);
  const auto train = [&](int world) {
    std::vector<std::optional<TreeModel>> models(static_cast<size_t>(world));
    RunRanks(world, [&](Group& group) {
      const auto parameters = ParseLightGbmConf(Conf(c, "tree_learner = data"), "train.conf", {});
      const auto pool = WorkPool::Start("test", 1);
      ASSERT_TRUE(parameters.ok() && pool.ok());
      const auto rows = TextRows::Open(RealDisk(), parameters->data.path, {});
      ASSERT_TRUE(rows.ok());
      Group* const others = world == 1 ? nullptr : &group;
      const auto data =
          LoadTreeDataset(RealDisk(), **rows, parameters->data.path,
                          {.binning = parameters->data.binning, .categorical = {}, .group = others},
                          nullptr, **pool);
      ASSERT_TRUE(data.ok()) << data.status().ToString();
      const auto booster =
          Booster::Make(*parameters, *data, {}, **pool, 2, nullptr, others,
                        {.model = {}, .objective = std::make_unique<FourthPower>(*data)});
      ASSERT_TRUE(booster.ok()) << booster.status().ToString();
      for (int round = 0; round < 6; ++round) ASSERT_TRUE((*booster)->Round().ok());
      models[static_cast<size_t>(group.rank())] = (*booster)->model();
    });
    return models;
  };
  const auto alone = train(1);
  ASSERT_TRUE(alone[0].has_value());
  for (const int world : {2, 5}) {
    for (const auto& model : train(world)) {
      ASSERT_TRUE(model.has_value());
      EXPECT_EQ(model->trees, alone[0]->trees) << world;
    }
  }
}

}  // namespace
}  // namespace strata
