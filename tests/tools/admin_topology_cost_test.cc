// strata-admin topology cost, with figures worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/admin/commands.h"

namespace strata::admin {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Request CostOf(int world, std::vector<uint64_t> bytes) {
  Request request;
  request.command = Request::Command::kTopologyCost;
  request.world = world;
  request.cost.bytes = std::move(bytes);
  request.cost.model = {.alpha_s = 1, .beta_s = 1};
  return request;
}

std::vector<Json> JsonOf(Request request) {
  request.output = Request::Output::kJson;
  std::string out;
  const Status status = RunTopologyCost(request, &out);
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<Json> objects;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
  return objects;
}

// With 4 ranks and m bytes, all inputs to all take 2 + 3m, recursive doubling 2 + 2m, the circulant
// pair and halving with Bruck 4 + 1.5m: the last two are the fastest from m = 4 on.
TEST(AdminTopologyCost, CrossingsOfAllreduces) {
  Request request = CostOf(4, {0, 16});
  request.cost.operation = Collective::kAllreduce;
  const std::vector<Json> objects = JsonOf(request);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0].at("operation"), "allreduce");
  EXPECT_EQ(objects[0].at("world"), 4);
  const Json fastest = objects[0].at("fastest");
  ASSERT_EQ(fastest.size(), 2U);
  EXPECT_EQ(fastest[0], (Json{{"from_bytes", 0}, {"algorithm", "doubling"}}));
  EXPECT_EQ(fastest[1], (Json{{"from_bytes", 4}, {"algorithm", "halving-bruck"}}));
  const Json inputs = objects[0].at("algorithms").at(0);
  EXPECT_EQ(inputs.at("algorithm"), "inputs");
  const Json expected = {{"bytes", 16},      {"seconds", 2.0 + 3 * 16}, {"rounds", 2},
                         {"path_bytes", 48}, {"sent_max", 48},          {"sent_all", 192},
                         {"reduced_max", 48}};
  EXPECT_EQ(inputs.at("points").at(1), expected);
}

TEST(AdminTopologyCost, AllOperationsAndABarrierOnce) {
  const std::vector<Json> objects = JsonOf(CostOf(5, {1, 2, 3}));
  ASSERT_EQ(objects.size(), std::size(kCollectives));
  EXPECT_EQ(objects.back().at("operation"), "barrier");
  EXPECT_EQ(objects.back().at("algorithms").at(0).at("points").size(), 1U);
}

TEST(AdminTopologyCost, TableNamesTheFastest) {
  Request request = CostOf(4, {1, 1024});
  request.cost.operation = Collective::kBroadcast;
  std::string out;
  ASSERT_TRUE(RunTopologyCost(request, &out).ok());
  for (const char* part :
       {"4 ranks; alpha 1.00 s", "broadcast\n", "1.0 KiB  binomial", "fastest: binomial, from "}) {
    EXPECT_THAT(out, HasSubstr(part));
  }
}

TEST(AdminTopologyCost, RanksThatAreNotThere) {
  std::string out;
  Status status = RunTopologyCost(CostOf(4097, {8}), &out);
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_THAT(status.message(), HasSubstr("at most 4096 ranks"));
  Request request = CostOf(4, {8});
  request.cost.model.slow_links = {{.a = 0, .b = 4}};
  status = RunTopologyCost(request, &out);
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_THAT(status.message(), HasSubstr("rank 4: expected one of 0 to 3"));
  EXPECT_EQ(ExitCode(RunTopologyCost({}, &out)), 2);
}

}  // namespace
}  // namespace strata::admin
