// strata-admin topology: both maps as JSON, against the published tables of LightGBM's maps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/admin/commands.h"

namespace strata::admin {
namespace {

using Json = nlohmann::json;

Request TopologyRequest(int world, HalvingForm form) {
  Request request;
  request.command = Request::Command::kTopology;
  request.world = world;
  request.form = form;
  return request;
}

Json TopologyOf(int world, HalvingForm form = HalvingForm::kPairLast) {
  Request request = TopologyRequest(world, form);
  request.output = Request::Output::kJson;
  std::string out;
  const Status status = RunTopology(request, &out);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(out.find('\n'), out.size() - 1);  // one object a line
  return Json::parse(out);
}

// "in/out" of each step of rank 0; the other ranks follow by adding their number.
std::string BruckOf(const Json& topology, int rank) {
  std::string text;
  for (const Json& step : topology.at("bruck").at(rank).at("steps")) {
    text += (text.empty() ? "" : " ") + std::to_string(step.at("in").get<int>()) + "/" +
            std::to_string(step.at("out").get<int>());
  }
  return text;
}

// "L3 0:0+2/2+4 4:4+2/2+2": type with neighbour, then peer:send/recv of each round.
std::string HalvingOf(const Json& topology, int rank) {
  const Json& map = topology.at("recursive_halving").at(rank);
  std::string text(1, static_cast<char>(std::toupper(map.at("type").get<std::string>()[0])));
  if (!map.at("neighbour").is_null()) text += std::to_string(map.at("neighbour").get<int>());
  const auto blocks = [](const Json& range) {
    return std::to_string(range.at("start").get<int>()) + "+" +
           std::to_string(range.at("count").get<int>());
  };
  for (const Json& round : map.at("rounds")) {
    text += " " + std::to_string(round.at("peer").get<int>()) + ":" + blocks(round.at("send")) +
            "/" + blocks(round.at("recv"));
  }
  return text;
}

TEST(AdminTopology, JsonOfSixRanks) {
  const Json topology = TopologyOf(6);
  EXPECT_EQ(topology.at("world"), 6);
  EXPECT_EQ(topology.at("form"), "pair-last");
  EXPECT_EQ(BruckOf(topology, 0), "1/5 2/4 4/2");
  EXPECT_EQ(BruckOf(topology, 5), "0/4 1/3 3/1");
  const std::vector<std::string> halving = {"N 2:2+4/0+2 1:1+1/0+1",  "N 4:2+4/0+2 0:0+1/1+1",
                                            "L3 0:0+2/2+4 4:4+2/2+2", "O2",
                                            "L5 1:0+2/2+4 2:2+2/4+2", "O4"};
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(HalvingOf(topology, rank), halving[static_cast<size_t>(rank)]) << rank;
  }
  const std::vector<std::vector<int>> links = {{1, 2, 4, 5}, {0, 2, 3, 5}, {0, 1, 3, 4},
                                               {1, 2, 4, 5}, {0, 2, 3, 5}, {0, 1, 3, 4}};
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(topology.at("links").at(rank).at("peers"), Json(links[static_cast<size_t>(rank)]));
  }
}

TEST(AdminTopology, BruckOfOneToNineRanks) {
  const std::vector<std::string> tables = {"",
                                           "1/1",
                                           "1/2 2/1",
                                           "1/3 2/2",
                                           "1/4 2/3 4/1",
                                           "1/5 2/4 4/2",
                                           "1/6 2/5 4/3",
                                           "1/7 2/6 4/4",
                                           "1/8 2/7 4/5 8/1"};
  for (int world = 1; world <= 9; ++world) {
    EXPECT_EQ(BruckOf(TopologyOf(world), 0), tables[static_cast<size_t>(world) - 1]) << world;
  }
}

TEST(AdminTopology, TheFoldedFormNumbersVirtualRanks) {
  const Json topology = TopologyOf(6, HalvingForm::kFoldFirst);
  EXPECT_EQ(topology.at("form"), "fold-first");
  std::vector<Json> virtual_ranks;
  for (const Json& map : topology.at("recursive_halving")) {
    virtual_ranks.push_back(map.at("virtual_rank"));
  }
  EXPECT_THAT(virtual_ranks, ::testing::ElementsAre(nullptr, 0, nullptr, 1, 2, 3));
}

TEST(AdminTopology, TableShowsBothMapsAndTheLinks) {
  std::string out;
  ASSERT_TRUE(RunTopology(TopologyRequest(3, HalvingForm::kPairLast), &out).ok());
  for (const char* part : {"Bruck", "r0 1/2 2/1", "r1 L(2) 0:0+1/1+2", "r2 O(1)", "Links"}) {
    EXPECT_THAT(out, ::testing::HasSubstr(part));
  }
}

TEST(AdminTopology, WithoutNumberOrWorkersSaysWhatToDo) {
  std::string out;
  const Status status = RunTopology({}, &out);
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("-n N"));
}

}  // namespace
}  // namespace strata::admin
