// Whose documents a lane keeps.
#include "ps/follow/follower.h"

#include <gtest/gtest.h>

#include <map>

namespace strata {
namespace {

using Homes = std::vector<std::vector<uint16_t>>;

Homes HomesOf(const wire::ShardMap& map, uint16_t server, uint16_t lane, uint8_t copies) {
  return Follower::HomesOf(map, {.server = server, .lane = lane}, copies);
}

TEST(Follower, KeepsTheDocumentsOfServersBeforeItsOwn) {
  const wire::ShardMap map = wire::MakeShardMap(std::vector<uint16_t>{1, 1, 1}).value();
  EXPECT_EQ(HomesOf(map, 0, 0, 1), Homes{});
  EXPECT_EQ(HomesOf(map, 0, 0, 2), Homes{{2}});
  EXPECT_EQ(HomesOf(map, 2, 0, 3), (Homes{{1}, {0}}));
  EXPECT_EQ(HomesOf(map, 2, 0, 64), (Homes{{1}, {0}}));
}

// Whatever lanes servers have, each lane's documents are on as many servers as there are copies.
TEST(Follower, EachLaneIsKeptOnceByEachServerBehindIt) {
  const wire::ShardMap map = wire::MakeShardMap(std::vector<uint16_t>{1, 3, 2, 4}).value();
  for (uint8_t copies = 1; copies <= 4; ++copies) {
    std::map<uint16_t, std::map<uint16_t, int>> kept;  // by home, then server
    for (const wire::LaneName& lane : map.lanes) {
      for (const auto& of_server : Follower::HomesOf(map, lane, copies)) {
        for (const uint16_t home : of_server) ++kept[home][lane.server];
      }
    }
    for (uint16_t home = 0; home < map.lanes.size(); ++home) {
      EXPECT_EQ(kept[home].size(), copies - 1U);
      for (const auto& [server, times] : kept[home]) {
        EXPECT_NE(server, map.lanes[home].server);
        EXPECT_EQ(times, 1);
      }
    }
  }
}

}  // namespace
}  // namespace strata
