// Rows for models of CatBoost: numbers, column descriptions, and which column is which feature.
#include "worker/gbdt/catboost/pool_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "worker/gbdt/catboost/pool_columns.h"

namespace strata {
namespace {

using testing::HasSubstr;

TEST(PoolNumber, IsReadAsCatBoostReadsIt) {
  const std::pair<const char*, float> numbers[] = {{"1", 1.0F},
                                                   {"-2.5", -2.5F},
                                                   {"+3", 3.0F},
                                                   {"1e-3", 0.001F},
                                                   {" 3", 3.0F},
                                                   {" \v -35e-1", -3.5F},
                                                   {" +3", 3.0F},
                                                   {"0.1", 0.1F},
                                                   {"-0", 0.0F},
                                                   {"-0.0", 0.0F},
                                                   {"1e39", INFINITY},
                                                   {"-1e39", -INFINITY},
                                                   {"inf", INFINITY},
                                                   {"Inf", INFINITY},
                                                   {"-infinity", -INFINITY},
                                                   {"16777217", 16777216.0F}};
  for (const auto& [text, expected] : numbers) {
    float number = -7;
    EXPECT_TRUE(ReadPoolNumber(text, &number)) << text;
    EXPECT_EQ(number, expected) << text;
    EXPECT_FALSE(std::signbit(number) && number == 0) << text;
  }
  for (const char* missing : {"", "-", "nan", "NaN", "NA", "N/A", "null", "None", "#N/A", "-nan"}) {
    float number = 0;
    EXPECT_TRUE(ReadPoolNumber(missing, &number)) << missing;
    EXPECT_TRUE(std::isnan(number)) << missing;
  }
  float number = 0;
  for (const char* wrong :
       {"x", "1x", " ", "1 ", " nan", "0x10", "--1", "1,5", "nana", "infinite", "+", "+-5"}) {
    EXPECT_FALSE(ReadPoolNumber(wrong, &number)) << wrong;
  }
}

TEST(ColumnDescription, NamesKindsAndNames) {
  const auto columns =
      ParseColumnDescription("1\tCateg\ttown\r\n\n0\tTarget\n3\tDocId\n", "rows.cd", "rows.csv", 5);
  ASSERT_TRUE(columns.ok()) << columns.status().ToString();
  ASSERT_EQ(columns->size(), 5U);
  EXPECT_TRUE(ParseColumnDescription("1\tAuxiliary\ta\n2\tNum\ta\n", "rows.cd", "rows.csv", 5).ok())
      << "one of them is no feature";
  EXPECT_EQ((*columns)[0].kind, PoolColumnKind::kLabel);
  EXPECT_EQ((*columns)[1].kind, PoolColumnKind::kCategory);
  EXPECT_EQ((*columns)[1].name, "town");
  EXPECT_EQ((*columns)[2].kind, PoolColumnKind::kNumber);
  EXPECT_EQ((*columns)[3].kind, PoolColumnKind::kSampleId);
  EXPECT_EQ((*columns)[4].kind, PoolColumnKind::kNumber);
  const std::pair<const char*, const char*> wrong[] = {
      {"0 Num\n", "rows.cd:1: expected 'place<tab>type'"},
      {"0\tNum\tx\ty\n", "rows.cd:1: expected 'place<tab>type'"},
      {"0\tLabel\n5\tNum\n",
       "rows.cd:2: expected the place of a column, from 0 to 4, found '5': rows.csv has 5 columns"},
      {"-1\tNum\n", "found '-1'"},
      {"x\tNum\n", "found 'x'"},
      {"2\tNum\n2\tNum\n", "rows.cd:2: column 2 stands there twice"},
      {"1\tNum\ta\n2\tCateg\ta\n",
       "rows.cd:2: column 2 is 'a', and so is column 1: expected different names of features"},
      {"0\tnum\n", "found the type 'num', which is not supported"},
      {"0\tBaseline\n", "found the type 'Baseline', which is not supported"}};
  for (const auto& [text, message] : wrong) {
    const Status status = ParseColumnDescription(text, "rows.cd", "rows.csv", 5).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(status.message(), HasSubstr(message)) << text;
  }
}

// f (feature 0) and c (feature 2) are used, g (feature 1) is not.
CatBoostModel ModelOfThree() {
  CatBoostModel model;
  model.numbers = {{.id = "f", .index = 0, .flat_index = 0, .borders = {0.5F}},
                   {.id = "g", .index = 1, .flat_index = 1, .borders = {}}};
  model.categories = {{.id = "c", .index = 0, .flat_index = 2, .values = {7}, .string_values = {}}};
  return model;
}

std::string Matched(const std::vector<PoolColumn>& columns) {
  const auto found = MatchColumns(ModelOfThree(), columns, "rows.tsv");
  if (!found.ok()) return found.status().message();
  std::string text;
  for (size_t c = 0; c < found->size(); ++c) {
    if ((*found)[c].is_read) text += std::to_string(c) + ":" + std::to_string((*found)[c].feature);
    text += " ";
  }
  return text;
}

TEST(MatchColumns, ByNameOrByPlace) {
  constexpr auto kNum = PoolColumnKind::kNumber;
  constexpr auto kCateg = PoolColumnKind::kCategory;
  constexpr auto kLabel = PoolColumnKind::kLabel;
  // By place: nobody gave names, or to some alone.
  EXPECT_EQ(Matched({{kLabel, ""}, {kNum, ""}, {kNum, ""}, {kCateg, ""}}), " 1:0  3:0 ");
  EXPECT_EQ(Matched({{kNum, ""}, {kNum, "other"}, {kLabel, ""}, {kCateg, "c"}}), "0:0   3:0 ");
  // By name, in any order, without what is not used.
  EXPECT_EQ(Matched({{kCateg, "c"}, {kNum, "x"}, {kNum, "f"}}), "0:0  2:0 ");
  EXPECT_THAT(
      Matched({{kNum, ""}, {kNum, ""}}),
      HasSubstr("rows.tsv: the model uses feature 2 ('c'), counted from 0: expected at least 3 "
                "features, found 2"));
  EXPECT_THAT(Matched({{kNum, "a"}, {kNum, "g"}, {kCateg, "c"}}),
              HasSubstr("column 0: expected feature 0 ('f') of the model, found 'a'"));
  EXPECT_THAT(Matched({{kNum, "f"}, {kNum, "g"}, {kNum, "c"}}),
              HasSubstr("column 2: feature 2 ('c') of the model is categorical: expected the type "
                        "Categ in the column description"));
  EXPECT_THAT(
      Matched({{kCateg, ""}, {kNum, ""}, {kCateg, ""}}),
      HasSubstr("column 0: feature 0 ('f') of the model is a number: expected the type Num"));
}

}  // namespace
}  // namespace strata
