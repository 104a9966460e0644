// Job files, whose categories are texts, over ranks, and training that goes on with such a model.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/worker/gbdt/ranks_training.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr RanksCase kCase = {"texts", "class", ""};

class RanksTexts : public RanksTraining {
 protected:
  // Rows of a label, two numbers and two texts: a town, of which early rows know others than late
  // ones, and a kind, missing in places. From row `begin` on.
  static std::string Lines(size_t begin, size_t rows, bool queries) {
    std::string lines = "label,query,a,town,kind,b\n";
    for (size_t row = begin; row < begin + rows; ++row) {
      const double a = std::floor(Uniform(1, row) * 40) / 10;
      const double b = Uniform(2, row);
      const auto town = row / 60 + static_cast<size_t>(Uniform(3, row) * 5);
      const auto kind = static_cast<size_t>(Uniform(4, row) * 9);
      const double target = a / 4 + static_cast<double>(town % 3) * 0.4 +
                            static_cast<double>(kind % 2) * 0.3 + b * 0.5;
      lines += fmt::format("{},{},{},\"town, {}\",{},{:.3f}\n", target > 1.4 ? 1 : 0,
                           queries ? row / 17 : 0, a, town,
                           kind == 0 ? "?" : fmt::format("{}\xc3\xa9", char('a' + kind)), b);
    }
    return lines;
  }

  static void SetColumns(TreeParameters* p, bool queries) {
    DataSpec spec;
    spec.format.header = true;
    spec.format.missing = {"?"};
    for (const auto& [column, kind] : {std::pair{"a", FeatureKind::kNumeric},
                                       {"town", FeatureKind::kCategorical},
                                       {"b", FeatureKind::kNumeric},
                                       {"kind", FeatureKind::kCategorical}}) {
      spec.features.push_back({.column = column, .kind = kind});
    }
    spec.label = "label";
    spec.label_is_number = true;
    if (queries) {
      spec.query = "query";
    } else {
      spec.ignore = {"query"};
    }
    p->data.columns = spec;
    p->data.categorical_feature = {"1", "3"};
  }

  Trained TrainJob(
      int world, const std::string& more, bool queries,
      const std::function<void(TreeParameters*)>& change = [](TreeParameters*) {}) {
    return Train(world, Conf(kCase, "max_cat_to_onehot = 1\nmin_data_per_group = 10\n" + more),
                 [&](TreeParameters* p) {
                   SetColumns(p, queries);
                   change(p);
                 });
  }
};

TEST_F(RanksTexts, TheModelIsTheSameForAnyNumberOfRanks) {
  for (const bool queries : {false, true}) {
    WriteWholeFile(folder_.File("train.tsv"), Lines(0, 700, queries));
    WriteWholeFile(folder_.File("valid.tsv"), Lines(500, 300, queries));
    const std::string objective =
        queries ? "objective = lambdarank\nmetric = ndcg\n" : "objective = binary\nmetric = auc\n";
    const Trained alone = TrainJob(1, objective, queries);
    ASSERT_TRUE(alone.status.ok()) << alone.status.ToString();
    EXPECT_THAT(alone.model, HasSubstr("num_cat=2"));
    EXPECT_THAT(alone.model, HasSubstr(R"(pandas_categorical:[["town, 0","town, 1","town, 10",)"));
    for (const int world : {2, 3, 5}) {
      SCOPED_TRACE(fmt::format("{} ranks, queries {}", world, queries));
      const Trained together = TrainJob(world, objective + "tree_learner = data\n", queries);
      ASSERT_TRUE(together.status.ok()) << together.status.ToString();
      EXPECT_EQ(together.model, alone.model);
      ExpectSame(together.evaluations, alone.evaluations);
    }
  }
}

TEST_F(RanksTexts, TrainingGoesOnFromAModelOfTexts) {
  WriteWholeFile(folder_.File("train.tsv"), Lines(0, 700, false));
  WriteWholeFile(folder_.File("valid.tsv"), Lines(500, 300, false));
  const std::string conf = "objective = binary\nmetric = auc\nsnapshot_freq = 3\n";
  const Trained whole = TrainJob(1, conf, false);
  ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
  const std::string snapshot = ReadWholeFile(folder_.File("model.txt.snapshot_iter_3"));
  WriteWholeFile(folder_.File("start.txt"), snapshot);
  const auto go_on = [&](int world) {
    return TrainJob(world, conf + "tree_learner = data\n", false, [&](TreeParameters* p) {
      p->task.input_model = folder_.File("start.txt");
      p->boosting.num_iterations = 3;
    });
  };
  const auto trees = [](const std::string& model) {
    return model.substr(0, model.find("\nparam"));
  };
  for (const int world : {1, 3}) {
    const Trained later = go_on(world);
    ASSERT_TRUE(later.status.ok()) << later.status.ToString();
    EXPECT_EQ(trees(later.model), trees(whole.model)) << world;
    ExpectSame(later.evaluations, whole.evaluations);
  }
  // Of other rows: texts that the model knows keep their numbers, and with them its trees; new ones
  // stand behind.
  WriteWholeFile(folder_.File("train.tsv"), Lines(600, 700, false));
  const Trained other = go_on(1);
  ASSERT_TRUE(other.status.ok()) << other.status.ToString();
  EXPECT_EQ(go_on(2).model, other.model);
  const auto tree = [](const std::string& model, int t) {
    const size_t begin = model.find(fmt::format("Tree={}\n", t));
    return model.substr(begin, model.find("shrinkage", begin) - begin);
  };
  for (const int t : {0, 1, 2}) EXPECT_EQ(tree(other.model, t), tree(snapshot, t));
  EXPECT_THAT(other.model, HasSubstr("Tree=5\n"));
  EXPECT_THAT(other.model, HasSubstr(R"(["town, 0","town, 1","town, 10",)"));
  EXPECT_THAT(other.model, HasSubstr(R"("town, 9","town, 16","town, 17",)"));
}

// Bad rows are left out with what side files say of them, whoever reads them.
TEST_F(RanksTexts, BadRowsDoNotShiftSideFiles) {
  WriteWholeFile(folder_.File("valid.tsv"), Lines(500, 300, false));
  const auto write = [&](bool with_bad) {
    std::string rows;
    std::string weights;
    std::vector<int> queries;
    std::istringstream lines(Lines(0, 700, false));
    size_t row = 0;
    for (std::string line; std::getline(lines, line); ++row) {
      rows += line + "\n";
      if (row == 0) continue;  // the header
      weights += fmt::format("{}\n", 1 + row % 5);
      if (row % 23 == 1) queries.push_back(0);
      ++queries.back();
      if (!with_bad || row % 9 != 4) continue;
      rows += "bad\n";
      weights += "100\n";
      ++queries.back();
    }
    std::string counts;
    for (const int query : queries) counts += fmt::format("{}\n", query);
    WriteWholeFile(folder_.File("train.tsv"), rows);
    WriteWholeFile(folder_.File("train.tsv.weight"), weights);
    WriteWholeFile(folder_.File("train.tsv.query"), counts);
    std::string tens;
    for (int query = 0; query < 30; ++query) tens += "10\n";
    WriteWholeFile(folder_.File("valid.tsv.query"), tens);
  };
  const std::string conf = "objective = lambdarank\nmetric = ndcg\ntree_learner = data\n";
  write(false);
  const Trained good = TrainJob(1, conf, false);
  ASSERT_TRUE(good.status.ok()) << good.status.ToString();
  write(true);
  for (const int world : {1, 2, 3}) {
    const Trained bad = TrainJob(
        world, conf, false, [](TreeParameters* p) { p->data.columns->format.bad_share_max = 0.5; });
    ASSERT_TRUE(bad.status.ok()) << bad.status.ToString();
    EXPECT_EQ(bad.model, good.model) << world << " ranks";
  }
}

TEST_F(RanksTexts, APredictionOfABadRowIsNan) {
  WriteWholeFile(folder_.File("train.tsv"), Lines(0, 700, false));
  WriteWholeFile(folder_.File("valid.tsv"), Lines(500, 300, false));
  ASSERT_TRUE(TrainJob(1, "objective = binary\n", false).status.ok());
  std::string rows = Lines(0, 3, false);
  rows.insert(rows.size() - 1, ",too many");
  WriteWholeFile(folder_.File("rows.csv"), rows + "bad\n" + Lines(0, 1, false));
  auto p = ParseLightGbmConf("task = predict\npredict_contrib = true\n", "conf", {});
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  SetColumns(&*p, false);
  p->data.columns->format.bad_share_max = 0.9;
  p->data.path = folder_.File("rows.csv");
  p->task.input_model = folder_.File("model.txt");
  p->task.output_result = folder_.File("out");
  const auto result = RunAs(nullptr, *p);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rows, 6U) << "the header that is repeated has its line, too";
  EXPECT_EQ(result->bad_rows, 3U);
  std::istringstream lines(ReadWholeFile(p->task.output_result));
  std::vector<bool> nan;
  for (std::string line; std::getline(lines, line);) {
    nan.push_back(line == "nan\tnan\tnan\tnan\tnan");
    EXPECT_TRUE(nan.back() || line.find("nan") == std::string::npos) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 4) << line;
  }
  EXPECT_EQ(nan, (std::vector<bool>{false, false, true, true, true, false}));
}

TEST_F(RanksTexts, RanksWithOtherColumnsAreNamed) {
  WriteWholeFile(folder_.File("train.tsv"), Lines(0, 700, false));
  WriteWholeFile(folder_.File("valid.tsv"), Lines(500, 300, false));
  RunRanks(2, [&](Group& group) {
    auto parameters = ParseLightGbmConf(Conf(kCase, "tree_learner = data"), "train.conf", {});
    ASSERT_TRUE(parameters.ok());
    SetColumns(&*parameters, false);
    if (group.rank() == 1) parameters->data.columns->features[1].kind = FeatureKind::kNumeric;
    const auto result = RunAs(&group, *parameters);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.status().message(), HasSubstr("rank 0 has 'feature 1 = town, categorical', "
                                                     "rank 1 has 'feature 1 = town, numeric'"));
  });
}

}  // namespace
}  // namespace strata
