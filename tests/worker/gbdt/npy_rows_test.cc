#include "worker/gbdt/data/npy_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/gbdt/npy_text.h"
#include "tests/worker/text_disk.h"

namespace strata {
namespace {

Result<SparseRows> ReadOnce(const std::string& text, const ColumnChoice& columns = {}) {
  TextDisk disk;
  disk.files["x.npy"] = text;
  STRATA_ASSIGN(const std::unique_ptr<NpyRows> source, NpyRows::Open(disk, "x.npy", columns));
  SparseRows block;
  SparseRows again;
  STRATA_TRY(source->Next(&block));
  STRATA_TRY(source->Next(&again));
  EXPECT_EQ(again.rows(), 0U);
  STRATA_TRY(source->Rewind());
  STRATA_TRY(source->Next(&again));
  EXPECT_EQ(again.columns, block.columns);
  return block;
}

// As frame.to_records(index=False) is saved.
TEST(NpyRows, FieldsOfAStructuredArrayAreColumnsWithNames) {
  const auto header = [](const std::string& fields) {
    return "{'descr': [" + fields + "], 'fortran_order': False, 'shape': (2,), }     \n";
  };
  const std::vector<float> numbers = {7, 1, -2, 8, 3, 4};
  const std::string text =
      NpyText(header("('b c', '<f4'), (\"y's\", '<f4'), ('a', '<f4')"), numbers);
  const Result<SparseRows> rows = ReadOnce(text, {.label = "name:y's"});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ(rows->labels, (std::vector<float>{1, 3}));
  EXPECT_EQ(rows->values, (std::vector<double>{7, -2, 8, 4}));
  const ExpectedFeatures swapped = {{"a", "b_c"}, {true, true}, "the model"};
  const Result<SparseRows> found = ReadOnce(text, {.label = "name:y's", .expected = &swapped});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->columns, (std::vector<uint32_t>{1, 0, 1, 0}));
  EXPECT_EQ(found->values, (std::vector<double>{7, -2, 8, 4}));
  for (const auto& [fields, message] :
       {std::pair{"('y', '<f4'), ('a', '<f8')", "found 'a' of kind '<f8'"},
        {"('y', '<i4'), ('a', '<i4')", "found 'y' of kind '<i4'"},
        {"('y', '<f4'), ('a', '<f4', (2,))", "expected elements '<f4' or '<f8'"},
        {"('y', '<f4'), ('a', '<f4'", "expected elements '<f4' or '<f8'"}}) {
    const Result<SparseRows> bad = ReadOnce(NpyText(header(fields), numbers));
    ASSERT_FALSE(bad.ok()) << fields;
    EXPECT_NE(bad.status().message().find(message), std::string::npos) << bad.status().message();
  }
}

TEST(NpyRows, FloatsOfBothWidthsAreRead) {
  const ExpectedFeatures three = {{"a", "b", "c"}, {true, true, true}, "the model"};
  const ExpectedFeatures two = {{"a", "b"}, {true, true}, "the model"};
  const std::vector<float> narrow = {1, 2.5F, 0, 0, NAN, -3};
  const std::vector<double> wide(narrow.begin(), narrow.end());
  for (const std::string& text :
       {NpyText(NpyHeader("<f4", "(2, 3)"), narrow), NpyText(NpyHeader("<f8", "(2, 3)"), wide)}) {
    const Result<SparseRows> rows = ReadOnce(text);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    EXPECT_EQ(rows->labels, (std::vector<float>{1, 0}));
    EXPECT_EQ(rows->begins, (std::vector<size_t>{0, 1, 3}));
    EXPECT_EQ(rows->columns, (std::vector<uint32_t>{0, 0, 1}));
    EXPECT_EQ(rows->values[0], 2.5);
    EXPECT_TRUE(std::isnan(rows->values[1]));
    EXPECT_EQ(rows->values[2], -3);
    const Result<SparseRows> unlabelled = ReadOnce(text, {.expected = &three, .predicts = true});
    ASSERT_TRUE(unlabelled.ok()) << unlabelled.status().ToString();
    EXPECT_TRUE(std::isnan(unlabelled->labels[0]));
    EXPECT_EQ(unlabelled->begins, (std::vector<size_t>{0, 2, 4}));
    EXPECT_EQ(unlabelled->columns, (std::vector<uint32_t>{0, 1, 1, 2}));
    const Result<SparseRows> labelled =
        ReadOnce(text, {.label = "1", .expected = &two, .predicts = true});
    ASSERT_TRUE(labelled.ok()) << labelled.status().ToString();
    EXPECT_TRUE(std::isnan(labelled->labels[1]));  // as it is in the file
    EXPECT_TRUE(std::isnan(labelled->labels[0]));
    EXPECT_EQ(labelled->columns, (std::vector<uint32_t>{0, 1}));
  }
}

TEST(NpyRows, BadFilesSayWhatIsWrong) {
  const std::vector<float> six(6);
  const std::pair<std::string, const char*> cases[] = {
      {"hello, this is text", "no NumPy array"},
      {NpyText(NpyHeader("<i8", "(2, 3)"), six),
       "expected elements '<f4' or '<f8', found '<i8': save"},
      {NpyText(NpyHeader("<f4", "(2, 3)", "True"), six), "row-major"},
      {NpyText(NpyHeader("<f4", "(6,)"), six),
       "expected two dimensions, rows and columns, found (6,)"},
      {NpyText(NpyHeader("<f4", "(2, 2, 2)"), six), "expected two dimensions"},
      {NpyText(NpyHeader("<f4", "(3, 3)"), six), "do not make its"},
      {NpyText(NpyHeader("<f4", "(4611686018427387904, 3)"), six), "do not make its"},
      {NpyText(NpyHeader("<f4", "(6, 1)"), six), "expected the label and features"},
      {NpyText(NpyHeader("<f4", "(0, 0)"), six), "0 columns"},
      {NpyText(NpyHeader("<f4", "(2, 3)"), six).substr(0, 40), "cut in its header"},
      {NpyText(NpyHeader("<f4", "(2, 3)"), std::vector<float>{NAN, 1, 1, 1, 1, 1}),
       "row 1: the label is"},
  };
  for (const auto& [text, message] : cases) {
    const Result<SparseRows> rows = ReadOnce(text);
    ASSERT_FALSE(rows.ok()) << message;
    EXPECT_NE(rows.status().message().find(message), std::string::npos) << rows.status().message();
  }
}

}  // namespace
}  // namespace strata
