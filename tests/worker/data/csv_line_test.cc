#include "worker/data/text/csv_line.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

namespace strata {
namespace {

using Fields = std::vector<std::string>;

// The oracle: a state machine over single characters; nothing when the line is no CSV.
std::optional<Fields> NaiveSplit(const std::string& line, char delimiter, bool trim) {
  const auto blank = [&](char c) { return trim && (c == ' ' || c == '\t') && c != delimiter; };
  Fields fields;
  size_t i = 0;
  while (true) {
    std::string field;
    while (i < line.size() && blank(line[i])) ++i;
    if (i < line.size() && line[i] == '"') {
      for (++i;; ++i) {
        if (i >= line.size()) return std::nullopt;
        if (line[i] == '"' && (i + 1 >= line.size() || line[i + 1] != '"')) break;
        if (line[i] == '"') ++i;
        field += line[i];
      }
      for (++i; i < line.size() && blank(line[i]);) ++i;
      if (i < line.size() && line[i] != delimiter) return std::nullopt;
    } else {
      while (i < line.size() && line[i] != delimiter) field += line[i++];
      while (!field.empty() && blank(field.back())) field.pop_back();
    }
    fields.push_back(field);
    if (i >= line.size()) return fields;
    ++i;
  }
}

std::optional<Fields> Split(const std::string& line, char delimiter, bool trim, CsvFields* out) {
  if (SplitCsvLine(line, delimiter, trim, out) != nullptr) return std::nullopt;
  return Fields(out->fields.begin(), out->fields.end());
}

TEST(SplitCsvLine, KnownLines) {
  CsvFields out;
  EXPECT_EQ(Split("a,b,c", ',', true, &out), (Fields{"a", "b", "c"}));
  EXPECT_EQ(Split("", ',', true, &out), (Fields{""}));
  EXPECT_EQ(Split(",", ',', true, &out), (Fields{"", ""}));
  EXPECT_EQ(Split("a,,", ',', true, &out), (Fields{"a", "", ""}));
  EXPECT_EQ(Split(" a , b\t,\tc d ", ',', true, &out), (Fields{"a", "b", "c d"}));
  EXPECT_EQ(Split(" a , b", ',', false, &out), (Fields{" a ", " b"}));
  EXPECT_EQ(Split("\"a,b\",c", ',', true, &out), (Fields{"a,b", "c"}));
  EXPECT_EQ(Split(R"( "a ""quoted"" b" ,"")", ',', true, &out), (Fields{"a \"quoted\" b", ""}));
  EXPECT_EQ(Split(R"("""","x""",y)", ',', true, &out), (Fields{"\"", "x\"", "y"}));
  EXPECT_EQ(Split("5\" pipe,b", ',', true, &out), (Fields{"5\" pipe", "b"}));
  EXPECT_EQ(Split("a\tb\t", '\t', true, &out), (Fields{"a", "b", ""}));
  EXPECT_EQ(Split("39, State-gov, 77516", ',', true, &out), (Fields{"39", "State-gov", "77516"}));
}

TEST(SplitCsvLine, SaysWhyALineIsBad) {
  CsvFields out;
  EXPECT_STREQ(SplitCsvLine("\"a,b", ',', true, &out),
               "a quoted field does not end on its line (fields cannot go on over a line end)");
  EXPECT_STREQ(SplitCsvLine("\"a\"b,c", ',', true, &out),
               "text behind the closing quote of a field");
}

TEST(SplitCsvLine, AgreesWithTheOracleOnRandomLines) {
  Random random(20240229);
  // Few characters, so that quotes, delimiters and blanks meet in every way.
  const std::string alphabet = "ab,\"; \t\x80\xff,\"";
  CsvFields out;
  for (int i = 0; i < 300000; ++i) {
    std::string line;
    for (uint64_t n = random.Below(30); n > 0; --n) line += alphabet[random.Below(alphabet.size())];
    const char delimiter = ",;\t"[random.Below(3)];
    const bool trim = random.Chance(0.5);
    ASSERT_EQ(Split(line, delimiter, trim, &out), NaiveSplit(line, delimiter, trim))
        << "line [" << line << "] delimiter [" << delimiter << "] trim " << trim;
  }
}

}  // namespace
}  // namespace strata
