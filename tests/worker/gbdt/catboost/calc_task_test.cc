// The tasks of CatBoost's models, from their options to the files that they write.
#include "worker/tasks/catboost/calc_task.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/log.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/catboost/golden_catboost.h"

namespace strata {
namespace {

using testing::HasSubstr;

class CalcTaskTest : public testing::Test {
 protected:
  CalcTaskTest() {
    for (const std::string name : kGoldenCatBoost) {
      Write(name + ".json", Golden("catboost/" + name + ".json"));
    }
    Write("rows.tsv", Golden("catboost/rows.tsv"));
    Write("rows.cd", Golden("catboost/rows.cd"));
  }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(disk_, path, text).ok());
  }

  std::string Read(const std::string& path) {
    Result<std::string> text = ReadFile(disk_, path, 1 << 24);
    return text.ok() ? *text : text.status().ToString();
  }

  Result<TreeTaskResult> Run(const std::vector<std::string>& words,
                             const std::string& task = "predict") {
    STRATA_ASSIGN(const CalcOptions options, ParseCalcOptions(words, task));
    const TreeTaskContext context = {
        .disk = disk_, .clock = RealClock(), .progress = {}, .check = [] { return Status::Ok(); }};
    return RunCalcTask(options, context);
  }

  void ExpectError(const std::vector<std::string>& words, const std::string& message,
                   const std::string& task = "predict") {
    const Status status = Run(words, task).status();
    EXPECT_FALSE(status.ok()) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }

  SimDisk disk_;
};

TEST_F(CalcTaskTest, PredictsALineARow) {
  const auto result = Run({"model_file=combinations.json", "input_path=rows.tsv", "cd=rows.cd",
                           "output_path=out.tsv", "prediction_type=Class", "thread_count=2"});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rows, 40U);
  EXPECT_EQ(result->rounds, 4U);
  EXPECT_EQ(result->features, 6U);
  const nlohmann::json expected = GoldenCatBoostExpected("combinations")["Class"];
  std::istringstream lines(Read("out.tsv"));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "SampleId\tClass");
  for (size_t row = 0; row < 40; ++row) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line, fmt::format("row-{}\t{}", 240 + row, expected[row][0].get<std::string>()));
  }
  EXPECT_FALSE(std::getline(lines, line));
}

// Blocks and pieces do not show: rows have their numbers, and the same predictions.
TEST_F(CalcTaskTest, RowsAreNumberedThroughoutALargeFile) {
  std::string rows = "f0,f1,f2\n";
  for (size_t i = 0; i < 80000; ++i) rows += fmt::format("{},{},{}\n", i % 7 * 3, i % 3, i % 5);
  Write("large.csv", rows);
  Write("large.cd", "0\tNum\n");
  for (const char* threads : {"thread_count=1", "thread_count=3"}) {
    ASSERT_TRUE(Run({"model_file=numbers.json", "input_path=large.csv", "delimiter=,",
                     "has_header=true", "output_path=large.tsv", threads, "cd=large.cd"})
                    .ok());
    std::istringstream lines(Read("large.tsv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "SampleId\tRawFormulaVal");
    std::vector<std::string> first;
    size_t count = 0;
    for (; std::getline(lines, line); ++count) {
      const size_t tab = line.find('\t');
      ASSERT_EQ(line.substr(0, tab), std::to_string(count));
      if (count < 105) first.push_back(line.substr(tab));
      ASSERT_EQ(line.substr(tab), first[count % 105]) << "rows repeat after 105";
    }
    EXPECT_EQ(count, 80000U);
  }
}

// Where rows have one column, a blank line is a row that misses it.
TEST_F(CalcTaskTest, BlankLinesAreRowsOfOneColumn) {
  nlohmann::json model = nlohmann::json::parse(Golden("catboost/nan_max.json"));
  nlohmann::json& features = model["features_info"]["float_features"];
  features = {features[0]};
  features[0]["nan_value_treatment"] = "AsTrue";
  model["features_info"].erase("categorical_features");
  model["oblivious_trees"] = {{{"splits", {{{"split_index", 0}}}}, {"leaf_values", {1, 2}}}};
  Write("one.json", model.dump());
  Write("one.cd", "0\tNum\n");
  Write("one.tsv", "\n-9\n\n9\n");
  ASSERT_TRUE(Run({"model_file=one.json", "input_path=one.tsv", "cd=one.cd"}).ok());
  EXPECT_EQ(Read("output.tsv"), "SampleId\tRawFormulaVal\n0\t2\n1\t1\n2\t2\n3\t2\n");
}

TEST_F(CalcTaskTest, NamesColumnsByClasses) {
  ASSERT_TRUE(Run({"model_file=absent_classes.json", "input_path=rows.tsv", "cd=rows.cd",
                   "prediction_type=Probability"})
                  .ok());
  EXPECT_THAT(Read("output.tsv"),
              testing::StartsWith("SampleId\tProbability:Class=0\tProbability:Class=1\t"
                                  "Probability:Class=2\tProbability:Class=3\nrow-240\t0\t"));
}

TEST_F(CalcTaskTest, ConvertWritesAModelThatPredictsTheSame) {
  ASSERT_TRUE(Run({"model_file=types.json", "output_path=again.json"}, "convert").ok());
  for (const std::string model : {"types", "again"}) {
    ASSERT_TRUE(Run({"model_file=" + model + ".json", "input_path=rows.tsv", "cd=rows.cd",
                     "output_path=" + model + ".tsv"})
                    .ok());
  }
  EXPECT_EQ(Read("again.tsv"), Read("types.tsv"));
  ExpectError({"model_file=means.json", "output_path=again.json"}, "means.json: the table ",
              "convert");
}

TEST_F(CalcTaskTest, WrongOptionsAreNamed) {
  const std::string model = "model_file=numbers.json";
  const std::string rows = "input_path=rows.tsv";
  ExpectError({model}, "input_path is missing: expected input_path=FILE");
  ExpectError({model, rows}, "--task=train: a model of CatBoost", "train");
  ExpectError({"model_file="}, "model_file is empty");
  ExpectError({model, rows, "predict"}, "'predict': expected key=value");
  ExpectError({model, rows, "output=x"}, "unknown key 'output'");
  ExpectError({model, rows, "prediction_typ=Class"}, "did you mean 'prediction_type'?");
  ExpectError({model, rows, "prediction_type=LogProbability"}, "prediction_type must be one of");
  ExpectError({model, rows, "tree_count_limit=3"}, "tree_count_limit is not supported");
  ExpectError({model, rows, "cd=a", "column_description=b"}, "column_description is given twice");
  ExpectError({model, rows, "delimiter=ab"}, "delimiter: expected one character");
  ExpectError({model, rows, "device=gpu"},
              "device: must be auto, cpu, cuda or cuda:N; found 'gpu'");
  ExpectError({model, "output_path=o", "device=cuda"}, "device has no effect on --task=convert",
              "convert");
  ExpectError({model, rows, "output_path=rows.tsv"}, "rows.tsv");
  ExpectError({model, rows, "output_path=numbers.json"}, "numbers.json");
  ExpectError({model, rows, "output_path=o"}, "no effect on --task=convert", "convert");
  ExpectError({model}, "output_path is missing", "convert");
  ExpectError({model, "output_path=m.cbm"}, "output_path = m.cbm: CatBoost's binary format",
              "convert");
}

TEST_F(CalcTaskTest, WrongRowsAndModelsAreNamed) {
  const std::string cd = "cd=rows.cd";
  const std::string rows = "input_path=rows.tsv";
  ExpectError({"model_file=none.json", rows}, "none.json");
  ExpectError({"model_file=numbers.json", "input_path=none.tsv", cd}, "none.tsv");
  ExpectError({"model_file=types.json", rows},
              "rows.tsv: column 4: feature 3 ('c0') of the model is categorical: expected the type "
              "Categ in the column description");
  ExpectError({"model_file=lossguide.json", rows, cd, "prediction_type=Exponent"},
              "expected a model of one output, found one of 3");
  Write("empty.tsv", "\n\n");
  ExpectError({"model_file=numbers.json", "input_path=empty.tsv", cd}, "empty.tsv: no row");
  Write("short.tsv", "r\tno\t1\t2\t3\ta\tb\tc\nr\tno\t1\t2\t3\ta\tb\n");
  ExpectError({"model_file=numbers.json", "input_path=short.tsv", cd},
              "short.tsv:2: expected 8 columns, found 7");
  Write("word.tsv", "r\tno\t1\t2\t3\ta\tb\tc\n\nr\tno\t1\tmany\t3\ta\tb\tc\n");
  ExpectError({"model_file=numbers.json", "input_path=word.tsv", cd},
              "word.tsv:3: column 3: expected a number, found 'many'");
  Write("late.tsv",
        "i\tl\tf0\tf1\tf2\tc0\tc1\tc2\nr\tno\t1\t\t3\ta\tb\tc\nr\tno\tx\t1\t3\ta\tb\tc\n");
  ExpectError({"model_file=numbers.json", "input_path=late.tsv", "has_header=true", cd},
              "late.tsv:3: column 2: expected a number, found 'x'");
  ExpectError({"model_file=numbers.json", "input_path=late.tsv", cd},
              "found 'f0': a category has the type Categ in the column description; if the first "
              "line names the columns, say has_header=true");
  Write("quote.tsv", "r\tno\t1\t2\t3\ta\tb\tc\nr\tno\t1\t2\t3\t\"a\tb\tc\n");
  ExpectError({"model_file=types.json", "input_path=quote.tsv", cd}, "quote.tsv:2: ");
  Write("header.tsv", "a\tb\n1\t2\t3\n");
  Write("empty.cd", "");
  ExpectError(
      {"model_file=numbers.json", "input_path=header.tsv", "has_header=true", "cd=empty.cd"},
      "header.tsv: the header names 2 columns, and the first row has 3");
}

// A file whose first line is a row has one row less then.
TEST_F(CalcTaskTest, AFirstLineThatNamesColumnsOtherwiseIsWarnedOf) {
  std::string warnings;
  SetLogSink([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::kWarning) warnings += text;
  });
  const auto result = Run({"model_file=numbers.json", "input_path=rows.tsv", "has_header=true",
                           "output_path=out.tsv", "cd=rows.cd"});
  SetLogSink(nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->rows, 39U);
  EXPECT_THAT(warnings, HasSubstr("rows.tsv: column 2 is '"));
  EXPECT_THAT(warnings, HasSubstr("in the first line and 'f0' in rows.cd, which counts"));
}

}  // namespace
}  // namespace strata
