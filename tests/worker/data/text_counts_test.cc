#include "worker/data/feature/text_counts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/data/feature/feature_key.h"

namespace strata {
namespace {

const std::vector<FeatureSpec> kFeatures = {{.column = "age", .kind = FeatureKind::kNumeric},
                                            {.column = "a,b", .kind = FeatureKind::kCategorical},
                                            {.column = "city", .kind = FeatureKind::kCategorical}};

uint64_t KeyOf(const std::string& column, const std::string& text) {
  const uint64_t salt = FeatureSalt(column, FeatureKind::kCategorical);
  return text.empty() ? MissingKey(salt) : TextKey(salt, text);
}

TEST(TextCounts, BecomeLinesOfCsvWithKeysAndRows) {
  TextCounts counts(kFeatures);
  for (const char* text : {"Rome", "Bern", "", "Rome", "\"R\", 2", " x"}) counts.Add(2, text);
  counts.Add(1, "t");
  counts.Add(0, "39");  // no text
  EXPECT_EQ(counts.ToCsv(),
            "column,text,key,rows\n" + fmt::format("\"a,b\",t,{},1\n", KeyOf("a,b", "t")) +
                fmt::format("city,,{},1\n", KeyOf("city", "")) +
                fmt::format("city,\" x\",{},1\n", KeyOf("city", " x")) +
                fmt::format("city,\"\"\"R\"\", 2\",{},1\n", KeyOf("city", "\"R\", 2")) +
                fmt::format("city,Bern,{},1\n", KeyOf("city", "Bern")) +
                fmt::format("city,Rome,{},2\n", KeyOf("city", "Rome")));
}

TEST(TextCounts, TextsThatAreNoUtf8AreCountedAndStayAsTheyAre) {
  TextCounts counts(kFeatures);
  for (const char* text : {"Z\xfcrich", "Z\xc3\xbcrich", "Z\xfcrich"}) counts.Add(2, text);
  counts.Add(1, "\xe9");
  EXPECT_EQ(counts.TextsOfOtherBytes(), 2U);
  EXPECT_NE(counts.ToCsv().find("city,Z\xfcrich,"), std::string::npos);
}

TEST(TextCounts, ThoseOfTwoRanksAdd) {
  TextCounts whole(kFeatures);
  TextCounts first(kFeatures);
  TextCounts second(kFeatures);
  for (int i = 0; i < 100; ++i) {
    const std::string text = fmt::format("t{}", i * i % 17);
    whole.Add(2, text);
    (i < 40 ? first : second).Add(2, text);
  }
  ASSERT_TRUE(first.AddSerialized(second.Serialize()).ok());
  EXPECT_EQ(first.ToCsv(), whole.ToCsv());
}

TEST(TextCounts, BytesThatAreCutAreRefused) {
  TextCounts counts(kFeatures);
  counts.Add(1, "text");
  const std::vector<std::byte> bytes = counts.Serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 8) continue;  // no text at all
    TextCounts other(kFeatures);
    EXPECT_EQ(other.AddSerialized(std::span(bytes).first(size)).code(), StatusCode::kCorrupt);
  }
}

TEST(TextCounts, NoMoreThanTheBoundsAreKept) {
  TextCounts few(kFeatures, 2, 100);
  for (const char* text : {"a", "b", "c", "a", "c"}) few.Add(2, text);
  EXPECT_EQ(few.values_not_kept(), 2U);
  TextCounts small(kFeatures, 100, 5);
  for (const char* text : {"abc", "def", "gh", "abc"}) small.Add(2, text);
  EXPECT_EQ(small.values_not_kept(), 1U);
  ASSERT_TRUE(small.AddSerialized(few.Serialize()).ok());
  EXPECT_EQ(small.values_not_kept(), 1U + 2U + 3U);
}

}  // namespace
}  // namespace strata
