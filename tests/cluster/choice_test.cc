// The table of choices: what it decides, what it reads and what it refuses.
#include "cluster/schedule/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ChoiceTable, TheFirstRuleThatFitsDecides) {
  const auto table = ChoiceTable::Parse(
      "# a comment\n"
      "allreduce 4 1000 inputs   # small\n"
      "\n"
      "allreduce * 1000 doubling\n"
      "broadcast 2 * binomial\n",
      "my.table");
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(table->Choose(Collective::kAllreduce, 4, 1000), Algorithm::kInputs);
  EXPECT_EQ(table->Choose(Collective::kAllreduce, 5, 1000), Algorithm::kDoubling);
  EXPECT_EQ(table->Choose(Collective::kAllreduce, 4, 1001), Algorithm::kCirculant);
  EXPECT_EQ(table->Choose(Collective::kBroadcast, 2, uint64_t{1} << 40), Algorithm::kBinomial);
  EXPECT_EQ(table->Choose(Collective::kAllgather, 2, 1), Algorithm::kBruck);
  EXPECT_THAT(table->Explain(Collective::kAllreduce, 4, 10).reason,
              AllOf(HasSubstr("my.table"), HasSubstr("rule 1"), HasSubstr("ranks up to 4")));
  EXPECT_THAT(table->Explain(Collective::kAllgather, 4, 10).reason, HasSubstr("no rule fits"));
}

TEST(ChoiceTable, TextReadsBack) {
  const ChoiceTable built_in;
  const auto again = ChoiceTable::Parse(built_in.Text(), "again");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->rules(), built_in.rules());
}

TEST(ChoiceTable, TheBuiltInOneHasAnAlgorithmForEverything) {
  const ChoiceTable table;
  for (const Collective collective : kCollectives) {
    for (const int world : {1, 2, 3, 8, 100, 4096}) {
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 12, uint64_t{1} << 50}) {
        EXPECT_TRUE(Has(collective, table.Choose(collective, world, bytes)));
      }
    }
  }
}

TEST(ChoiceTable, WhatIsPreferredComesFirst) {
  const auto table = ChoiceTable().Preferring("allreduce=ring,broadcast=pipelined", "--algorithms");
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1} << 40}) {
    EXPECT_EQ(table->Choose(Collective::kAllreduce, 5, bytes), Algorithm::kRing);
    EXPECT_EQ(table->Choose(Collective::kBroadcast, 2, bytes), Algorithm::kPipelined);
  }
  EXPECT_EQ(table->Explain(Collective::kAllreduce, 5, 1).reason, "--algorithms says so");
  // The others as before.
  EXPECT_EQ(table->Explain(Collective::kAllToAll, 5, 1).reason,
            ChoiceTable().Explain(Collective::kAllToAll, 5, 1).reason);
  for (const auto& [text, problem] :
       {std::pair("ring", "found 'ring'"),
        {"allsum=ring", "unknown operation 'allsum'; there are allreduce, "},
        {"allreduce=ring,allreduce=binomial", "allreduce twice"},
        {"allreduce=bruck", "no algorithm 'bruck' of allreduce; there are inputs"},
        {"allreduce=ring,", ""},
        {"allreduce=ring,,", "found ''"}}) {
    const auto wrong = ChoiceTable().Preferring(text, "x.toml:3:1");
    EXPECT_EQ(wrong.ok(), *problem == '\0') << text;
    EXPECT_THAT(wrong.status().message(),
                AllOf(HasSubstr(*problem == '\0' ? "" : "x.toml:3:1: "), HasSubstr(problem)));
  }
}

TEST(ChoiceTable, OneWithoutRulesIsNone) {
  EXPECT_THAT(ChoiceTable::Parse("# nothing\n", "my.table").status().message(),
              HasSubstr("my.table: expected lines `operation ranks bytes algorithm`, found none"));
}

TEST(ChoiceTable, EachBadLineIsNamed) {
  const auto table = ChoiceTable::Parse(
      "allreduce 4 1000\n"
      "allsum 4 1000 ring\n"
      "allreduce 0 1000 ring\n"
      "allreduce 4 lots ring\n"
      "allreduce 4 1000 bruck\n"
      "allreduce 4 1000 ring ring\n"
      "allreduce 4 1000 ring\n",
      "my.table");
  ASSERT_EQ(table.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(table.status().message(),
              AllOf(HasSubstr("my.table:1: expected `operation ranks bytes algorithm`"),
                    HasSubstr("my.table:2: unknown operation 'allsum'"),
                    HasSubstr("my.table:3: ranks: expected a number from 1 on or *, found '0'"),
                    HasSubstr("my.table:4: bytes: expected a number or *, found 'lots'"),
                    HasSubstr("my.table:5: no algorithm 'bruck' of allreduce; there are inputs"),
                    HasSubstr("my.table:6: expected")));
}

}  // namespace
}  // namespace strata
