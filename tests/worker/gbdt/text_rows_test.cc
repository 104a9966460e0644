#include "worker/gbdt/data/text_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/text_disk.h"

namespace strata {
namespace {

// All rows, as dense values with 0 where nothing is.
struct Read {
  std::vector<std::vector<double>> rows;
  std::vector<float> labels;
  std::vector<float> weights;
  std::vector<int64_t> queries;
  std::vector<std::string> names;
};

Result<Read> ReadAll(const std::string& text, const ColumnChoice& columns = {}) {
  TextDisk disk;
  disk.files["data"] = text;
  STRATA_ASSIGN(const std::unique_ptr<TextRows> source, TextRows::Open(disk, "data", columns));
  Read read;
  SparseRows block;
  for (int pass = 0; pass < 2; ++pass) {
    read = {};
    STRATA_TRY(source->Rewind());
    while (true) {
      STRATA_TRY(source->Next(&block));
      if (block.rows() == 0) break;
      for (size_t row = 0; row < block.rows(); ++row) {
        std::vector<double> values;
        for (size_t i = block.begins[row]; i < block.begins[row + 1]; ++i) {
          values.resize(std::max<size_t>(values.size(), block.columns[i] + 1), 0);
          values[block.columns[i]] = block.values[i];
        }
        read.rows.push_back(values);
      }
      read.labels.insert(read.labels.end(), block.labels.begin(), block.labels.end());
      read.weights.insert(read.weights.end(), block.weights.begin(), block.weights.end());
      read.queries.insert(read.queries.end(), block.queries.begin(), block.queries.end());
    }
  }
  for (std::vector<double>& row : read.rows) row.resize(source->features(), 0);
  read.names = source->FeatureNames();
  return read;
}

// The rows of a file with labels and without are the same where the number of columns tells.
// Without names.
ExpectedFeatures Numbered(size_t features) {
  return {.names = DefaultFeatureNames(features),
          .needed = std::vector<bool>(features, true),
          .owner = "the model"};
}

TEST(TextRows, OfWhatIsPredictedForLabelsMayBeMissingOrAnything) {
  const ExpectedFeatures three = Numbered(3);
  const ExpectedFeatures one = Numbered(1);
  const std::vector<std::vector<double>> expected = {{1.5, 0, -2}, {0, 3e-5, 7}};
  for (const char* text :
       {"1,1.5,0,-2\n0,0,3e-5,7\n", "1.5,0,-2\n0,3e-5,7\n", "1.5\t0\t-2\n0\t3e-5\t7\n",
        "0:1.5 2:-2\n1:3e-5 2:7\n", "1 0:1.5 2:-2\n0 1:3e-5 2:7\n", "0:1.5\t2:-2\n1:3e-5\t2:7\n",
        "nan,1.5,0,-2\n?,0,3e-5,7\n", "yes\t1.5\t0\t-2\nno\t0\t3e-5\t7\n",
        "? 0:1.5 2:-2\n1e99 1:3e-5 2:7\n"}) {
    const Result<Read> read = ReadAll(text, {.expected = &three, .predicts = true});
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->rows, expected) << text;
    ASSERT_EQ(read->labels.size(), 2U);
    EXPECT_TRUE(std::isnan(read->labels[0])) << text;
  }
  const Result<Read> named = ReadAll("w,a,b\n-2,1.5,7\n", {.header = true,
                                                           .label = "name:y",
                                                           .weight = "name:w",
                                                           .expected = &three,
                                                           .predicts = true});
  ASSERT_TRUE(named.ok()) << named.status().ToString();
  EXPECT_EQ(named->rows[0], (std::vector<double>{0, 1.5, 7}));
  EXPECT_TRUE(named->weights.empty());
  const Result<Read> single = ReadAll("1.5\n-2\n", {.expected = &one, .predicts = true});
  ASSERT_TRUE(single.ok()) << single.status().ToString();
  EXPECT_EQ(single->rows, (std::vector<std::vector<double>>{{1.5}, {-2}}));
}

TEST(TextRows, TabsCommasAndPairsSayTheSame) {
  const std::vector<std::vector<double>> expected = {{1.5, 0, -2}, {0, 3e-5, 7}};
  for (const char* text : {"1\t1.5\t0\t-2\n0\t0\t3e-5\t7\n", "1,1.5,0,-2\r\n\n0,0,3e-5,+7",
                           "1 0:1.5 2:-2\n0 1:3e-5 2:7\n", "1\t0:1.5\t2:-2\n0\t1:3e-5\t2:7\n"}) {
    const Result<Read> read = ReadAll(text);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->rows, expected) << text;
    EXPECT_EQ(read->labels, (std::vector<float>{1, 0}));
    EXPECT_EQ(read->names, (std::vector<std::string>{"Column_0", "Column_1", "Column_2"}));
  }
}

TEST(TextRows, AByteOrderMarkIsNoPartOfTheFirstLine) {
  const std::string mark = "\xef\xbb\xbf";
  for (const char* text : {"1\t2\n0\t3\n", "1,2\n0,3\n", "1 0:2\n0 0:3\n"}) {
    const Result<Read> read = ReadAll(mark + text);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->labels, (std::vector<float>{1, 0})) << text;
  }
  const Result<Read> named = ReadAll(mark + "y,a\n1,2\n", {.header = true, .label = "name:y"});
  ASSERT_TRUE(named.ok()) << named.status().ToString();
  EXPECT_EQ(named->names, std::vector<std::string>{"a"});
}

TEST(TextRows, ARowOfEmptyFieldsIsARow) {
  for (const char* text : {"1,2,3\n\n,,\n1,5,6\n", "1\t2\t3\n\n\t\t\r\n1\t5\t6\n"}) {
    const ExpectedFeatures two = Numbered(2);
    const Result<Read> read = ReadAll(text, {.expected = &two, .predicts = true});
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->rows.size(), 3U) << text;
    EXPECT_TRUE(std::isnan(read->rows[1][0]) && std::isnan(read->rows[1][1])) << text;
  }
}

TEST(TextRows, ALibsvmFileMayBeginWithAComment) {
  const Result<Read> read = ReadAll("# a comment, of words\n1 0:2\n");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->rows, (std::vector<std::vector<double>>{{2}}));
}

TEST(TextRows, MissingValuesAreNaN) {
  const Result<Read> read = ReadAll("1,NA,nan,,?,null,5\n");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(read->rows[0][i])) << i;
  EXPECT_EQ(read->rows[0][5], 5);
}

TEST(TextRows, ColumnsHaveRoles) {
  const ColumnChoice columns = {.header = true,
                                .label = "name:y",
                                .weight = "name:w",
                                .query = "2",  // without the label: q
                                .ignored = {"name:junk"}};
  const Result<Read> read = ReadAll("a,w,y,q,junk,b\n1,0.5,9,4,x,2\n3,2,8,4,z,6\n", columns);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->labels, (std::vector<float>{9, 8}));
  EXPECT_EQ(read->weights, (std::vector<float>{0.5, 2}));
  EXPECT_EQ(read->queries, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(read->rows[0], (std::vector<double>{1, 0, 0, 0, 2}));
  EXPECT_EQ(read->names, (std::vector<std::string>{"a", "w", "q", "junk", "b"}));
}

TEST(TextRows, QueriesStandInPairs) {
  const Result<Read> read = ReadAll("1 qid:3 1:2\n0 qid:3 4:1\n2 qid:9 1:1\n");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->queries, (std::vector<int64_t>{3, 3, 9}));
}

struct Bad {
  const char* text;
  ColumnChoice columns;
  const char* message;  // a part of it
};

TEST(TextRows, InLibsvmCommentsBeginWithAWordOfANumberSign) {
  const Result<Read> plain = ReadAll("1 qid:7 0:1 2:3\n0 qid:7\n2 qid:9 1:5\n");
  const Result<Read> commented = ReadAll(
      "1 qid:7 0:1 2:3 #docid = 5 1:9\n# all of the next query: 0:1\n0 qid:7 # 0:4\n"
      "2 qid:9 1:5\t#\n");
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  ASSERT_TRUE(commented.ok()) << commented.status().ToString();
  EXPECT_EQ(commented->rows, plain->rows);
  EXPECT_EQ(commented->labels, plain->labels);
  EXPECT_EQ(commented->queries, plain->queries);
}

TEST(TextRows, BadTextSaysWhatWhereAndWhy) {
  const Bad cases[] = {
      {"", {}, "no row"},
      {"a,b\n", {.header = true}, "no row"},
      {"hello world\n", {}, "unknown format"},
      {"1,2\n1,x\n", {}, "data:2: expected a number, found 'x'"},
      {"y,a\n1,x\n",
       {},
       "data:1: expected a number, found 'y': a first line of names needs header"},
      {"1,2\r0,3\r", {}, "found '2\\x0d0': lines seem to end with carriage returns alone"},
      {"1,2\n\xef\xbb\xbf"
       "0,3\n",
       {},
       "data:2: expected a number, found '\\xef\\xbb\\xbf0': a byte order mark (\\xef\\xbb\\xbf) "
       "stands inside the file"},
      {"1,Private\n0,Private\n",
       {},
       "data:1: expected a number, found 'Private': job files (--job) read texts as categories"},
      {"\x1f\x8b\x08,\n", {}, "data: expected rows as text, found compressed with gzip"},
      {"PK\x03\x04,\n", {}, "found a zip archive"},
      {"PAR1\x01\x02,\n", {}, "found a Parquet file: write it as CSV"},
      {"{\"y\": 1, \"a\": 2}\n", {}, "data: looks like JSON: write it as CSV"},
      {"1 0:3:0.5 1:7:2\n", {}, "data: looks like libffm (label field:index:value)"},
      {"1;2\n1;3\n", {}, "fields seem to be separated by ';': change them to commas or tabs"},
      {"1|2\n1|3\n", {}, "fields seem to be separated by '|'"},
      {"1 2 3\n", {}, "fields seem to be separated by ' '"},
      {"1,5;2,5\n", {}, "found '5;2': fields seem to be separated by ';'"},
      {"1,2\n1,Private\n",
       {},
       "data:2: expected a number, found 'Private': job files (--job) read texts as categories: "
       "see "
       "docs/trees.md"},
      {"1,2\n1,2,3\n", {}, "data:2: expected 2 columns"},
      {"1,2,3\n1,2\n", {}, "data:2: expected 3 columns, found 2"},
      {"1,2\nnan,2\n", {}, "data:2: the label is missing"},
      {"1,2\ninf,2\n", {}, "data:2: the label is"},
      {"1 1:2\n1 2:3 2:4\n", {}, "data:2: feature 2 behind 2"},
      {"1 1:2\n1 -1:3\n", {}, "data:2: expected index:value"},
      {"1 1:2\n1 99999999999:3\n", {}, "data:2: feature 99999999999"},
      {"1 1:2\n1 7\n", {}, "data:2: expected index:value, found '7'"},
      {"1 1:2\n1 qid:x 7:1\n", {}, "data:2: expected qid:NUMBER"},
      {"1 1:2\n", {.weight = "0"}, "libsvm rows have no columns"},
      {"1,2\n", {.label = "name:y"}, "there is no header"},
      {"x,y\n1,2\n", {.header = true, .label = "name:z"}, "no column has this name"},
      {"1,2\n", {.weight = "5"}, "column 5: there are 2 columns"},
      {"1,2\n", {.weight = "one"}, "expected a number or name:NAME"},
      {"1,2,-3\n", {.weight = "1"}, "data:1: the weight is not"},
      {"a,b,c\n1,2\n", {.header = true}, "the header names 3 columns, the first row has 2"},
      {"1,1e999\n", {}, "data:1: expected a number, found '1e999'"},
  };
  for (const Bad& bad : cases) {
    const Result<Read> read = ReadAll(bad.text, bad.columns);
    ASSERT_FALSE(read.ok()) << bad.text;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalid) << read.status().ToString();
    EXPECT_NE(read.status().message().find(bad.message), std::string::npos)
        << read.status().message() << "\nexpected: " << bad.message;
  }
  TextDisk disk;
  EXPECT_EQ(TextRows::Open(disk, "none", {}).status().code(), StatusCode::kNotFound);
  const std::string endless(kLineBytesMax + 1, '1');
  EXPECT_NE(ReadAll(endless).status().message().find("data: byte 0: a line above"),
            std::string::npos);
  EXPECT_NE(ReadAll("[{\"y\": " + endless).status().message().find("data: looks like JSON"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
