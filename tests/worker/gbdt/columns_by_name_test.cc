// Data that a model is used with: its columns are found by their names, wherever they stand; what
// does not fit is an error that names what was expected and found.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/worker/gbdt/ranks_training.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr size_t kDataRows = 150;

// The value of a column in a row.
std::string ValueOf(const std::string& column, size_t row) {
  const double a = std::floor(Uniform(1, row) * 30);
  const double b = Uniform(2, row);
  const double c = std::floor(Uniform(3, row) * 9) / 4;
  if (column == "a") return fmt::format("{}", a);
  if (column == "b") return fmt::format("{:.3f}", b);
  if (column == "c") return fmt::format("{}", c);
  if (column == "w") return fmt::format("{}", 1 + row % 3);
  if (column == "q") return fmt::format("{}", row / 10);
  if (column == "y") return fmt::format("{:.3f}", a / 10 + b * c);
  return fmt::format("{}", row);  // any other column
}

// A file with a header, its columns in this order.
std::string FileOf(const std::vector<std::string>& columns, char delimiter = ',') {
  std::string text = fmt::format("{}\n", fmt::join(columns, std::string(1, delimiter)));
  for (size_t row = 0; row < kDataRows; ++row) {
    std::vector<std::string> values;
    for (const std::string& column : columns) values.push_back(ValueOf(column, row));
    text += fmt::format("{}\n", fmt::join(values, std::string(1, delimiter)));
  }
  return text;
}

class ColumnsByName : public RanksTraining {
 protected:
  void SetUp() override { WriteWholeFile(folder_.File("train.csv"), FileOf({"y", "a", "b", "c"})); }

  // The conf's keys, and with those of `more`, a line each, in the place of some.
  Result<TreeParameters> Parameters(const std::string& more, bool with_columns = true) const {
    std::string conf = fmt::format(
        "objective = regression\nmetric = l2\nnum_iterations = 8\nmin_data_in_leaf = 5\n"
        "num_threads = 1\nverbosity = -1\ndata = {0}/train.csv\noutput_model = {0}/model.txt\n"
        "output_result = {0}/out.txt\n",
        folder_.path());
    if (with_columns) conf += "header = true\nlabel_column = name:y\n";
    std::vector<std::string> overrides;
    for (size_t begin = 0; begin < more.size();) {
      const size_t end = std::min(more.find('\n', begin), more.size());
      if (end > begin) overrides.push_back(more.substr(begin, end - begin));
      begin = end + 1;
    }
    return ParseLightGbmConf(conf, "conf", overrides);
  }

  Result<TreeTaskResult> Run(const std::string& more) const {
    STRATA_ASSIGN(const TreeParameters parameters, Parameters(more));
    return RunAs(nullptr, parameters);
  }

  std::string Use(const std::string& task, const std::string& file, const std::string& more = "") {
    const auto done = Run(fmt::format("task = {}\ndata = {}\ninput_model = {}\n{}", task,
                                      folder_.File(file), folder_.File("model.txt"), more));
    if (!done.ok()) return done.status().message();
    if (task == "evaluate") return fmt::format("{}", done->evaluations[0].metrics[0].value);
    return ReadWholeFile(folder_.File("out.txt"));
  }
};

TEST_F(ColumnsByName, ParametersThatContradictTheModelAreRefused) {
  ASSERT_TRUE(Run("").ok());
  const std::string convert = fmt::format("convert_model = {}\n", folder_.File("model.cpp"));
  for (const char* task : {"predict", "evaluate", "convert"}) {
    EXPECT_THAT(Use(task, "train.csv", convert + "objective = poisson\n"),
                HasSubstr("objective = poisson contradicts the model"))
        << task;
  }
}

TEST_F(ColumnsByName, PredictionsDoNotDependOnTheOrderOfColumns) {
  ASSERT_TRUE(Run("").ok());
  const std::string expected = Use("predict", "train.csv");
  ASSERT_EQ(std::ranges::count(expected, '\n'), static_cast<ptrdiff_t>(kDataRows)) << expected;
  const std::string loss = Use("evaluate", "train.csv");
  for (const std::vector<std::string>& columns : {std::vector<std::string>{"c", "a", "y", "b"},
                                                  {"a", "y", "id", "b", "note", "c"},
                                                  {"y", "id", "b", "a", "c"}}) {
    for (const char delimiter : {',', '\t'}) {
      WriteWholeFile(folder_.File("other.csv"), FileOf(columns, delimiter));
      EXPECT_EQ(Use("predict", "other.csv"), expected) << columns[0];
      EXPECT_EQ(Use("evaluate", "other.csv"), loss) << columns[0];
    }
  }
}

TEST_F(ColumnsByName, PredictionsNeedNoLabelWhereverItWouldStand) {
  ASSERT_TRUE(Run("").ok());
  const std::string expected = Use("predict", "train.csv");
  for (const std::vector<std::string>& columns : {std::vector<std::string>{"a", "b", "c"},
                                                  {"c", "b", "a"},
                                                  {"id", "c", "b", "a"},
                                                  {"c", "id", "b", "a"}}) {
    WriteWholeFile(folder_.File("other.csv"), FileOf(columns));
    EXPECT_EQ(Use("predict", "other.csv"), expected) << columns[0];
    EXPECT_EQ(Use("predict", "other.csv", "label_column = 0"), expected) << columns[0];
    EXPECT_THAT(Use("evaluate", "other.csv"), HasSubstr("other.csv: column 'name:y'"));
  }
  WriteWholeFile(folder_.File("other.csv"), FileOf({"a", "b", "c", "y"}));
  EXPECT_THAT(Use("evaluate", "other.csv", "label_column = 0"),
              HasSubstr("other.csv: column 0, which should be the label, is 'a', a feature of the "
                        "model"));
}

TEST_F(ColumnsByName, AMissingColumnIsAnErrorThatNamesWhatWasExpectedAndFound) {
  ASSERT_TRUE(Run("").ok());
  WriteWholeFile(folder_.File("other.csv"), FileOf({"y", "a", "id", "b"}));
  for (const char* task : {"predict", "evaluate", "refit"}) {
    EXPECT_THAT(Use(task, "other.csv"),
                HasSubstr("other.csv: no column has the name c: expected the 3 features (a, b, c) "
                          "of the model "))
        << task;
    EXPECT_THAT(Use(task, "other.csv"), HasSubstr("found y, a, id, b")) << task;
  }
  // Whoever says so gets predictions with 0 in its place, as LightGBM makes them.
  std::string zeros = "y,a,b,c\n";
  for (size_t row = 0; row < kDataRows; ++row) {
    zeros += fmt::format("0,{},{},0\n", ValueOf("a", row), ValueOf("b", row));
  }
  WriteWholeFile(folder_.File("zeros.csv"), zeros);
  EXPECT_EQ(Use("predict", "other.csv", "predict_disable_shape_check = true"),
            Use("predict", "zeros.csv"));
}

TEST_F(ColumnsByName, WhatTheModelDoesNotLookAtMayBeMissing) {
  WriteWholeFile(folder_.File("train.csv"), FileOf({"y", "w", "a", "note", "b", "c"}));
  ASSERT_TRUE(Run("weight_column = name:w\nignore_column = name:note").ok());
  const std::string expected = Use("predict", "train.csv");
  WriteWholeFile(folder_.File("other.csv"), FileOf({"c", "b", "a"}));
  EXPECT_EQ(Use("predict", "other.csv", "weight_column = name:w\nignore_column = name:note"),
            expected);
  // Weights count where metrics are measured.
  WriteWholeFile(folder_.File("other.csv"), FileOf({"c", "b", "a", "y"}));
  EXPECT_THAT(Use("evaluate", "other.csv", "weight_column = name:w"),
              HasSubstr("other.csv: column 'name:w': no column has this name"));
}

TEST_F(ColumnsByName, ValidationDataAndDataToGoOnWithAreMatchedToo) {
  const auto trained = Run(fmt::format("valid = {}", folder_.File("train.csv")));
  ASSERT_TRUE(trained.ok()) << trained.status().ToString();
  const double expected = trained->evaluations[0].metrics[0].value;
  WriteWholeFile(folder_.File("other.csv"), FileOf({"c", "y", "id", "a", "b"}));
  const auto swapped = Run(fmt::format("valid = {}", folder_.File("other.csv")));
  ASSERT_TRUE(swapped.ok()) << swapped.status().ToString();
  EXPECT_EQ(swapped->evaluations[0].metrics[0].value, expected);
  const std::string goes_on =
      fmt::format("input_model = {0}/model.txt\noutput_model = {0}/more.txt", folder_.path());
  for (const char* data : {"train.csv", "other.csv"}) {
    const auto more = Run(fmt::format("data = {}\nvalid = {}\n{}", folder_.File(data),
                                      folder_.File("train.csv"), goes_on));
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    EXPECT_LT(more->evaluations[0].metrics[0].value, expected);
    const std::string model = ReadWholeFile(folder_.File("more.txt"));
    const std::string trees = model.substr(0, model.find("\nparameters:"));
    WriteWholeFile(folder_.File(std::string(data) + ".trees"), trees);
  }
  EXPECT_EQ(ReadWholeFile(folder_.File("train.csv.trees")),
            ReadWholeFile(folder_.File("other.csv.trees")));
}

// Without names on both sides places count, and there must be as many.
TEST_F(ColumnsByName, WithoutNamesThereMustBeAsManyColumns) {
  const auto without_header = [](const std::vector<std::string>& columns) {
    const std::string text = FileOf(columns);
    return text.substr(text.find('\n') + 1);
  };
  WriteWholeFile(folder_.File("bare.csv"), without_header({"y", "a", "b", "c"}));
  const std::string bare = "header = false\nlabel_column = 0\n";
  ASSERT_TRUE(Run(bare + "data = " + folder_.File("bare.csv")).ok());
  const std::string expected = Use("predict", "bare.csv", bare);
  EXPECT_EQ(Use("predict", "train.csv", "label_column = 0"), expected);
  for (const auto& [columns, found] :
       {std::pair{std::vector<std::string>{"y", "a"}, "2"}, {{"y", "a", "b", "c", "id"}, "5"}}) {
    WriteWholeFile(folder_.File("other.csv"), without_header(columns));
    for (const char* task : {"predict", "evaluate", "refit"}) {
      EXPECT_THAT(Use(task, "other.csv", bare),
                  HasSubstr(fmt::format("other.csv: expected the 3 features of the model {} and a "
                                        "label, found {} columns",
                                        folder_.File("model.txt"), found)))
          << task;
    }
    const auto valid = Run(fmt::format("{}data = {}\nvalid = {}", bare, folder_.File("bare.csv"),
                                       folder_.File("other.csv")));
    ASSERT_FALSE(valid.ok());
    EXPECT_THAT(valid.status().message(),
                HasSubstr("expected the 3 features of the training data and a label"));
  }
}

// What no row of a libsvm file has is 0 in all of them.
TEST_F(ColumnsByName, LibsvmMayBeNarrowerThanTheModelButNotWider) {
  const auto rows = [](size_t features) {
    std::string text;
    for (size_t row = 0; row < kDataRows; ++row) {
      text += ValueOf("y", row);
      const char* const names[] = {"a", "b", "c"};
      for (size_t f = 0; f < features; ++f) {
        text += fmt::format(" {}:{}", f, ValueOf(names[f % 3], row));
      }
      text += "\n";
    }
    return text;
  };
  const std::string svm = "header = false\nlabel_column = 0\n";
  WriteWholeFile(folder_.File("train.svm"), rows(3));
  WriteWholeFile(folder_.File("narrow.svm"), rows(2));
  WriteWholeFile(folder_.File("wide.svm"), rows(4));
  WriteWholeFile(folder_.File("zeros.svm"), [&] {
    std::string text = rows(2);
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 5) {
      text.replace(at, 1, " 2:0\n");
    }
    return text;
  }());
  const std::string train = svm + "data = " + folder_.File("train.svm");
  ASSERT_TRUE(Run(train).ok());
  EXPECT_EQ(Use("predict", "narrow.svm", svm), Use("predict", "zeros.svm", svm));
  EXPECT_EQ(Use("evaluate", "narrow.svm", svm), Use("evaluate", "zeros.svm", svm));
  for (const char* task : {"predict", "evaluate", "refit"}) {
    EXPECT_THAT(Use(task, "wide.svm", svm), HasSubstr("4")) << task;
  }
  const std::string refit = svm + "output_model = " + folder_.File("refit.txt");
  const auto refitted =
      Run(fmt::format("task = refit\ninput_model = {}\n{}\ndata = {}", folder_.File("model.txt"),
                      refit, folder_.File("narrow.svm")));
  EXPECT_TRUE(refitted.ok()) << refitted.status().ToString();
}

TEST_F(ColumnsByName, AJobsFeaturesAreThoseOfTheModelInAnyOrder) {
  const auto columns = [](const std::vector<std::string>& features) {
    DataSpec spec;
    spec.format.header = true;
    for (const std::string& name : features) {
      spec.features.push_back(
          {.column = name,
           .kind = name == "c" || name == "q" ? FeatureKind::kCategorical : FeatureKind::kNumeric});
    }
    spec.label = "y";
    spec.label_is_number = true;
    spec.ignore = {"a", "b", "c", "q"};
    std::erase_if(spec.ignore,
                  [&](const std::string& name) { return std::ranges::count(features, name) > 0; });
    return spec;
  };
  const auto run = [&](const std::string& task, const std::vector<std::string>& features) {
    const std::string model =
        task == "train" ? "" : "input_model=" + folder_.File("model.txt") + "\n";
    auto parameters = Parameters(fmt::format("task={}\n{}", task, model), false);
    STRATA_CHECK(parameters.ok());
    parameters->data.columns = columns(features);
    if (task == "train") parameters->data.categorical_feature = {"2", "3"};
    const auto done = RunAs(nullptr, *parameters);
    if (!done.ok()) return done.status().message();
    return task == "predict" ? ReadWholeFile(folder_.File("out.txt")) : std::string("done");
  };
  WriteWholeFile(folder_.File("train.csv"), FileOf({"y", "a", "b", "c", "q"}));
  ASSERT_EQ(run("train", {"a", "b", "c", "q"}), "done");
  const std::string expected = run("predict", {"a", "b", "c", "q"});
  ASSERT_EQ(std::ranges::count(expected, '\n'), static_cast<ptrdiff_t>(kDataRows)) << expected;
  EXPECT_EQ(run("predict", {"q", "b", "c", "a"}), expected);
  for (const char* task : {"predict", "evaluate"}) {
    EXPECT_THAT(run(task, {"a", "c", "q"}),
                HasSubstr("expected the 4 features (a, b, c, q) of the model "))
        << task;
    EXPECT_THAT(run(task, {"a", "c", "q"}), HasSubstr("the job has 3: a, c, q")) << task;
  }
}

// Column_0, ... are what features without names are called, and may be names of a header.
TEST_F(ColumnsByName, NamesThatLookLikeNumbersAreNames) {
  const auto file = [](const std::vector<std::string>& columns) {
    std::string text = FileOf(columns);
    for (const auto& [from, to] :
         {std::pair{"a", "Column_0"}, {"b", "Column_1"}, {"c", "Column_2"}}) {
      const size_t header = text.find('\n');
      const size_t at = text.find(from);
      if (at < header) text.replace(at, 1, to);
    }
    return text;
  };
  WriteWholeFile(folder_.File("train.csv"), file({"y", "a", "b", "c"}));
  ASSERT_TRUE(Run("").ok());
  const std::string expected = Use("predict", "train.csv");
  WriteWholeFile(folder_.File("other.csv"), file({"y", "b", "c", "a"}));
  EXPECT_EQ(Use("predict", "other.csv"), expected);
  WriteWholeFile(folder_.File("other.csv"), file({"y", "a", "b", "zz"}));
  EXPECT_THAT(Use("predict", "other.csv"), HasSubstr("no column has the name Column_2"));
}

TEST_F(ColumnsByName, AColumnWithoutANameIsFoundAgain) {
  for (const std::vector<std::string>& columns :
       {std::vector<std::string>{"y", "", "b"}, {"", "y", "b"}, {"b", "", "y"}}) {
    WriteWholeFile(folder_.File("train.csv"), FileOf(columns));
    const auto trained = Run(fmt::format("valid = {}", folder_.File("train.csv")));
    ASSERT_TRUE(trained.ok()) << trained.status().ToString();
    EXPECT_EQ(Use("evaluate", "train.csv"),
              fmt::format("{}", trained->evaluations[0].metrics[0].value));
  }
}

// Roles of columns that training had say nothing of a file to predict for.
TEST_F(ColumnsByName, PredictionsDoNotLookAtRolesOfOtherColumns) {
  ASSERT_TRUE(Run("").ok());
  const std::string expected = Use("predict", "train.csv");
  WriteWholeFile(folder_.File("other.csv"), FileOf({"a", "b", "c", "id"}));
  for (const char* role : {"weight_column = 0", "group_column = 1", "ignore_column = 0,1",
                           "ignore_column = name:a", "weight_column = 9"}) {
    EXPECT_EQ(Use("predict", "other.csv", role), expected) << role;
  }
}

TEST_F(ColumnsByName, AJobReadsCategoriesAndNumbersAsTheModelKnowsThem) {
  const auto run = [&](const std::string& task, const std::vector<std::string>& categories,
                       const std::string& model = "model.txt") {
    const std::string input =
        task == "train" ? "" : fmt::format("input_model={}\n", folder_.File(model));
    auto parameters = Parameters(fmt::format("task={}\n{}", task, input), false);
    STRATA_CHECK(parameters.ok());
    DataSpec spec;
    spec.format.header = true;
    spec.label = "y";
    spec.label_is_number = true;
    for (const char* name : {"a", "b", "c"}) {
      const bool is_category = std::ranges::count(categories, name) > 0;
      spec.features.push_back(
          {.column = name,
           .kind = is_category ? FeatureKind::kCategorical : FeatureKind::kNumeric});
      if (is_category)
        parameters->data.categorical_feature.push_back(std::to_string(name[0] - 'a'));
    }
    parameters->data.columns = spec;
    const auto done = RunAs(nullptr, *parameters);
    return done.ok() ? std::string("done") : done.status().message();
  };
  ASSERT_EQ(run("train", {"a"}), "done");
  for (const char* task : {"predict", "evaluate", "refit"}) {
    EXPECT_EQ(run(task, {"a"}), "done") << task;
    ASSERT_EQ(run("train", {"a"}), "done");
    EXPECT_THAT(run(task, {"c"}), HasSubstr("column 'a' is numeric in the job, and a category in "
                                            "the model "))
        << task;
    EXPECT_THAT(run(task, {"a", "c"}), HasSubstr("column 'c' is categorical in the job, and a "
                                                 "number in the model "))
        << task;
  }
  // Numbers that a conf has as categories are numbers of a job.
  ASSERT_TRUE(Run("categorical_feature = name:a\noutput_model = " + folder_.File("conf.txt")).ok());
  EXPECT_EQ(run("evaluate", {}, "conf.txt"), "done");
  EXPECT_THAT(run("evaluate", {"a"}, "conf.txt"),
              HasSubstr("column 'a' is categorical in the job, and a category whose values are "
                        "numbers, not texts, in the model "));
}

TEST_F(ColumnsByName, RanksThatHaveOtherColumnsDoNotTrainOneModel) {
  WriteWholeFile(folder_.File("train.0"), FileOf({"y", "a", "b", "c"}));
  for (const auto& [columns, found] :
       {std::pair{std::vector<std::string>{"y", "b", "a", "c"}, "rank 1 has 3 features (b, a, c)"},
        {{"y", "a", "b"}, "rank 1 has 2 features (a, b)"},
        {{"y", "a", "b", "id"}, "rank 1 has 3 features (a, b, id)"},
        {{"y", "a", "b", "c", "id"}, "rank 1 has 4 features (a, b, c, id)"}}) {
    WriteWholeFile(folder_.File("train.1"), FileOf(columns));
    for (const char* learner : {"data", "voting", "feature"}) {
      RunRanks(2, [&](Group& group) {
        const std::string own = learner == std::string("feature") ? "false" : "true";
        auto parameters = ParseLightGbmConf(
            fmt::format("objective = regression\nheader = true\nnum_threads = 1\nverbosity = -1\n"
                        "tree_learner = {}\npre_partition = {}\n",
                        learner, own),
            "conf", {});
        ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
        parameters->data.path = folder_.File(fmt::format("train.{}", group.rank()));
        const auto result = RunAs(&group, *parameters);
        ASSERT_FALSE(result.ok()) << found;
        EXPECT_EQ(result.status().code(), StatusCode::kInvalid);
        EXPECT_THAT(result.status().message(), HasSubstr("rank 0 has 3 features (a, b, c)"));
        EXPECT_THAT(result.status().message(), HasSubstr(found)) << learner;
      });
    }
  }
}

TEST_F(ColumnsByName, RanksSayWhichOfManyColumnsDiffers) {
  std::vector<std::string> columns = {"y"};
  for (int i = 0; i < 30; ++i) columns.push_back(fmt::format("f{}", i));
  WriteWholeFile(folder_.File("train.0"), FileOf(columns));
  columns[26] = "other";
  WriteWholeFile(folder_.File("train.1"), FileOf(columns));
  RunRanks(2, [&](Group& group) {
    auto parameters = Parameters("tree_learner = data\npre_partition = true");
    ASSERT_TRUE(parameters.ok());
    parameters->data.path = folder_.File(fmt::format("train.{}", group.rank()));
    const auto result = RunAs(&group, *parameters);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.status().message(), HasSubstr("feature 25 is 'f25' and 'other'"));
  });
}

// What each rank's parameters have besides, and what the error says.
struct Disagreement {
  const char* of_first;
  const char* of_second;
  const char* message;
};

TEST_F(ColumnsByName, RanksThatWantOtherModelsSayWhatDiffers) {
  ASSERT_TRUE(Run("output_model = " + folder_.File("a.txt")).ok());
  ASSERT_TRUE(Run("num_iterations = 3\noutput_model = " + folder_.File("b.txt")).ok());
  const Disagreement cases[] = {
      {"ignore_column = name:a", "ignore_column = name:b",
       "rank 0 has 'ignore_column = name:a', rank 1 has 'ignore_column = name:b'"},
      {"ignore_column = name:a", "", "rank 0 has 'ignore_column = name:a'"},
      {"categorical_feature = name:a", "", "rank 0 has 'categorical_feature = name:a'"},
      {"max_bin = 10", "", "rank 0 has 'max_bin = 10', rank 1 has no max_bin"},
      {"", "learning_rate = 0.2", "rank 0 has no learning_rate, rank 1 has 'learning_rate = 0.2'"},
      {"input_model = FOLDER/a.txt", "", "rank 0 has 'input_model = given', rank 1 has"},
      {"input_model = FOLDER/a.txt", "input_model = FOLDER/b.txt", "the file of input_model"},
  };
  for (const Disagreement& c : cases) {
    RunRanks(2, [&](Group& group) {
      std::string more = group.rank() == 0 ? c.of_first : c.of_second;
      if (const size_t at = more.find("FOLDER"); at != std::string::npos) {
        more.replace(at, 6, folder_.path());
      }
      const auto parameters = Parameters("tree_learner = data\n" + more);
      ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
      const auto result = RunAs(&group, *parameters);
      ASSERT_FALSE(result.ok()) << c.message;
      EXPECT_THAT(result.status().message(), HasSubstr(c.message));
    });
  }
}

}  // namespace
}  // namespace strata
