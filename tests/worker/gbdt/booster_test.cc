#include "worker/gbdt/boost/booster.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/gbdt/tree_data.h"
#include "worker/gbdt/boost/early_stopping.h"
#include "worker/gbdt/from_model/continue_model.h"
#include "worker/gbdt/from_model/refit.h"
#include "worker/gbdt/model/lightgbm_text.h"

namespace strata {
namespace {

double Wave(const std::vector<double>& x) { return std::sin(3 * x[0]) + x[1] * x[2] + 2; }
double Class(const std::vector<double>& x) { return x[0] + x[1] * x[2] > 0.1 ? 1 : 0; }

class BoosterTest : public testing::Test {
 protected:
  static std::unique_ptr<WorkPool> Pool(int others) {
    Result<std::unique_ptr<WorkPool>> pool = WorkPool::Start("test", others);
    STRATA_CHECK(pool.ok());
    return std::move(*pool);
  }

  std::unique_ptr<Booster> Make(const std::string& conf, const TreeData& train,
                                BoosterStart start = {}) {
    const TreeDataset* valid[] = {valid_.data.get()};
    Result<std::unique_ptr<Booster>> booster =
        Booster::Make(ParametersOf("num_leaves = 7\n" + conf), *train.data, valid, *pool_, 3,
                      nullptr, nullptr, std::move(start));
    STRATA_CHECK(booster.ok());
    return std::move(*booster);
  }

  static void Train(Booster* booster, size_t rounds) {
    for (size_t round = 0; round < rounds; ++round) {
      const Result<bool> goes_on = booster->Round();
      ASSERT_TRUE(goes_on.ok()) << goes_on.status().ToString();
      ASSERT_TRUE(*goes_on);
    }
  }

  static double MeanSquare(const std::vector<double>& scores, const TreeDataset& data,
                           double factor) {
    double sum = 0;
    for (size_t row = 0; row < scores.size(); ++row) {
      sum += std::pow(scores[row] * factor - static_cast<double>(data.labels[row]), 2);
    }
    return sum / static_cast<double>(scores.size());
  }

  std::unique_ptr<WorkPool> pool_ = Pool(2);
  TreeData train_ = MakeTreeData(1, 800, 3, Wave, *pool_);
  TreeData valid_ = MakeTreeData(2, 300, 3, Wave, *pool_);
  TreeData classes_ = MakeTreeData(3, 800, 3, Class, *pool_);
};

// What the booster believes the rows' scores to be is what the model says of their values, after
// every round, whatever happened to earlier trees.
TEST_F(BoosterTest, ScoresAreTheSumOfTheModelsTrees) {
  for (const char* conf :
       {"", "boosting = dart\nskip_drop = 0\ndrop_rate = 0.5\n",
        "boosting = dart\nskip_drop = 0.2\ndrop_rate = 0.5\nxgboost_dart_mode = true\n",
        "boosting = dart\nskip_drop = 0\nuniform_drop = true\nmax_drop = 2\ndrop_rate = 0.9\n",
        "boosting = rf\nbagging_freq = 1\nbagging_fraction = 0.6\n",
        "data_sample_strategy = goss\nlearning_rate = 0.4\n",
        "objective = regression_l1\nbagging_freq = 2\nbagging_fraction = 0.5\n"}) {
    const std::unique_ptr<Booster> booster = Make(std::string("metric = l2\n") + conf, train_);
    for (size_t round = 1; round <= 12; ++round) {
      Train(booster.get(), 1);
      const std::vector<double> scores = train_.Predict(booster->model());
      const std::vector<double> kept = *booster->training_scores();
      for (size_t row = 0; row < scores.size(); ++row) {
        ASSERT_NEAR(kept[row], scores[row], 1e-12 * static_cast<double>(round))
            << conf << " round " << round << " row " << row;
      }
      // Of the validation rows, metrics tell; a forest's are of means.
      const double factor = booster->model().average_output ? 1.0 / static_cast<double>(round) : 1;
      const auto evaluations = booster->Evaluate();
      ASSERT_TRUE(evaluations.ok());
      EXPECT_NEAR((*evaluations)[0].metrics[0].value,
                  MeanSquare(valid_.Predict(booster->model()), *valid_.data, factor), 1e-9)
          << conf << " round " << round;
    }
  }
}

TEST_F(BoosterTest, DartSharesWeightBetweenNewAndDroppedTrees) {
  const std::unique_ptr<Booster> booster = Make(
      "boosting = dart\nskip_drop = 0\ndrop_rate = 1\nmax_drop = -1\nuniform_drop = true\n"
      "learning_rate = 0.3\nboost_from_average = false\n",
      train_);
  Train(booster.get(), 1);
  EXPECT_NEAR(booster->model().trees[0].shrinkage, 0.3, 1e-15);
  Train(booster.get(), 1);  // drops the first: 1 / 2 each
  EXPECT_NEAR(booster->model().trees[0].shrinkage, 0.3 / 2, 1e-15);
  EXPECT_NEAR(booster->model().trees[1].shrinkage, 0.3 / 2, 1e-15);
  Train(booster.get(), 1);  // drops both: the new one has 1 / 3, the others 2 / 3 of theirs
  EXPECT_NEAR(booster->model().trees[0].shrinkage, 0.3 / 2 * 2 / 3, 1e-15);
  EXPECT_NEAR(booster->model().trees[2].shrinkage, 0.3 / 3, 1e-15);
}

TEST_F(BoosterTest, ATreeOfAForestStandsForItself) {
  const std::unique_ptr<Booster> booster =
      Make("boosting = rf\nbagging_freq = 1\nbagging_fraction = 0.6\n", train_);
  Train(booster.get(), 10);
  double mean = 0;
  for (const float label : train_.data->labels) mean += static_cast<double>(label) / 800;
  std::vector<double> losses;
  for (size_t t = 0; t < 10; ++t) {
    TreeModel one = booster->model();
    one.trees = {booster->model().trees[t]};
    losses.push_back(MeanSquare(valid_.Predict(one), *valid_.data, 1));
  }
  const double all = MeanSquare(valid_.Predict(booster->model()), *valid_.data, 0.1);
  const double constant = MeanSquare(std::vector<double>(300, mean), *valid_.data, 1);
  for (const double loss : losses) {
    EXPECT_LT(loss, constant / 2);
    EXPECT_LT(all, loss);
  }
}

TEST_F(BoosterTest, RoundsAddedLaterAreTheSame) {
  for (const char* conf : {"bagging_freq = 3\nbagging_fraction = 0.6\nfeature_fraction = 0.7\n",
                           "data_sample_strategy = goss\nlearning_rate = 0.25\n",
                           "boosting = rf\nbagging_freq = 2\nbagging_fraction = 0.6\n"}) {
    const std::unique_ptr<Booster> whole = Make(conf, train_);
    Train(whole.get(), 10);
    std::unique_ptr<Booster> part = Make(conf, train_);
    Train(part.get(), 5);
    const Result<std::string> text = WriteLightGbmText(part->model());
    ASSERT_TRUE(text.ok());
    Result<TreeModel> model = ReadLightGbmText(*text, "half");
    ASSERT_TRUE(model.ok());
    TextDisk disk;
    disk.files["d"] = train_.text;
    const auto source = TextRows::Open(disk, "d", {});
    ASSERT_TRUE(source.ok());
    TreeParameters p = ParametersOf(conf);
    ASSERT_TRUE(CheckContinues(*model, p, *train_.data).ok());
    p.objective.name = "binary";
    EXPECT_NE(CheckContinues(*model, p, *train_.data).message().find("its objective is regression"),
              std::string::npos);
    ASSERT_TRUE(AddPredictions(*model, **source, *pool_, train_.data.get()).ok());
    part = Make(conf, train_, {.model = std::move(*model), .objective = nullptr});
    train_.data->init_scores.clear();
    EXPECT_EQ(part->rounds(), 5U);
    Train(part.get(), 5);
    EXPECT_EQ(part->model().trees, whole->model().trees) << conf;
  }
}

TEST_F(BoosterTest, RefitGivesLeavesWhatOtherRowsAskFor) {
  const std::string conf =
      "objective = binary\nmetric = none\nrefit_decay_rate = 0.6\nlambda_l2 = 0.5\n";
  const std::unique_ptr<Booster> booster = Make(conf, classes_);
  Train(booster.get(), 6);
  const TreeData other = MakeTreeData(9, 400, 3, Class, *pool_);
  TextDisk disk;
  disk.files["d"] = other.text;
  const auto source = TextRows::Open(disk, "d", {});
  const TreeParameters p = ParametersOf(conf);
  const auto objective = MakeObjective(p.objective, *other.data);
  ASSERT_TRUE(source.ok() && objective.ok());
  const Result<TreeModel> refit =
      RefitModel(booster->model(), p.growth.rules, p.task.refit_decay_rate, *other.data,
                 **objective, **source, *pool_);
  ASSERT_TRUE(refit.ok()) << refit.status().ToString();
  std::vector<double> scores(400, 0);
  for (size_t t = 0; t < 6; ++t) {
    const Tree& tree = booster->model().trees[t];
    std::vector<double> gradients(tree.leaves.size(), 0);
    std::vector<double> hessians(tree.leaves.size(), 0);
    for (size_t row = 0; row < 400; ++row) {
      const double probability = 1 / (1 + std::exp(-scores[row]));
      gradients[tree.LeafOf(other.rows[row])] +=
          probability - static_cast<double>(other.data->labels[row]);
      hessians[tree.LeafOf(other.rows[row])] += probability * (1 - probability);
    }
    std::vector<double> values;
    for (size_t leaf = 0; leaf < tree.leaves.size(); ++leaf) {
      const double output = -gradients[leaf] / (hessians[leaf] + 0.5) * tree.shrinkage;
      values.push_back(0.6 * tree.leaves[leaf].value + 0.4 * output);
      EXPECT_NEAR(refit->trees[t].leaves[leaf].value, values.back(), 1e-6);
    }
    for (size_t row = 0; row < 400; ++row) scores[row] += values[tree.LeafOf(other.rows[row])];
  }
}

TEST_F(BoosterTest, ARoundWithoutASplitIsTakenBackAndEndsTraining) {
  const std::unique_ptr<Booster> booster = Make("min_gain_to_split = 3\n", train_);
  Result<bool> goes_on = true;
  size_t rounds = 0;
  for (; rounds < 200 && *goes_on; ++rounds) {
    goes_on = booster->Round();
    ASSERT_TRUE(goes_on.ok());
  }
  ASSERT_GT(rounds, 2U);
  ASSERT_LT(rounds, 200U);
  EXPECT_EQ(booster->rounds(), rounds - 1);
  for (const Tree& tree : booster->model().trees) EXPECT_FALSE(tree.nodes.empty());
}

TEST_F(BoosterTest, AClassThatNeverOccursGetsConstantTrees) {
  const auto data = MakeTreeData(
      5, 300, 3, [](const auto& x) { return x[0] > 0 ? 2.0 : 0.0; }, *pool_, 3);
  Result<std::unique_ptr<Booster>> booster = Booster::Make(
      ParametersOf("objective = multiclass\nnum_class = 3\n"), *data.data, {}, *pool_, 3);
  ASSERT_TRUE(booster.ok());
  Train(booster->get(), 3);
  for (size_t t = 0; t < 9; ++t) {
    EXPECT_EQ((*booster)->model().trees[t].nodes.empty(), t % 3 == 1) << t;
  }
  EXPECT_LT((*booster)->model().trees[1].leaves[0].value, -30);
  EXPECT_EQ((*booster)->model().trees[4].leaves[0].value, 0);
}

// As in LightGBM: a model of constants, which say so.
TEST_F(BoosterTest, OneClassAloneEndsTrainingWithConstants) {
  const auto data = MakeTreeData(
      5, 300, 3, [](const auto& /*x*/) { return 1.0; }, *pool_, 3);
  for (const char* objective : {"multiclass", "multiclassova"}) {
    Result<std::unique_ptr<Booster>> booster =
        Booster::Make(ParametersOf(fmt::format("objective = {}\nnum_class = 3\n", objective)),
                      *data.data, {}, *pool_, 3);
    ASSERT_TRUE(booster.ok());
    const Result<bool> goes_on = (*booster)->Round();
    ASSERT_TRUE(goes_on.ok());
    EXPECT_FALSE(*goes_on);
    const std::vector<Tree>& trees = (*booster)->model().trees;
    ASSERT_EQ(trees.size(), 3U);
    const bool softmax = std::string_view(objective) == "multiclass";
    EXPECT_DOUBLE_EQ(trees[0].leaves[0].value, -34.538776391283193);
    EXPECT_DOUBLE_EQ(trees[1].leaves[0].value, softmax ? 0 : 34.539575992340879);
    EXPECT_DOUBLE_EQ(trees[2].leaves[0].value, -34.538776391283193);
  }
}

// As in LightGBM: where the first tree cannot be grown, its constant is what boosting would have
// started from, whether it did or not.
TEST_F(BoosterTest, WithoutASplitTheModelIsTheStartEvenIfBoostingDoesNotBeginWithIt) {
  for (const char* conf : {"", "objective = regression_l1\n", "objective = huber\n",
                           "objective = quantile\nalpha = 0.2\n", "boosting = dart\n"}) {
    SCOPED_TRACE(conf);
    const std::string no_split = std::string("metric = l2\nmin_data_in_leaf = 500\n") + conf;
    const auto from_average = Make(no_split, train_);
    const auto from_zero = Make(no_split + "boost_from_average = false\n", train_);
    for (Booster* booster : {from_average.get(), from_zero.get()}) {
      const Result<bool> goes_on = booster->Round();
      ASSERT_TRUE(goes_on.ok()) << goes_on.status().ToString();
      EXPECT_FALSE(*goes_on);
    }
    ASSERT_EQ(from_zero->model().trees.size(), 1U);
    EXPECT_NE(from_zero->model().trees[0].leaves[0].value, 0);
    EXPECT_EQ(from_zero->model().trees, from_average->model().trees);
    EXPECT_EQ((*from_zero->training_scores())[0], (*from_average->training_scores())[0]);
    EXPECT_EQ((*from_zero->Evaluate())[0].metrics[0].value,
              (*from_average->Evaluate())[0].metrics[0].value);
  }
}

TEST_F(BoosterTest, AClassThatNeverOccursStartsFromItsShareEvenIfOthersBeginWithZero) {
  const auto data = MakeTreeData(
      5, 300, 3, [](const auto& x) { return x[0] > 0 ? 2.0 : 0.0; }, *pool_, 3);
  Result<std::unique_ptr<Booster>> booster =
      Booster::Make(ParametersOf("objective = multiclass\nnum_class = 3\nboost_from_average = "
                                 "false\n"),
                    *data.data, {}, *pool_, 3);
  ASSERT_TRUE(booster.ok());
  Train(booster->get(), 2);
  const double start = (*booster)->model().trees[1].leaves[0].value;
  EXPECT_LT(start, -30);
  EXPECT_EQ((*(*booster)->training_scores())[300], start);
  EXPECT_EQ((*booster)->model().trees[4].leaves[0].value, 0);
}

// Half the squared error, as a caller of the library may give it.
class OwnObjective : public TreeObjective {
 public:
  explicit OwnObjective(const TreeDataset& data) : data_(data) {}
  std::string ModelText() const override { return "custom"; }
  double StartScore(size_t /*k*/) const override { return 1.5; }
  void Gradients(std::span<const double> scores, uint64_t /*round*/, WorkPool& /*pool*/,
                 std::span<float> gradients, std::span<float> hessians) const override {
    for (size_t row = 0; row < scores.size(); ++row) {
      gradients[row] = static_cast<float>(scores[row] - static_cast<double>(data_.labels[row]));
      hessians[row] = 1;
    }
  }

 private:
  const TreeDataset& data_;
};

TEST_F(BoosterTest, ACallersObjectiveIsMinimised) {
  const std::unique_ptr<Booster> own =
      Make("", train_, {.model = {}, .objective = std::make_unique<OwnObjective>(*train_.data)});
  EXPECT_EQ((*own->training_scores())[0], 1.5);
  Train(own.get(), 30);
  EXPECT_EQ(own->model().objective, "custom");
  EXPECT_LT(MeanSquare(train_.Predict(own->model()), *train_.data, 1), 0.1);
  // The same gradients, the same trees.
  train_.data->init_scores.assign(800, 1.5);
  const std::unique_ptr<Booster> named = Make("", train_);
  Train(named.get(), 30);
  for (size_t t = 1; t < 30; ++t) EXPECT_EQ(own->model().trees[t], named->model().trees[t]);
}

// The first feature may only raise predictions, the last only lower them; the label does neither.
TEST_F(BoosterTest, PredictionsKeepToMonotoneConstraints) {
  constexpr size_t kRounds = 15;
  for (const char* conf :
       {"", "monotone_constraints_method = intermediate\n",
        "monotone_constraints_method = advanced\n", "objective = poisson\nlambda_l2 = 3\n",
        "grow_policy = depthwise\npath_smooth = 4\n",
        "monotone_penalty = 1.5\nmax_delta_step = 0.3\n", "extra_trees = true\n",
        "boosting = dart\nskip_drop = 0\n",
        "use_quantized_grad = true\nquant_train_renew_leaf = true\n"}) {
    SCOPED_TRACE(conf);
    const std::unique_ptr<Booster> booster = Make(
        "metric = none\nlearning_rate = 0.5\nmin_data_in_leaf = 5\nmonotone_constraints = "
        "1,0,-1\n" +
            std::string(conf),
        train_);
    Train(booster.get(), kRounds);
    Random random(11);
    size_t changes = 0;
    for (int i = 0; i < 300; ++i) {
      std::vector<double> row;
      for (int f = 0; f < 3; ++f) row.push_back(static_cast<double>(random.Below(2000)) / 1000 - 1);
      if (i % 5 == 0) row[1] = std::nan("");
      for (const size_t feature : {0U, 2U}) {
        std::vector<double> scores;
        for (int step = -11; step <= 11; ++step) {
          row[feature] = step / 10.0 + 0.05;
          double score = 0;
          for (const Tree& tree : booster->model().trees) {
            score += tree.leaves[tree.LeafOf(row)].value;
          }
          scores.push_back(feature == 0 ? score : -score);
        }
        for (size_t s = 1; s < scores.size(); ++s) {
          EXPECT_GE(scores[s], scores[s - 1] - 1e-12);
          changes += scores[s] > scores[s - 1] + 1e-9 ? 1 : 0;
        }
      }
    }
    EXPECT_GT(changes, 300U) << "nothing is learned of them";
  }
  EXPECT_EQ(Make("monotone_constraints = 1,0,-1\n", train_)->model().monotone_constraints,
            (std::vector<int32_t>{1, 0, -1}));
}

// With squared errors, the mean of what is left of the labels.
TEST_F(BoosterTest, LeavesAreRenewedFromGradientsAsTheyWere) {
  const char* const conf = "use_quantized_grad = true\nlearning_rate = 1\nmetric = none\n";
  double rounded_off = 0;
  for (const bool renews : {true, false}) {
    const std::unique_ptr<Booster> booster =
        Make(std::string(conf) + (renews ? "quant_train_renew_leaf = true\n" : ""), train_);
    Train(booster.get(), 1);
    const Tree& tree = booster->model().trees[0];
    std::vector<double> sums(tree.leaves.size(), 0);
    std::vector<double> rows(tree.leaves.size(), 0);
    for (size_t row = 0; row < train_.rows.size(); ++row) {
      const auto leaf = static_cast<size_t>(tree.LeafOf(train_.rows[row]));
      sums[leaf] += static_cast<double>(train_.data->labels[row]);
      ++rows[leaf];
    }
    for (size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const double off = std::fabs(tree.leaves[leaf].value - sums[leaf] / rows[leaf]);
      if (renews) {
        EXPECT_LT(off, 1e-6) << leaf;
      } else {
        rounded_off = std::max(rounded_off, off);
      }
    }
  }
  EXPECT_GT(rounded_off, 1e-3);
}

TEST_F(BoosterTest, LevelsAreSplitBeforeWhatIsBelowThem) {
  const std::unique_ptr<Booster> booster =
      Make("grow_policy = depthwise\nmin_data_in_leaf = 2\n", train_);
  Train(booster.get(), 5);
  for (const Tree& tree : booster->model().trees) {
    ASSERT_EQ(tree.nodes.size(), 6U);
    std::vector<int> depth(tree.nodes.size(), 0);
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      for (const int32_t child : {tree.nodes[i].left, tree.nodes[i].right}) {
        if (child >= 0) depth[static_cast<size_t>(child)] = depth[i] + 1;
      }
    }
    EXPECT_TRUE(std::ranges::is_sorted(depth));  // nodes are numbered as they were split
    for (size_t i = 1; i < tree.nodes.size(); ++i) {
      if (depth[i] != depth[i - 1]) continue;
      EXPECT_GE(tree.nodes[i - 1].gain, tree.nodes[i].gain);
    }
  }
}

TEST_F(BoosterTest, ThreadsDoNotMatter) {
  for (const char* conf :
       {"bagging_freq = 1\nbagging_fraction = 0.6\nfeature_fraction = 0.7\n",
        "boosting = dart\nskip_drop = 0\n", "data_sample_strategy = goss\nlearning_rate = 0.5\n",
        "grow_policy = depthwise\nmonotone_constraints = 1,0,0\nextra_trees = true\n"
        "feature_fraction_bynode = 0.7\ninteraction_constraints = [0,1],[1,2]\n",
        "monotone_constraints = 1,0,-1\nmonotone_constraints_method = intermediate\n",
        "monotone_constraints = 1,0,-1\nmonotone_constraints_method = advanced\n",
        "use_quantized_grad = true\nquant_train_renew_leaf = true\n"}) {
    const std::unique_ptr<Booster> many = Make(conf, train_);
    Train(many.get(), 8);
    const auto alone = Pool(0);
    Result<std::unique_ptr<Booster>> one = Booster::Make(
        ParametersOf(std::string("num_leaves = 7\n") + conf), *train_.data, {}, *alone, 1);
    ASSERT_TRUE(one.ok());
    Train(one->get(), 8);
    EXPECT_EQ(many->model().trees, (*one)->model().trees) << conf;
  }
}

std::vector<Evaluation> Of(double training, double first_at_1, double first_at_3, double second) {
  return {{.data = "training", .metrics = {{.name = "l2", .value = training}}},
          {.data = "valid_1",
           .metrics = {
               {.name = "ndcg@1", .value = first_at_1, .higher_is_better = true, .decides = false},
               {.name = "ndcg@3", .value = first_at_3, .higher_is_better = true},
               {.name = "l2", .value = second}}}};
}

TEST(EarlyStoppingTest, TheFirstMetricThatIsNoBetterForLongEnoughEndsIt) {
  EarlyStopping stopping(2, 0, false);
  EXPECT_FALSE(stopping.Add(1, Of(9, 0.9, 0.5, 3)).has_value());
  EXPECT_FALSE(stopping.Add(2, Of(9, 0.8, 0.6, 2)).has_value());  // ndcg@1 does not count
  EXPECT_FALSE(stopping.Add(3, Of(9, 0.7, 0.7, 2)).has_value());  // l2 is best after round 2
  EXPECT_EQ(stopping.Add(4, Of(9, 0.6, 0.8, 2)), 2U);

  EarlyStopping first_only(2, 0.05, true);
  EXPECT_FALSE(first_only.Add(1, Of(9, 0, 0.5, 1)).has_value());
  EXPECT_FALSE(first_only.Add(2, Of(9, 0, 0.56, 2)).has_value());
  EXPECT_FALSE(first_only.Add(3, Of(9, 0, 0.6, 3)).has_value());  // not better by 0.05
  EXPECT_EQ(first_only.Add(4, Of(9, 0, 0.6, 4)), 2U);
}

}  // namespace
}  // namespace strata
