// Criteo's logs: columns by themselves, files without labels, and what is said of other files.
#include "worker/data/text/criteo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/worker/text_disk.h"
#include "worker/data/text/csv_reader.h"

namespace strata {
namespace {

using testing::HasSubstr;

DataSpec CriteoSpec() {
  DataSpec spec;
  spec.format = CriteoFormat();
  spec.label = kCriteoLabel;
  spec.features = CriteoFeatures(true, {});
  return spec;
}

// A line without its label: I1 is `number`, I2 and the last category are missing.
std::string Unlabelled(int number) {
  std::string line = fmt::format("{}\t", number);
  for (int i = 3; i <= 13; ++i) line += fmt::format("\t{}", i);
  for (int i = 1; i <= 25; ++i) line += fmt::format("\t{:08x}", i);
  return line + "\t";
}

struct LogRows {
  std::vector<std::string> rows;  // "label I1 I2 I13 C1 C26", a missing number as nan
  Status status;
};

LogRows ReadLogs(const std::string& text, bool labels_required) {
  TextDisk disk;
  disk.files["day_0"] = text;
  auto reader = CsvReader::Open(disk, "day_0", CriteoSpec(),
                                {.labels_required = labels_required, .log_bad_lines = false});
  if (!reader.ok()) return {{}, reader.status()};
  LogRows outcome;
  DataRow row;
  while (true) {
    const Result<bool> read = (*reader)->Next(&row);
    outcome.status = read.status();
    if (!read.ok() || !*read) return outcome;
    const std::vector<size_t>& at = (*reader)->plan().feature_columns;
    outcome.rows.push_back(fmt::format("{} {} {} {} {} {}", row.label, row.numbers[at[0]],
                                       row.numbers[at[1]], row.numbers[at[12]], row.fields[at[13]],
                                       row.fields[at[38]]));
  }
}

TEST(Criteo, HasTheColumnsOfTheLogs) {
  const CsvFormat format = CriteoFormat();
  ASSERT_EQ(format.columns.size(), 40U);
  EXPECT_EQ(format.columns[0], "label");
  EXPECT_EQ(format.columns[1], "I1");
  EXPECT_EQ(format.columns[13], "I13");
  EXPECT_EQ(format.columns[14], "C1");
  EXPECT_EQ(format.columns[39], "C26");
  const std::vector<FeatureSpec> features = CriteoFeatures(true, {});
  ASSERT_EQ(features.size(), 39U);
  EXPECT_EQ(features[12], (FeatureSpec{.column = "I13", .log = true}));
  EXPECT_EQ(features[13], (FeatureSpec{.column = "C1", .kind = FeatureKind::kCategorical}));
  const std::vector<FeatureSpec> fewer =
      CriteoFeatures(false, std::vector<std::string>{"I1", "C26"});
  ASSERT_EQ(fewer.size(), 37U);
  EXPECT_EQ(fewer.front(), (FeatureSpec{.column = "I2"}));
  EXPECT_EQ(fewer.back().column, "C25");
}

TEST(Criteo, ReadsLabelledLinesAndEmptyFields) {
  const LogRows outcome = ReadLogs(
      "1\t" + Unlabelled(7) + "\n0\t" + Unlabelled(-2) + "\n" + "0" + std::string(39, '\t'), true);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  EXPECT_THAT(outcome.rows, testing::ElementsAre("1 7 nan 13 00000001 ", "0 -2 nan 13 00000001 ",
                                                 "0 nan nan nan  "));
}

TEST(Criteo, AFileWithoutLabelsCanBePredictedFrom) {
  const std::string unlabelled = Unlabelled(5) + "\n" + std::string(38, '\t') + "\n";
  const LogRows predicted = ReadLogs(unlabelled, false);
  EXPECT_TRUE(predicted.status.ok()) << predicted.status.ToString();
  EXPECT_THAT(predicted.rows, testing::ElementsAre("nan 5 nan 13 00000001 ", "nan nan nan nan  "));
  // One with labels, too; they are not looked at.
  EXPECT_THAT(ReadLogs("x\t" + Unlabelled(5), false).rows,
              testing::ElementsAre("nan 5 nan 13 00000001 "));
  const Status trained = ReadLogs(unlabelled, true).status;
  EXPECT_THAT(trained.message(), HasSubstr("day_0: 2 of the first 2 lines cannot be read"));
  EXPECT_THAT(trained.message(), HasSubstr("The first line has 39 fields: the label seems to be"));
  EXPECT_THAT(trained.message(), HasSubstr("day_0:1: 39 columns, expected 40"));
}

TEST(Criteo, OtherFilesAreNamed) {
  std::string with_commas = "1\t" + Unlabelled(5);
  for (char& c : with_commas) c = c == '\t' ? ',' : c;
  const std::pair<std::string, const char*> cases[] = {
      {with_commas,
       "separated by ',', where Criteo's logs have tabs: use data.format = \"csv\" and"},
      {"1\t" + Unlabelled(5) + "\tx", "day_0:1: 41 columns, expected 40"},
      {"2\t" + Unlabelled(5), "day_0:1: the label '2' is neither 0 nor 1"},
      {"1\tx" + Unlabelled(5), "day_0:1: column 'I1': 'x5' is no finite number"},
      {fmt::format("{}\n1\t{}", fmt::join(CriteoFormat().columns, "\t"), Unlabelled(5)),
       "day_0:1: the columns' names, which Criteo's logs have not: remove the line"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = ReadLogs(text, true).status;
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace strata
