// strata-admin against real servers: rows by hand, a cluster of which half is down, drain,
// shutdown.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "proto/wire/shard_map.h"
#include "ps/client/remote_store.h"
#include "tests/process/admin/admin_fixture.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class AdminProcess : public AdminFixture {
 protected:
  AdminProcess() : AdminFixture(AdminData::kNone) {}
};

// One that waits in a buffer until the end, and one that does not.
TEST(AdminOutput, OnAFullDiskIsAnErrorAndNoCrash) {
  for (const char* ranks : {"4", "512"}) {
    const ProcessResult full =
        RunOnFullDisk(ProgramPath("strata-admin"), {"topology", "-n", ranks, "-o", "json"});
    EXPECT_EQ(full.end, ProcessEnd{1}) << ranks;
    EXPECT_EQ(full.errors,
              "strata-admin: FAILED: cannot write to stdout: No space left on device\n");
  }
  EXPECT_EQ(RunOnFullDisk(ProgramPath("strata-admin"), {"--help"}).end, ProcessEnd{1});
  EXPECT_EQ(RunOnFullDisk(ProgramPath("strata-admin"), {"statsu"}, "2").end, ProcessEnd{2});
  for (const char* ask : {"--help", "--version"}) {
    EXPECT_EQ(RunOnFullDisk(ProgramPath("strata-server"), {ask}).end, ProcessEnd{1}) << ask;
  }
}

TEST(AdminOutput, ForAReaderWhoHasGoneIsAnError) {
  const TempFolder folder;
  const std::string unread = "mkfifo p; exec 3<>p 4>p 3<&-; \"$0\" \"$@\" >&4";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"topology", "-n", "4"}, {"key", "c", "red"}}) {
    std::vector<std::string> arguments = {"-c", unread, ProgramPath("strata-admin")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const ProcessResult run =
        RunProcess("/bin/bash", {.arguments = arguments, .folder = folder.path()});
    EXPECT_EQ(run.end, ProcessEnd{1}) << words[0] << run.errors;
    EXPECT_THAT(run.errors, HasSubstr("cannot write to stdout: Broken pipe")) << words[0];
    EXPECT_EQ(unlink(folder.File("p").c_str()), 0);
  }
}

TEST_F(AdminProcess, TablesAndRowsByHand) {
  EXPECT_EQ(AdminJson({"tables"}).at("tables"), json::array());
  EXPECT_EQ(Admin({"table", "create", "t", "--dim=3", "--initializer=zero"}).end.code, 0);
  EXPECT_EQ(Admin({"table", "create", "t", "--dim=3", "--initializer=zero"}).end.code, 0);
  EXPECT_EQ(Admin({"table", "create", "t", "--dim=4"}).end.code, 2);  // exists with another dim

  EXPECT_EQ(Admin({"put", "t", "7", "0.5", "-1", "2.25"}).end.code, 0);
  EXPECT_EQ(Admin({"put", "t", "18446744073709551615", "1", "2", "3"}).end.code, 0);
  const ProcessResult short_row = Admin({"put", "t", "7", "1"});
  EXPECT_EQ(short_row.end.code, 2);
  EXPECT_THAT(short_row.errors, HasSubstr("dimension 3"));

  const json rows = AdminJson({"get", "t", "7", "0xffffffffffffffff", "8"}).at("rows");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("values"), json({0.5, -1, 2.25}));
  EXPECT_EQ(rows[1].at("key"), UINT64_MAX);
  EXPECT_EQ(rows[1].at("values"), json({1, 2, 3}));
  EXPECT_EQ(rows[2].at("values"), json({0, 0, 0}));  // initial values; the pull makes no row

  const json table = AdminJson({"stats", "t"}).at("tables").at(0);
  EXPECT_EQ(table.at("name"), "t");
  EXPECT_EQ(table.at("rows"), 2);
  const json& tiers = table.at("tiers");
  EXPECT_EQ(tiers.size(), 1U) << "neither a GPU nor a disk";
  EXPECT_EQ(tiers.at("warm").at("rows"), 2);
  EXPECT_EQ(tiers.at("warm").at("hits"), 2);
  EXPECT_EQ(table.at("passed_down"), 0);
  EXPECT_THAT(Admin({"get", "none", "1"}).errors, HasSubstr("no table 'none'"));
  EXPECT_EQ(Admin({"stats", "none"}).end.code, 2);
  const std::string status = Admin({"status", "--timeout=2s"}).output;
  EXPECT_THAT(status, HasSubstr("serving  cpu  "));
  EXPECT_THAT(status, HasSubstr("1 table, "));

  // Each of them has left; the last one's message may still be on its way.
  const auto clients = [&] {
    const json servers = AdminJson({"status", "--timeout=2s"}).at("nodes");
    return servers.at(0).at("server").at("clients").get<int>() +
           servers.at(1).at("server").at("clients").get<int>();
  };
  for (int i = 0; i < 100 && clients() != 0; ++i) {
  }
  EXPECT_EQ(clients(), 0);

  EXPECT_EQ(Admin({"erase", "t", "7", "8", "7"}).output, "erased 1 row of table t, of 3 keys\n");
  EXPECT_EQ(AdminJson({"get", "t", "7"}).at("rows").at(0).at("values"), json({0, 0, 0}));
  EXPECT_EQ(AdminJson({"stats", "t"}).at("tables").at(0).at("rows"), 1);
  EXPECT_EQ(AdminJson({"erase", "t", "0xffffffffffffffff"}),
            json({{"table", "t"}, {"keys", {UINT64_MAX}}, {"erased", 1}}));
  EXPECT_EQ(AdminJson({"stats", "t"}).at("tables").at(0).at("rows"), 0);
  EXPECT_THAT(Admin({"erase", "none", "1"}).errors, HasSubstr("no table 'none'"));
  EXPECT_EQ(Admin({"erase", "t"}).end.code, 2);
  EXPECT_THAT(Admin({"erase", "t", "seven"}).errors, HasSubstr("KEY 'seven'"));

  EXPECT_EQ(Admin({"table", "drop", "t"}).end.code, 4);  // not without --yes
  EXPECT_EQ(AdminJson({"tables"}).at("tables").size(), 1U);
  EXPECT_EQ(Admin({"table", "drop", "t", "--yes"}).end.code, 0);
  EXPECT_EQ(AdminJson({"tables"}).at("tables").size(), 0U);
}

TEST_F(AdminProcess, TablesShowTheirDefinitions) {
  EXPECT_EQ(Admin({"table", "create", "t", "--dim=3", "--optimizer=adam", "--learning-rate=0.1",
                   "--beta1=0.5", "--warmup-steps=10", "--initializer=uniform", "--scale=0.25",
                   "--seed=9", "--value-type=bf16", "--state-type=fp16"})
                .end.code,
            0);
  const json tables = AdminJson({"tables"}).at("tables");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0], json::parse(R"({"name": "t", "dim": 3, "optimizer": "adam",
      "learning_rate": 0.1,
      "constants": {"epsilon": 1e-7, "beta1": 0.5, "beta2": 0.999, "clip_value": 0.0,
                    "clip_norm": 0.0, "weight_decay": 0.0, "warmup_steps": 10, "decay_steps": 0},
      "initializer": "uniform", "scale": 0.25, "ack": "default",
      "seed": 9, "value_type": "bf16", "state_type": "fp16", "rows": 0,
      "bytes": )" + tables[0].at("bytes").dump() +
                                   "}"));
  const std::string text = Admin({"tables"}).output;
  EXPECT_THAT(text, HasSubstr("0.1  uniform 0.25"));
  EXPECT_THAT(text, HasSubstr("bf16, state fp16"));
}

TEST_F(AdminProcess, ServersThatKeepNoCheckpointsSayWhatTheyNeed) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"checkpoint"},
                                                {"checkpoint", "list"},
                                                {"restore", "1", "--yes"}}) {
    const ProcessResult result = Admin(words);
    EXPECT_EQ(result.end.code, 4) << words[0];
    EXPECT_THAT(result.errors, HasSubstr("this server keeps no checkpoints: they need a data "
                                         "folder (server.data)"));
  }
}

TEST_F(AdminProcess, AnotherClustersServersRefuseAndAreNotDown) {
  WriteClusterFile("other");
  const std::vector<std::vector<std::string>> commands = {{"tables"},
                                                          {"stats"},
                                                          {"ping"},
                                                          {"table", "create", "t", "--dim=1"},
                                                          {"get", "t", "1"},
                                                          {"drain"},
                                                          {"shutdown", "--yes"}};
  for (const std::vector<std::string>& words : commands) {
    const ProcessResult result = Admin(words);
    EXPECT_EQ(result.end.code, 4) << words[0] << result.errors;
    for (const char* server : {"server 0", "server 1"}) {
      EXPECT_THAT(result.errors,
                  HasSubstr(fmt::format("strata-admin: REFUSED: {} refused: 127.0.", server)))
          << words[0];
    }
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 2) << result.errors;
  }
  EXPECT_EQ(Admin({"tables"}).output, "");
  EXPECT_EQ(AdminJson({"tables"}, 4).at("servers_refused"), json({0, 1}));
  // The worker is down, the servers are not.
  const ProcessResult status = Admin({"status", "--expect-workers"});
  EXPECT_EQ(status.end.code, 3);
  EXPECT_THAT(status.output, HasSubstr("up    refused"));
  EXPECT_THAT(status.errors, HasSubstr("1 of 3 nodes is down: worker 0"));
  for (const auto& server : servers_) EXPECT_TRUE(server->Running());
}

TEST_F(AdminProcess, ShutdownOfAServerThatHangsCostsTheTimeoutOnly) {
  servers_[1]->Signal(SIGSTOP);
  const TimeNs begin = RealClock().Now();
  const ProcessResult result = Admin({"shutdown", "--yes", "--timeout=1s"});
  EXPECT_LT(RealClock().Now() - begin, 8 * kSecond);  // the time to drain alone is 10 s
  EXPECT_EQ(result.end.code, 3);
  EXPECT_THAT(result.output, HasSubstr("did not answer within 1.0 s"));
  EXPECT_THAT(result.errors, HasSubstr("1 of 2 servers is down: server 1"));
  EXPECT_EQ(servers_[0]->Wait(), ProcessEnd{0}) << servers_[0]->Errors();
}

TEST_F(AdminProcess, ClientsAreListedAndOneThatIsEvictedIsAnsweredSo) {
  auto store = RemoteStore::Connect(StoreOptions());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  TableSpec spec;
  spec.name = "t";
  ASSERT_TRUE((*store)->CreateTable(spec).ok());
  const json clients = AdminJson({"clients"}).at("clients");
  ASSERT_EQ(clients.size(), 2U) << "one on each server";
  for (const char* field : {"server", "lane", "idle_seconds", "pending", "credit_bytes"}) {
    EXPECT_TRUE(clients[0].at(field).is_number()) << field;
  }
  EXPECT_TRUE(clients[0].at("connected"));
  const std::string id = clients[0].at("client");
  EXPECT_EQ(clients[1].at("client"), id);
  EXPECT_THAT(Admin({"clients"}).output, HasSubstr(id));
  EXPECT_EQ(AdminJson({"clients", "evict", id}).at("clients"), json::array());
  spec.name = "u";
  EXPECT_EQ((*store)->CreateTable(spec).code(), StatusCode::kSessionExpired);
  EXPECT_THAT(Admin({"clients", "evict", id}).errors, HasSubstr("has no place on any server"));
  EXPECT_EQ(Admin({"clients", "evict", "12"}).end.code, 2);

  auto other = RemoteStore::Connect(StoreOptions());
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  ASSERT_TRUE((*other)->CreateTable(spec).ok());
  const std::string other_id = AdminJson({"clients"}).at("clients").at(0).at("client");
  EXPECT_EQ(Admin({"clients", "evict", other_id}).output,
            fmt::format("evicted client {} from server 0, server 1\n", other_id));
}

TEST_F(AdminProcess, ADrainThatIsNotDoneInTimeIsNoLostServer) {
  WriteClusterFile("admin-test", "[timeouts]\nshutdown = \"500ms\"\n");
  // The push of one rank of two: its step has begun, but never closes.
  const std::vector<Key> keys = {1, 2, 3, 4};
  const std::vector<float> gradients(keys.size(), 1);
  auto store = RemoteStore::Connect(StoreOptions());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  TableSpec spec;
  spec.name = "t";
  ASSERT_TRUE((*store)->CreateTable(spec).ok());
  TablePart part;
  part.table = spec.id();
  part.keys = keys;
  part.in = gradients;
  Operation push;
  push.kind = OpKind::kUpdate;
  push.parts = {part};
  push.sync = SyncGroup{.id = 1, .rank = 0, .world = 2, .first_step = 1};
  (*store)->Submit(std::move(push), [](const Outcome&) {});
  ASSERT_TRUE(WaitUntil([&] {
    const json nodes = AdminJson({"status"}).at("nodes");
    return nodes[0].at("server").at("queue_bytes") > 0 &&
           nodes[1].at("server").at("queue_bytes") > 0;
  }));

  const ProcessResult drain = Admin({"drain"});
  EXPECT_EQ(drain.end.code, 1) << drain.output << drain.errors;
  EXPECT_THAT(drain.output, HasSubstr("draining, "));
  EXPECT_THAT(drain.output, HasSubstr("of requests still wait"));
  EXPECT_THAT(drain.errors, HasSubstr("did not finish within 0.5s on server 0, server 1"));
}

TEST_F(AdminProcess, BetweenTwoJobsNoWorkerRunsAndAllIsWell) {
  EXPECT_EQ(Admin({"status"}).end.code, 0);
  const ProcessResult expected = Admin({"status", "--expect-workers"});
  EXPECT_EQ(expected.end.code, 3);
  EXPECT_THAT(expected.errors, HasSubstr("1 of 3 nodes is down: worker 0"));
}

TEST_F(AdminProcess, WithAServerDownTheOthersAnswerForTheirRows) {
  ASSERT_EQ(Admin({"table", "create", "t", "--dim=1", "--optimizer=adam"}).end.code, 0);
  // Keys of both servers; the first half of the shards is server 0's.
  std::vector<std::string> here, there;
  for (Key key = 1; here.size() < 2 || there.size() < 2; ++key) {
    auto& keys = wire::ShardOf(key) < wire::kShards / 2 ? here : there;
    if (keys.size() < 2) keys.push_back(fmt::to_string(key));
  }
  for (const auto& keys : {here, there}) {
    for (const std::string& key : keys) ASSERT_EQ(Admin({"put", "t", key, "2"}).end.code, 0);
  }
  servers_[1]->Signal(SIGKILL);
  ASSERT_TRUE(servers_[1]->Wait().has_value());
  const ProcessResult all = Admin({"get", "t", here[0], here[1], "--timeout=2s"});
  EXPECT_EQ(all.end.code, 0) << all.errors;
  const ProcessResult some = Admin({"get", "t", here[0], there[0], "--timeout=2s"});
  EXPECT_EQ(some.end.code, 3);
  EXPECT_THAT(some.output, HasSubstr(here[0] + "  2"));
  EXPECT_THAT(some.errors, HasSubstr("1 of 2 servers is down: server 1"));
  EXPECT_THAT(some.errors, HasSubstr("not answered: key " + there[0]));
  const ProcessResult scan = Admin({"scan", "t", "--timeout=2s"});
  EXPECT_EQ(scan.end.code, 3);
  EXPECT_THAT(scan.output, AllOf(HasSubstr(here[0] + "  2"), HasSubstr(here[1] + "  2"),
                                 Not(HasSubstr(there[0] + "  2"))));
  EXPECT_THAT(scan.errors, AllOf(HasSubstr("server 1"), HasSubstr("without the rows")));
  EXPECT_EQ(Admin({"put", "t", here[0], "3", "--timeout=2s"}).end.code, 0);
  EXPECT_EQ(Admin({"put", "t", there[0], "3", "--timeout=2s"}).end.code, 3);
  const ProcessResult tables = Admin({"tables", "--timeout=2s"});
  EXPECT_EQ(tables.end.code, 3);
  EXPECT_THAT(tables.output, HasSubstr("adam"));
  EXPECT_THAT(tables.output, Not(HasSubstr("?")));
}

TEST_F(AdminProcess, HalfOfTheClusterDown) {
  servers_[1]->Signal(SIGKILL);
  ASSERT_TRUE(servers_[1]->Wait().has_value());

  const json nodes = AdminJson({"status", "--timeout=2s"}, 3).at("nodes");
  ASSERT_EQ(nodes.size(), 3U);
  std::vector<bool> up;
  for (const json& node : nodes) up.push_back(node.at("up").get<bool>());
  EXPECT_THAT(up, ElementsAre(true, false, false));
  EXPECT_EQ(nodes[0].at("state"), "serving");
  EXPECT_EQ(nodes[0].at("server").at("device"), "cpu");
  EXPECT_TRUE(nodes[1].contains("error"));
  EXPECT_EQ(nodes[2].at("role"), "worker");

  const ProcessResult table = Admin({"status", "--timeout=2s", "--expect-workers"});
  EXPECT_EQ(table.end.code, 3);
  EXPECT_THAT(table.output, HasSubstr("server 0"));
  EXPECT_THAT(table.errors, HasSubstr("2 of 3 nodes are down: server 1"));

  const json tables = AdminJson({"tables", "--timeout=2s"}, 3);
  EXPECT_EQ(tables.at("servers_down"), json({1}));
  const json ping = AdminJson({"ping", "--timeout=2s"}, 3).at("servers");
  EXPECT_TRUE(ping[0].at("up"));
  EXPECT_FALSE(ping[1].at("up"));
  const ProcessResult get = Admin({"get", "t", "1", "--timeout=2s"});
  EXPECT_EQ(get.end.code, 3);
  EXPECT_THAT(get.errors, HasSubstr("server 1"));
}

TEST_F(AdminProcess, DrainRefusesWritesAndShutdownEndsTheServers) {
  EXPECT_EQ(Admin({"table", "create", "t", "--dim=1"}).end.code, 0);
  const json drained = AdminJson({"drain"}).at("servers");
  ASSERT_EQ(drained.size(), 2U);
  for (const json& server : drained) EXPECT_EQ(server.at("state"), "draining");
  EXPECT_NE(Admin({"put", "t", "1", "1"}).end.code, 0);
  EXPECT_EQ(AdminJson({"get", "t", "1"}).at("rows").size(), 1U);  // reading goes on
  EXPECT_EQ(Admin({"drain", "--rank=2"}).end.code, 2);

  const ProcessResult unsure = Admin({"shutdown"});
  EXPECT_EQ(unsure.end.code, 4);
  EXPECT_THAT(unsure.errors, HasSubstr("this ends 2 servers; server 0 has no data folder: its part "
                                       "of 1 table, 0 rows, is gone then; server 1 has"));
  EXPECT_TRUE(servers_[0]->Running());
  Admin({"shutdown", "--yes"});
  for (const auto& server : servers_) EXPECT_EQ(server->Wait(), ProcessEnd{0}) << server->Errors();
}

}  // namespace
}  // namespace strata
