#include "worker/data/text/csv_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"

namespace strata {
namespace {

using testing::HasSubstr;

// Columns x (number), city (text), y (label), and what a test adds.
DataSpec SpecOf(std::vector<std::string> columns = {"x", "city", "y"}) {
  DataSpec spec;
  spec.format.columns = std::move(columns);
  spec.features = {{.column = "x", .kind = FeatureKind::kNumeric},
                   {.column = "city", .kind = FeatureKind::kCategorical}};
  spec.label = "y";
  return spec;
}

// The rows of a file as text, "x|city|label|weight", or the error.
struct Outcome {
  std::vector<std::string> rows;
  Status status;
  uint64_t bad_lines = 0;
};

Outcome ReadAll(const std::string& text, const DataSpec& spec, TextOptions options = {}) {
  TextDisk disk;
  disk.files["d.csv"] = text;
  options.log_bad_lines = false;
  auto reader = CsvReader::Open(disk, "d.csv", spec, options);
  if (!reader.ok()) return {{}, reader.status()};
  Outcome outcome;
  DataRow row;
  while (true) {
    Result<bool> read = (*reader)->Next(&row);
    if (!read.ok()) outcome.status = read.status();
    if (!read.ok() || !*read) break;
    const ColumnPlan& plan = (*reader)->plan();
    outcome.rows.push_back(fmt::format("{}|{}|{}|{}", row.numbers[plan.feature_columns[0]],
                                       row.fields[plan.feature_columns[1]], row.label, row.weight));
  }
  outcome.bad_lines = (*reader)->bad_rows();
  return outcome;
}

std::vector<std::string> RowsOf(const std::string& text, const DataSpec& spec) {
  const Outcome outcome = ReadAll(text, spec);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  return outcome.rows;
}

TEST(CsvReader, ReadsPlainRows) {
  EXPECT_THAT(RowsOf("1.5, Rome, 1\r\n\n  \n-2e3,\"Paris, France\",0", SpecOf()),
              testing::ElementsAre("1.5|Rome|1|1", "-2000|Paris, France|0|1"));
  EXPECT_THAT(RowsOf("\xef\xbb\xbf+1,a,0\n", SpecOf()), testing::ElementsAre("1|a|0|1"));
}

TEST(CsvReader, HeaderNamesColumnsInAnyOrder) {
  DataSpec spec = SpecOf({});
  spec.format.header = true;
  EXPECT_THAT(RowsOf("y,x,city\n1,2,a\n", spec), testing::ElementsAre("2|a|1|1"));
  EXPECT_THAT(RowsOf("\xef\xbb\xbf\n\"y\", x ,city\r\n1,2,a", spec),
              testing::ElementsAre("2|a|1|1"));
  EXPECT_THAT(RowsOf("y,x,city", spec), testing::ElementsAre());
  EXPECT_THAT(ReadAll("\n\n", spec).status.message(), HasSubstr("holds no header"));
}

TEST(CsvReader, MissingValuesAndComments) {
  DataSpec spec = SpecOf();
  spec.format.missing = {"?", "NA"};
  spec.format.comment = "|";
  EXPECT_THAT(RowsOf("|1x3 cross validator\n?, ?, 1\n,NA,0\n|,,\n", spec),
              testing::ElementsAre("nan||1|1", "nan||0|1"));
}

TEST(CsvReader, LabelsAndWeights) {
  DataSpec spec = SpecOf({"x", "city", "y", "w", "unused"});
  spec.ignore = {"unused"};
  spec.weight = "w";
  spec.label_positive = {">50K", ">50K."};
  spec.label_negative = {"<=50K", "<=50K."};
  EXPECT_THAT(RowsOf("1,a,>50K,2,\n2,b,<=50K.,0.5,x\n3,c,>50K.,0,\n", spec),
              testing::ElementsAre("1|a|1|2", "2|b|0|0.5", "3|c|1|0"));
}

TEST(CsvReader, LabelsThatAreNotRequired) {
  TextOptions options;
  options.labels_required = false;
  EXPECT_EQ(ReadAll("1,a,\n", SpecOf(), options).rows, std::vector<std::string>{"1|a|nan|1"});
  EXPECT_EQ(ReadAll("1,a,no number\n", SpecOf(), options).rows,
            std::vector<std::string>{"1|a|nan|1"});
  DataSpec weighted = SpecOf({});
  weighted.format.header = true;
  weighted.weight = "w";
  weighted.query = "q";
  EXPECT_EQ(ReadAll("x,city\n1,a\n", weighted, options).rows,
            std::vector<std::string>{"1|a|nan|1"});
  DataSpec spec = SpecOf({});
  spec.format.header = true;
  EXPECT_EQ(ReadAll("x,city\n1,a\n", spec, options).rows, std::vector<std::string>{"1|a|nan|1"});
  EXPECT_THAT(ReadAll("x,city\n1,a\n", spec).status.message(), HasSubstr("no column 'y'"));
}

// A bad line among enough good ones is skipped and counted; alone it says why.
TEST(CsvReader, AFileWithoutAHeaderMayLackItsLabels) {
  const TextOptions predicts{.labels_required = false};
  const std::vector<std::string> expected = {"1|a|nan|1", "2||nan|1"};
  for (const auto& columns : {std::vector<std::string>{"x", "city", "y"}, {"y", "x", "city"}}) {
    EXPECT_EQ(ReadAll("1,a\n2,\n", SpecOf(columns), predicts).rows, expected);
  }
  const Outcome trained = ReadAll("1,a\n", SpecOf());
  EXPECT_THAT(trained.status.message(),
              HasSubstr("The first line has 2 fields: the label seems to be missing; a file"));
  // One that lost a field otherwise is not taken for such a file, and one more is no label.
  const Outcome other = ReadAll("1,a\n1,a,0\n", SpecOf(), predicts);
  EXPECT_THAT(other.status.message(), HasSubstr("so that the file was read as one without labels"));
  EXPECT_THAT(ReadAll("1;a;0\n", SpecOf(), predicts).status.message(),
              HasSubstr("set data.delimiter = \";\""));
  DataSpec two = SpecOf({"y", "city"});
  two.features.erase(two.features.begin());
  EXPECT_THAT(ReadAll("0;a\n", two, predicts).status.message(),
              HasSubstr("set data.delimiter = \";\""));
}

TEST(CsvReader, BadLinesSayWhy) {
  DataSpec spec = SpecOf({"x", "city", "y", "w"});
  std::string good_weighted;
  for (int i = 0; i < 1000; ++i) good_weighted += "1,a,0,1\n";
  spec.weight = "w";
  const struct {
    const char* line;
    const char* reason;
  } cases[] = {
      {"1,a,0", "3 columns, expected 4"},
      {"1,a,0,1,2", "5 columns, expected 4"},
      {"1", "1 column, expected 4"},
      {"one,a,0,1", "column 'x': 'one' is no finite number"},
      {"nan,a,0,1", "column 'x': 'nan' is no finite number"},
      {"inf,a,0,1", "column 'x': 'inf' is no finite number"},
      {"1e39,a,0,1", "column 'x': '1e39' is no finite number"},
      {"1e999,a,0,1", "column 'x': '1e999' is no finite number"},
      {"1 2,a,0,1", "column 'x': '1 2' is no finite number"},
      {"1,a,2,1", "the label '2' is neither 0 nor 1"},
      {"1,a,nan,1", "the label 'nan' is neither 0 nor 1"},
      {"1,a,,1", "the label is missing"},
      {"1,a,0,", "the weight '' is no number of at least 0"},
      {"1,a,0,-1", "the weight '-1' is no number of at least 0"},
      {"1,\"a,0,1", "a quoted field does not end on its line"},
      {"1,\"a\"b,0,1", "text behind the closing quote"},
  };
  for (const auto& c : cases) {
    const Outcome mixed = ReadAll(good_weighted + c.line + "\n", spec);
    EXPECT_TRUE(mixed.status.ok()) << mixed.status.ToString();
    EXPECT_EQ(mixed.rows.size(), 1000U) << c.line;
    EXPECT_EQ(mixed.bad_lines, 1U) << c.line;

    const Outcome alone = ReadAll(std::string("1,a,0,1\n") + c.line + "\n", spec);
    EXPECT_EQ(alone.status.code(), StatusCode::kInvalid) << c.line;
    EXPECT_THAT(alone.status.message(), HasSubstr(c.reason));
    EXPECT_THAT(alone.status.message(), HasSubstr("d.csv:2: "));
  }
}

TEST(CsvReader, ARowThatCannotBeReadMayKeepItsPlace) {
  TextDisk disk;
  disk.files["d.csv"] = "1,a,0\r\n2,b\r\n\r\n3,c,1\nx,d,1";  // the last line has no end
  DataSpec spec = SpecOf();
  spec.format.bad_share_max = 0.5;
  auto reader =
      CsvReader::Open(disk, "d.csv", spec, {.keep_bad_rows = true, .log_bad_lines = false});
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  std::vector<std::string> rows;
  DataRow row;
  while (*(*reader)->Next(&row)) {
    rows.push_back(fmt::format("{}|{}|{}|{}", row.numbers[0], row.fields[1], row.label, row.bad));
  }
  EXPECT_THAT(rows,
              testing::ElementsAre("1|a|0|", "nan||nan|d.csv:2: 2 columns, expected 3", "3|c|1|",
                                   "nan||nan|d.csv:5: column 'x': 'x' is no finite number"));
  EXPECT_EQ((*reader)->bad_rows(), 2U);
}

// Bad rows keep their places in parts, too, so that the parts' rows join to those of the whole.
TEST(CsvReader, PlacesOfBadRowsDoNotDependOnTheParts) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 7 == 3 ? "bad\n" : fmt::format("{},a,0\n", i);
  DataSpec spec = SpecOf();
  spec.format.bad_share_max = 1;
  const std::vector<std::string> whole = ReadAll(text, spec, {.keep_bad_rows = true}).rows;
  ASSERT_EQ(whole.size(), 60U);
  for (uint32_t world = 2; world <= 5; ++world) {
    std::vector<std::string> joined;
    for (uint32_t rank = 0; rank < world; ++rank) {
      const Outcome part =
          ReadAll(text, spec, {.share = {rank, world}, .keep_bad_rows = true, .block_bytes = 8});
      joined.insert(joined.end(), part.rows.begin(), part.rows.end());
    }
    EXPECT_EQ(joined, whole) << world;
  }
}

TEST(CsvReader, AHeaderThatIsRepeatedIsABadRow) {
  DataSpec spec = SpecOf({});
  spec.format.header = true;
  spec.features = {{.column = "x", .kind = FeatureKind::kCategorical},
                   {.column = "city", .kind = FeatureKind::kCategorical}};
  const Outcome outcome =
      ReadAll("x,city,y\n1,a,0\n\nx,city,y\n2,b,1\n", spec, {.labels_required = false});
  EXPECT_THAT(outcome.status.message(), HasSubstr("d.csv:4: the header is repeated"));
}

TEST(CsvReader, BadShareIsExact) {
  std::string text;
  for (int i = 0; i < 1998; ++i) text += "1,a,0\n";
  text += "bad\nbad\n";
  EXPECT_TRUE(ReadAll(text, SpecOf()).status.ok());  // 2 of 2000
  const Outcome outcome = ReadAll(text + "bad\n", SpecOf());
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid);
  EXPECT_THAT(outcome.status.message(), HasSubstr("3 of the first 2001 lines"));
  DataSpec lenient = SpecOf();
  lenient.format.bad_share_max = 0.01;
  EXPECT_TRUE(ReadAll(text + "bad\n", lenient).status.ok());
}

// 200 columns instead of 3, in a file far larger than what is read before the error.
TEST(CsvReader, WrongFileFailsEarly) {
  std::string line = "0";
  for (int i = 1; i < 200; ++i) line += ",0";
  std::string text;
  for (int i = 0; i < 100000; ++i) text += line + "\n";
  const Outcome outcome = ReadAll(text, SpecOf());
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid);
  EXPECT_EQ(outcome.bad_lines, BadLines::kShownMax);
  EXPECT_THAT(outcome.status.message(), HasSubstr("200 columns, expected 3"));
}

// What is no CSV is named, with the step that helps.
TEST(CsvReader, OtherKindsOfFilesAreNamed) {
  const std::string zeros(8, '\0');
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"PAR1" + zeros, "d.csv: expected rows as text, found a Parquet file: write it as CSV"},
      {"\x1f\x8b\x08" + zeros, "compressed with gzip: the file ends here"},
      {"\x28\xb5\x2f\xfd" + zeros, "compressed with zstd: the file ends here"},
      {"data.csv" + std::string(249, '\0') + "ustar" + '\0' + std::string(3000, 'a'),
       "found a tar archive: unpack it first (tar -xf FILE)"},
      {"Rar!\x1a\x07" + zeros, "found a RAR archive"},
      {"\x1f\x9d\x90" + zeros, "found compressed with compress"},
      {"@relation r\n", "looks like ARFF"},
      {"PK\x03\x04" + zeros + "data.csv", "found a zip archive: unpack it first"},
      {"PK\x03\x04" + zeros + "[Content_Types].xml", "found an Excel file: save the sheet as CSV"},
      {"\x93NUMPY" + zeros, "found a NumPy array"},
      {std::string("\xff\xfex\0,\0", 6), "found text in UTF-16"},
      {std::string("1\0,\0a\0,\0", 8), "found bytes that are no UTF-8 text"},
      {"{\"x\": 1, \"city\": \"a\", \"y\": 0}\n", "looks like JSON: write it as CSV"},
      {"1 0:3:0.5 1:7:2\n", "looks like libffm (label field:index:value)"},
      {"1 3:0.5 7:2\n", "looks like libsvm (label index:value)"},
      {"1,a,0\r2,b,1\r", "lines seem to end with carriage returns alone: convert them"},
      {"<!DOCTYPE html>\n", "looks like XML or HTML"},
      {"1;a;0\n", "separated by ';', not by ',': set data.delimiter = \";\""},
      {"1|a|0\n", "set data.delimiter = \"|\""},
      {"1\ta\t0\n", "separated by '\\t', not by ',': set data.delimiter = \"\\t\""},
      {"1 a 0\n", "set data.delimiter = \" \""},
      {"1;a;0;4;5\n", "set data.delimiter = \";\""},
      {"x,city,y\n1,a,0\n", "the columns' names: set data.header = true"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = ReadAll(c.text, SpecOf());
    EXPECT_EQ(outcome.status.code(), StatusCode::kInvalid) << c.message;
    EXPECT_THAT(outcome.status.message(), HasSubstr(c.message));
  }
  DataSpec spec = SpecOf({});
  spec.format.header = true;
  EXPECT_THAT(ReadAll("x;city;y\n1;a;0\n", spec).status.message(),
              HasSubstr("set data.delimiter = \";\""));
  for (const char* json : {"{\"x\": 1}\n", "{\"x\":1,\"city\":\"a\",\"y\":0}\n"}) {
    EXPECT_THAT(ReadAll(json, spec).status.message(), HasSubstr("looks like JSON")) << json;
  }
  EXPECT_THAT(ReadAll("\"x\";\"city\";\"y\"\n", spec).status.message(),
              HasSubstr("set data.delimiter = \";\""));
  const std::string endless = "[{\"x\": " + std::string(kLineBytesMax, '1');
  EXPECT_THAT(ReadAll(endless, spec).status.message(), HasSubstr("d.csv: looks like JSON"));
}

TEST(CsvReader, AFirstRowOfDataInThePlaceOfAHeaderIsNamed) {
  DataSpec spec = SpecOf({});
  spec.format.header = true;
  for (const char* text : {"0,a,1\n1,b,0\n", "0.5,0.5,1\n", "-1e3,b,z\n"}) {
    EXPECT_THAT(ReadAll(text, spec).status.message(),
                testing::AllOf(HasSubstr("d.csv:1: expected the names of columns, found '"),
                               HasSubstr("looks like a row of data: set data.header = false")))
        << text;
  }
  EXPECT_THAT(ReadAll("x,2019,y\n1,a,0\n", spec).status.message(), HasSubstr("no column 'city'"))
      << "names that the job uses are a header's";
  EXPECT_THAT(ReadAll("a,b,c\n1,a,0\n", spec).status.message(), HasSubstr("the columns are"));
}

TEST(CsvReader, AByteOrderMarkInsideTheFileIsNamed) {
  const Outcome outcome = ReadAll(
      "1,a,0\n\xef\xbb\xbf"
      "2,b,1\n",
      SpecOf());
  EXPECT_THAT(outcome.status.message(), HasSubstr("a byte order mark (\\xef\\xbb\\xbf) stands"));
}

TEST(CsvReader, AFewOddLinesAreNoOtherKindOfFile) {
  std::string text = "{\"x\": 1}\n";
  for (int i = 0; i < 2000; ++i) text += "1,PAR1;a|b c:d,0\n";
  EXPECT_EQ(RowsOf(text, SpecOf()).size(), 2000U);
}

TEST(CsvReader, MissingAndEmptyFiles) {
  TextDisk disk;
  disk.files["empty.csv"] = "";
  EXPECT_EQ(CsvReader::Open(disk, "none.csv", SpecOf(), {}).status().code(), StatusCode::kNotFound);
  const Status empty = CsvReader::Open(disk, "empty.csv", SpecOf(), {}).status();
  EXPECT_EQ(empty.code(), StatusCode::kInvalid);
  EXPECT_EQ(empty.message(), "empty.csv: the file is empty");
}

TEST(CsvReader, EveryColumnMustBeUsedOnce) {
  const struct {
    std::vector<std::string> columns;
    const char* message;
  } cases[] = {
      {{"x", "city", "y", "extra"}, "column 'extra' is used nowhere"},
      {{"x", "town", "y"}, "no column 'city'"},
      {{"x", "citty", "y"}, "did you mean 'citty'?"},
      {{"x", "city", "y", "x"}, "two columns are called 'x'"},
      {{"x", "city", "y", ""}, "column 4 has no name"},
  };
  for (const auto& c : cases) {
    const Result<ColumnPlan> plan = PlanColumns(c.columns, SpecOf(), "job.toml:3", true);
    ASSERT_FALSE(plan.ok()) << c.message;
    EXPECT_THAT(plan.status().message(), HasSubstr(c.message));
    EXPECT_THAT(plan.status().message(), testing::StartsWith("job.toml:3: "));
  }
  DataSpec spec = SpecOf();
  spec.ignore = {"x"};
  EXPECT_THAT(PlanColumns(spec.format.columns, spec, "j", true).status().message(),
              HasSubstr("column 'x' is both ignored and a feature"));
}

// Random bytes and broken rows: never a crash, and every way to share the file gives the same rows.
TEST(CsvReader, RandomFilesReadTheSameInEveryNumberOfParts) {
  Random random(99);
  DataSpec spec = SpecOf();
  spec.format.bad_share_max = 1;
  const std::string alphabet = "01,,,\n\n\r\"ab .-e?\xc3\xef\xbb\xbf";
  for (int i = 0; i < 300; ++i) {
    std::string text = random.Chance(0.2) ? "\xef\xbb\xbf" : "";
    for (uint64_t n = 1 + random.Below(60); n > 0; --n) {
      if (random.Chance(0.3)) text += "1,a,0\n";
      text += alphabet[random.Below(alphabet.size())];
    }
    spec.format.header = false;
    const Outcome whole = ReadAll(text, spec, {.share = {}, .block_bytes = 1 + random.Below(64)});
    for (uint32_t world = 2; world <= 7; ++world) {
      Outcome parts;
      for (uint32_t rank = 0; rank < world; ++rank) {
        const Outcome part = ReadAll(text, spec, {.share = {rank, world}, .block_bytes = 8});
        parts.rows.insert(parts.rows.end(), part.rows.begin(), part.rows.end());
        parts.bad_lines += part.bad_lines;
      }
      // With kShownMax bad lines and none good, a share fails as the whole does not.
      if (whole.status.ok() && whole.bad_lines < BadLines::kShownMax) {
        ASSERT_EQ(parts.rows, whole.rows) << text;
        ASSERT_EQ(parts.bad_lines, whole.bad_lines) << text;
      }
    }
  }
}

TEST(CsvReader, EveryShareSkipsTheHeaderOnce) {
  DataSpec spec = SpecOf({});
  spec.format.header = true;
  std::string text = "\nx,city,y\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("{},c{},1\n", i, i * i);
    expected.push_back(fmt::format("{}|c{}|1|1", i, i * i));
    for (uint32_t world = 1; world <= 7; ++world) {
      std::vector<std::string> rows;
      for (uint32_t rank = 0; rank < world; ++rank) {
        const Outcome part = ReadAll(text, spec, {.share = {rank, world}});
        ASSERT_TRUE(part.status.ok());
        rows.insert(rows.end(), part.rows.begin(), part.rows.end());
      }
      ASSERT_EQ(rows, expected);
    }
  }
}

}  // namespace
}  // namespace strata
