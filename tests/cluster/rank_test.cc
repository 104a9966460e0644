#include "cluster/topology/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata {
namespace {

using ::testing::HasSubstr;

MachineList List() {
  auto list = ParseMachineList("s:7600 server\na:7700 worker\nb:7700 worker\nb:7701 worker\n",
                               "machines.txt");
  EXPECT_TRUE(list.ok());
  return *list;
}

RankClues Clues(std::vector<std::string> local) {
  return {.rank = {},
          .port = {},
          .local_addresses = std::move(local),
          .entry_addresses = {{"10.0.0.1"}, {"10.0.0.2", "fd00::2"}, {"10.0.0.2", "fd00::2"}}};
}

TEST(FindRank, ExplicitRankDecides) {
  RankClues clues = Clues({});
  clues.rank = 2;
  EXPECT_EQ(*FindRank(List(), Role::kWorker, clues), 2);
  for (int bad : {-1, 3}) {
    clues.rank = bad;
    const auto rank = FindRank(List(), Role::kWorker, clues);
    ASSERT_FALSE(rank.ok());
    EXPECT_THAT(rank.status().message(), HasSubstr("lists 3 workers, ranks 0 to 2"));
  }
}

TEST(FindRank, UniqueLocalAddress) {
  EXPECT_EQ(*FindRank(List(), Role::kWorker, Clues({"127.0.0.1", "10.0.0.1"})), 0);
  RankClues clues = Clues({"127.0.0.1", "fd00::2"});
  clues.port = 7701;
  EXPECT_EQ(*FindRank(List(), Role::kWorker, clues), 2);
}

TEST(FindRank, TwoEntriesOfThisMachineAreAnError) {
  const auto rank = FindRank(List(), Role::kWorker, Clues({"10.0.0.2"}));
  ASSERT_FALSE(rank.ok());
  EXPECT_EQ(rank.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(rank.status().message(),
              HasSubstr("rank 1 (b:7700, line 3), rank 2 (b:7701, line 4); say which"));
}

TEST(FindRank, NoEntrySaysWhatWasCompared) {
  const auto rank = FindRank(List(), Role::kWorker, Clues({"127.0.0.1", "192.168.1.9"}));
  ASSERT_FALSE(rank.ok());
  EXPECT_THAT(
      rank.status().message(),
      HasSubstr("machines.txt is this machine, whose addresses are 127.0.0.1, 192.168.1.9"));
}

TEST(FindRank, RoleWithoutEntries) {
  auto list = ParseMachineList("a 1\n", "machines.txt");
  ASSERT_TRUE(list.ok());
  const auto rank = FindRank(*list, Role::kServer, {});
  ASSERT_FALSE(rank.ok());
  EXPECT_THAT(rank.status().message(), HasSubstr("machines.txt lists no server"));
}

}  // namespace
}  // namespace strata
