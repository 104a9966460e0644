// strata-admin get, push and scan on two real servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "ps/client/remote_store.h"
#include "tests/process/admin/admin_fixture.h"
#include "tests/support/process.h"

namespace strata {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class AdminRows : public AdminFixture {
 protected:
  AdminRows() : AdminFixture(AdminData::kNone) {}

  void CreateTable(std::vector<std::string> options) {
    options.insert(options.begin(), {"table", "create", "t"});
    const ProcessResult result = Admin(std::move(options));
    ASSERT_EQ(result.end.code, 0) << result.errors;
  }

  // Rows of the keys from 0, each full of its key.
  void FillTable(uint32_t dim, size_t rows) {
    auto store = RemoteStore::Connect(StoreOptions());
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    std::vector<Key> keys;
    std::vector<float> values;
    for (Key key = 0; key < rows; ++key) {
      keys.push_back(key);
      values.insert(values.end(), dim, static_cast<float>(key));
    }
    Operation put;
    put.kind = OpKind::kAssign;
    put.parts = {{.table = TableIdOf("t"), .keys = keys, .in = values}};
    const Outcome outcome = SubmitAndWait(**store, std::move(put));
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  }

  // The lines that the command prints in JSON.
  std::vector<json> AdminLines(std::vector<std::string> words) {
    words.insert(words.begin(), {"-o", "json"});
    const ProcessResult result = Admin(std::move(words));
    EXPECT_EQ(result.end.code, 0) << result.errors;
    std::istringstream lines(result.output);
    std::vector<json> found;
    for (std::string line; std::getline(lines, line);) {
      found.push_back(json::parse(line, nullptr, false));
    }
    return found;
  }
};

TEST_F(AdminRows, GetTellsAMissingRowFromOneThatHoldsTheInitialValue) {
  CreateTable({"--dim=2"});
  ASSERT_EQ(Admin({"put", "t", "7", "0", "0"}).end.code, 0);
  const json rows = AdminJson({"get", "t", "7", "8"}).at("rows");
  EXPECT_EQ(rows, json::parse(R"([{"key": 7, "exists": true, "values": [0, 0]},
                                  {"key": 8, "exists": false, "values": [0, 0]}])"));
  EXPECT_EQ(Admin({"get", "t", "7", "8"}).output,
            "key  values  row\n"
            "  7  0 0     exists\n"
            "  8  0 0     missing: initial value\n");
}

TEST_F(AdminRows, APushRunsTheRuleOnceAndShowsTheRow) {
  CreateTable({"--dim=2", "--learning-rate=0.5"});
  EXPECT_EQ(AdminJson({"push", "t", "7", "1", "-4"}),
            json::parse(R"({"table": "t", "key": 7, "step": 1, "values": [-0.5, 2]})"));
  EXPECT_EQ(Admin({"push", "t", "7", "2", "--step=9"}).output,
            "pushed to key 7 of table t at step 9; its row is now -1.5 1\n")
      << "one number is every element's";
  EXPECT_EQ(AdminJson({"get", "t", "7"}).at("rows").at(0).at("values"), json({-1.5, 1}));
  EXPECT_EQ(AdminJson({"stats", "t"}).at("tables").at(0).at("updates"), 2);
}

TEST_F(AdminRows, APushOfAnotherDimensionOrToNoTableChangesNothing) {
  CreateTable({"--dim=3"});
  const ProcessResult two = Admin({"push", "t", "7", "1", "2"});
  EXPECT_EQ(two.end.code, 2);
  EXPECT_THAT(two.errors, HasSubstr("dimension 3: expected as many numbers, or one for all, "
                                    "found 2"));
  EXPECT_THAT(Admin({"push", "none", "7", "1"}).errors, HasSubstr("no table 'none'"));
  EXPECT_EQ(AdminJson({"stats", "t"}).at("tables").at(0).at("rows"), 0);
}

TEST_F(AdminRows, APushWhoseEffectDependsOnTheTimeNeedsAStep) {
  for (const char* option : {"--optimizer=adam", "--optimizer=lazy_adam", "--warmup-steps=5"}) {
    CreateTable({"--dim=1", option});
    const ProcessResult unknown = Admin({"push", "t", "7", "1"});
    EXPECT_EQ(unknown.end.code, 2) << option;
    EXPECT_THAT(unknown.errors, HasSubstr("--step=N"));
    EXPECT_EQ(Admin({"push", "t", "7", "1", "--step=3"}).end.code, 0) << option;
    ASSERT_EQ(Admin({"table", "drop", "t", "--yes"}).end.code, 0);
  }
}

TEST_F(AdminRows, AScanBringsEveryRowOfAllServersOnce) {
  constexpr uint32_t kDim = 1024;
  constexpr size_t kRows = 1500;  // several pages a lane
  CreateTable({"--dim=1024"});
  FillTable(kDim, kRows);
  std::vector<json> lines = AdminLines({"scan", "t"});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), json({{"rows", kRows}, {"next", nullptr}}));
  lines.pop_back();
  std::map<uint64_t, json> rows;
  for (const json& line : lines) rows.emplace(line.at("key"), line.at("values"));
  EXPECT_EQ(lines.size(), kRows);
  ASSERT_EQ(rows.size(), kRows);
  for (const auto& [key, values] : rows) {
    ASSERT_EQ(values.size(), kDim);
    EXPECT_EQ(values.front(), key);
    EXPECT_EQ(values.back(), key);
  }
}

TEST_F(AdminRows, AScanWithALimitNamesThePlaceToGoOnFrom) {
  CreateTable({"--dim=1"});
  FillTable(1, 10);
  std::map<uint64_t, json> rows;
  std::string from = "0:0";
  for (int scans = 0; scans < 10 && !from.empty(); ++scans) {
    std::vector<json> lines = AdminLines({"scan", "t", "--limit=4", "--from=" + from});
    ASSERT_FALSE(lines.empty());
    const json end = lines.back();
    lines.pop_back();
    EXPECT_LE(lines.size(), 4U);
    EXPECT_EQ(end.at("rows"), lines.size());
    for (const json& line : lines) {
      EXPECT_TRUE(rows.emplace(line.at("key"), line.at("values")).second) << line;
    }
    from = end.at("next").is_null() ? "" : end.at("next");
  }
  EXPECT_EQ(from, "");
  EXPECT_EQ(rows.size(), 10U);
  EXPECT_THAT(Admin({"scan", "t", "--limit=4"}).output,
              MatchesRegex(" +key  values\n( +[0-9]  [0-9]\n){4}the next rows: --from=.:[0-9]+\n"));
}

TEST_F(AdminRows, AScanFromALaneThatIsNotThereSaysSo) {
  CreateTable({"--dim=1"});
  const ProcessResult result = Admin({"scan", "t", "--from=2:0"});
  EXPECT_EQ(result.end.code, 2);
  EXPECT_THAT(result.errors, HasSubstr("lane 2, but the cluster has 2 lanes"));
}

TEST_F(AdminRows, AScanWithStateShowsWhatTheOptimizerKeeps) {
  CreateTable({"--dim=2", "--optimizer=adagrad"});
  ASSERT_EQ(Admin({"push", "t", "7", "2", "3", "--step=5"}).end.code, 0);
  const json row = AdminLines({"scan", "t", "--state"}).at(0);
  EXPECT_EQ(row.at("key"), 7);
  EXPECT_EQ(row.at("values").size(), 2U);
  EXPECT_EQ(row.at("state"), json({4, 9}));
  EXPECT_EQ(row.at("pushes"), 1);
  EXPECT_EQ(row.at("last_step"), 5);
  EXPECT_EQ(row.at("cut"), 0);
  EXPECT_THAT(
      Admin({"scan", "t", "--state"}).output,
      AllOf(HasSubstr("pushes   last step    cut  values | state\n"), HasSubstr(" | 4 9\n")));
  EXPECT_THAT(Admin({"scan", "t"}).output, Not(HasSubstr("|")));
}

}  // namespace
}  // namespace strata
