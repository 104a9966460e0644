// strata-server with a data folder: what was acknowledged is there again after kill -9, with the
// memory of who wrote what and of the steps; a folder has one owner; a log that fails ends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <optional>

#include "base/failpoint.h"
#include "proto/control/control.pb.h"
#include "proto/wire/checkpoint_payload.h"
#include "ps/client/remote_store.h"
#include "ps/net/zmq_port.h"
#include "tests/process/server/daemon.h"
#include "tests/process/server/daemon_status.h"
#include "tests/ps/server/raw_peer.h"
#include "tests/support/ones.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<RemoteStore> Connect(const Daemon& daemon) {
  auto store = RemoteStore::Connect({.servers = {daemon.address()},
                                     .cluster_id = kCluster,
                                     .client_name = "test",
                                     .server_lost_after = 60 * kSecond});
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

TableSpec Spec() {
  TableSpec spec;
  spec.name = "t";
  spec.dim = 2;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}

struct Rows {
  std::vector<Key> keys;
  std::vector<float> values;
};

Operation Make(OpKind kind, Rows& rows, AckLevel ack = AckLevel::kDefault) {
  Operation operation;
  operation.kind = kind;
  operation.ack = ack;
  operation.parts.resize(1);
  operation.parts[0].table = Spec().id();
  operation.parts[0].keys = rows.keys;
  if (kind == OpKind::kLookup) {
    operation.parts[0].out = rows.values;
  } else {
    operation.parts[0].in = rows.values;
  }
  return operation;
}

std::vector<float> Pull(RemoteStore& store, const std::vector<Key>& keys) {
  Rows rows{keys, std::vector<float>(keys.size() * 2)};
  const Outcome outcome = SubmitAndWait(store, Make(OpKind::kLookup, rows));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  return rows.values;
}

// Of all lanes.
bool GoesThrough(RemoteStore& store, const std::string& scheme) {
  const std::vector<std::string> endpoints = store.LaneEndpoints();
  return std::ranges::all_of(endpoints, [&](const auto& at) { return at.starts_with(scheme); });
}

class DurableServerOver : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Transports, DurableServerOver, testing::Values("tcp", "shm"),
                         [](const auto& at) { return std::string(at.param); });

TEST_P(DurableServerOver, WhatWasAcknowledgedSurvivesKillNine) {
  const std::string scheme = GetParam();
  const TempFolder folder;
  const std::vector<std::string> arguments = {
      "--port=0", "--lanes=2", "--data=" + folder.File("data"),
      fmt::format("--server_shared_memory={}", scheme == "shm")};
  auto daemon = std::make_unique<Daemon>(arguments);
  EXPECT_EQ(daemon->data(), folder.File("data"));
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(Spec()).ok());
  std::vector<Key> keys(20);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15;
  float sum = 0;
  for (int life = 0; life < 4; ++life) {
    const uint64_t before = daemon->incarnation();
    ASSERT_TRUE(WaitUntil([&] { return GoesThrough(*store, scheme); })) << "life " << life;
    for (int push = 0; push < 5; ++push) {
      Rows gradients{keys, std::vector<float>(keys.size() * 2, 1.0F)};
      const AckLevel ack = push % 2 == 0 ? AckLevel::kLogged : AckLevel::kSynced;
      const Outcome outcome = SubmitAndWait(*store, Make(OpKind::kUpdate, gradients, ack));
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
      sum -= 1;
    }
    // A push under way when the process dies: it comes again, and is applied once.
    Rows last{keys, std::vector<float>(keys.size() * 2, 1.0F)};
    std::promise<Outcome> done;
    store->Submit(Make(OpKind::kUpdate, last),
                  [&done](Outcome outcome) { done.set_value(std::move(outcome)); });
    daemon->Kill();
    const uint16_t port = daemon->port();
    daemon = std::make_unique<Daemon>(arguments);
    EXPECT_EQ(daemon->port(), port);  // where clients look for it
    EXPECT_EQ(daemon->incarnation(), before + 1);
    const Status status = done.get_future().get().status;
    ASSERT_TRUE(status.ok()) << status.ToString();
    sum -= 1;
    EXPECT_EQ(Pull(*store, keys), std::vector<float>(keys.size() * 2, sum)) << "life " << life;
  }
  daemon->ExpectOrderlyEnd();
}

// The copy goes through the same boot numbers as the original: the client that lives on sees one
// that it knows, or a later one that remembers another.
TEST(DurableServer, AClientOfAFolderWhoseOlderCopyIsServedIsLost) {
  for (const int boots_of_copy : {1, 2}) {
    SCOPED_TRACE(boots_of_copy);
    const TempFolder folder;
    const std::string data = folder.File("data"), copy = folder.File("copy");
    const std::vector<std::string> arguments = {"--port=0", "--data=" + data};
    Daemon(arguments).ExpectOrderlyEnd();
    std::filesystem::copy(data, copy, std::filesystem::copy_options::recursive);
    auto daemon = std::make_unique<Daemon>(arguments);
    const std::unique_ptr<RemoteStore> store = Connect(*daemon);
    ASSERT_TRUE(store->CreateTable(Spec()).ok());
    Rows gradients{{7}, {1.0F, 1.0F}};
    const Status first =
        SubmitAndWait(*store, Make(OpKind::kUpdate, gradients, AckLevel::kSynced)).status;
    ASSERT_TRUE(first.ok()) << first.ToString();
    daemon->Kill();
    std::filesystem::remove_all(data);
    std::filesystem::rename(copy, data);
    for (int boot = 1; boot < boots_of_copy; ++boot) Daemon(arguments).ExpectOrderlyEnd();
    daemon = std::make_unique<Daemon>(arguments);
    const Status second =
        SubmitAndWait(*store, Make(OpKind::kUpdate, gradients, AckLevel::kSynced)).status;
    EXPECT_EQ(second.code(), StatusCode::kLost) << second.ToString();
    EXPECT_THAT(second.message(), HasSubstr("another copy of its data folder"));
    daemon->ExpectOrderlyEnd();
  }
}

// Of a server whose rows go to disk.
std::vector<std::string> ColdArguments(const TempFolder& folder) {
  return {"--port=0", "--data=" + folder.File("data"), "--memory=16MiB", "--cold=true"};
}

// Rows begin as zeros.
TableSpec ZeroSpec() {
  TableSpec spec = Spec();
  spec.initializer.scale = 0;
  return spec;
}

TEST(DurableServer, CheckpointsWithoutAnIdentityAreSaid) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.File("data/checkpoints"));
  Daemon daemon({"--port=0", "--data=" + folder.File("data")});
  daemon.ExpectOrderlyEnd();
  EXPECT_THAT(daemon.process().Errors(),
              HasSubstr("/identity is missing, but " + folder.File("data/checkpoints") +
                        " exists: the server starts without tables"));
}

// More rows than memory has room for: each is pushed to twice, before and after the server died.
TEST(DurableServer, ATableLargerThanMemorySurvivesKillNine) {
  constexpr size_t kBatch = 10'000, kBatches = 20;
  const TempFolder folder;
  std::vector<std::string> arguments = ColdArguments(folder);
  arguments.emplace_back("--lanes=2");  // whose counts are added up
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(ZeroSpec()).ok());
  const auto keys_of = [](size_t batch) {
    std::vector<Key> keys(kBatch);
    for (size_t i = 0; i < kBatch; ++i) keys[i] = (batch * kBatch + i) * 0x9e3779b97f4a7c15;
    return keys;
  };
  for (const float expected : {-1.0F, -2.0F}) {
    for (size_t batch = 0; batch < kBatches; ++batch) {
      Rows gradients{keys_of(batch), std::vector<float>(kBatch * 2, 1.0F)};
      const Outcome outcome = SubmitAndWait(*store, Make(OpKind::kUpdate, gradients));
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    }
    const control::NodeStatus status = StatusOf(*daemon);
    ASSERT_EQ(status.server().table_size(), 1);
    EXPECT_EQ(status.server().table(0).rows(), kBatch * kBatches);
    EXPECT_GT(status.server().table(0).cold_rows(), 0U);
    EXPECT_LT(status.server().table(0).cold_rows(), kBatch * kBatches);
    const auto& tiers = status.server().table(0).tier();
    ASSERT_EQ(tiers.size(), 2);
    EXPECT_EQ(tiers[0].name(), "warm");
    EXPECT_EQ(tiers[1].name(), "cold");
    EXPECT_EQ(tiers[0].rows() + tiers[1].rows(), kBatch * kBatches);
    EXPECT_EQ(tiers[1].rows(), status.server().table(0).cold_rows());
    EXPECT_GT(tiers[1].rows_in(), 0U);
    daemon->Kill();
    daemon = std::make_unique<Daemon>(arguments);
    for (size_t batch = 0; batch < kBatches; ++batch) {
      ASSERT_EQ(Pull(*store, keys_of(batch)), std::vector<float>(kBatch * 2, expected)) << batch;
    }
  }
  daemon->ExpectOrderlyEnd();
}

// What a push brought and no row shows, an operator finds on /metrics.
TEST(DurableServer, WhatUpdatesLeaveOutIsCounted) {
  const TempFolder folder;
  WriteWholeFile(folder.File("cluster.toml"), "[server]\nadmit_from = 2\n");
  std::vector<std::string> arguments = ColdArguments(folder);
  arguments.push_back("--config=" + folder.File("cluster.toml"));
  Daemon daemon(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(daemon);
  ASSERT_TRUE(store->CreateTable(ZeroSpec()).ok());
  Rows gradients{{1, 2, 3}, {1, 1, 1, 1, NAN, 1}};
  ASSERT_TRUE(SubmitAndWait(*store, Make(OpKind::kUpdate, gradients)).status.ok());
  const std::string metrics = HttpGet(daemon.http_port(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr("strata_server_not_admitted_keys_total 2\n"));
  EXPECT_THAT(metrics, HasSubstr("strata_server_rejected_rows_total 1\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("passed_down"))) << "there is no GPU";
  EXPECT_THAT(metrics, HasSubstr("strata_lane_refused_total{lane=\"0\",reason=\"memory\"} 0\n"));
  daemon.ExpectOrderlyEnd();
}

// Rank 0's push waits for rank 1 when the server dies; the step closes in its next life.
TEST(DurableServer, AnOpenStepGoesOnInTheNextLife) {
  const TempFolder folder;
  const std::vector<std::string> arguments = {"--port=0", "--data=" + folder.File("data")};
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> ranks[] = {Connect(*daemon), Connect(*daemon)};
  ASSERT_TRUE(ranks[0]->CreateTable(Spec()).ok());
  Rows rows{{7}, {1.0F, 1.0F}};
  const auto push = [&](uint16_t rank, uint64_t step) {
    Operation operation = Make(OpKind::kUpdate, rows);
    operation.sync = SyncGroup{.id = 3, .rank = rank, .world = 2};
    operation.step = step;
    auto done = std::make_shared<std::promise<Status>>();
    ranks[rank]->Submit(std::move(operation),
                        [done](Outcome outcome) { done->set_value(outcome.status); });
    return done->get_future();
  };
  for (uint64_t step = 1; step <= 6; ++step) {
    auto first = push(0, step);
    if (step % 2 == 0) {
      daemon->Kill();
      daemon = std::make_unique<Daemon>(arguments);
    }
    auto second = push(1, step);
    const Status a = first.get();
    const Status b = second.get();
    ASSERT_TRUE(a.ok()) << a.ToString();
    ASSERT_TRUE(b.ok()) << b.ToString();
    const float expected = -2.0F * static_cast<float>(step);
    EXPECT_EQ(Pull(*ranks[0], {7}), (std::vector<float>{expected, expected}));
  }
  daemon->ExpectOrderlyEnd();
}

// One request to the only lane, and its reply.
Result<wire::Received> Ask(const Daemon& daemon, wire::Header header, Message payload = {}) {
  STRATA_ASSIGN(const auto context, ZmqContext::Create());
  STRATA_ASSIGN(const auto dealer, ZmqDealerPort::Create(context));
  header.request_id = 1;
  header.cluster_id = kCluster;
  STRATA_TRY(dealer->Send({"tcp://" + daemon.address(), wire::Seal(header, std::move(payload))}));
  STRATA_ASSIGN(auto reply, dealer->Receive(RealClock().Now() + 30 * kSecond));
  if (!reply) return DeadlineExceeded("no reply");
  STRATA_ASSIGN(wire::Received received, wire::Open(std::move(reply->message)));
  STRATA_TRY(wire::StatusOfReply(received));
  return received;
}

// The limit counts from when the server serves: what was acknowledged finds its place again.
TEST(DurableServer, AFullColdTierRefusesPushesAndSaysSo) {
  const TempFolder folder;
  WriteWholeFile(folder.File("cluster.toml"), "[server]\ncold_bytes_max = \"4MiB\"\n");
  std::vector<std::string> arguments = ColdArguments(folder);
  arguments.push_back("--config=" + folder.File("cluster.toml"));
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(ZeroSpec()).ok());
  Key next = 1;
  const auto push = [&] {
    Rows gradients{std::vector<Key>(5000), std::vector<float>(5000 * 2, 1.0F)};
    for (Key& key : gradients.keys) key = next++ * 0x9e3779b97f4a7c15;
    Operation operation = Make(OpKind::kUpdate, gradients);
    operation.deadline = RealClock().Now() + kSecond;
    return SubmitAndWait(*store, std::move(operation)).status;
  };
  const auto push_until_refused = [&] {
    Status status;
    for (const Key end = next + 2'000'000; status.ok() && next < end;) status = push();
    return status;
  };
  const Status status = push_until_refused();
  EXPECT_EQ(status.code(), StatusCode::kDiskFull) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("server.cold_bytes_max"));
  EXPECT_THAT(StatusOf(*daemon).server().lane(0).no_room(), HasSubstr("cold tier"));
  EXPECT_THAT(daemon->process().Errors(), HasSubstr("writes are refused until there is room"));
  EXPECT_THAT(HttpGet(daemon->http_port(), "/readyz"), HasSubstr("disk is full"));
  const uint64_t rows = StatusOf(*daemon).server().rows();
  daemon->Kill();
  daemon = std::make_unique<Daemon>(arguments);
  EXPECT_EQ(StatusOf(*daemon).server().rows(), rows);
  EXPECT_EQ(push_until_refused().code(), StatusCode::kDiskFull);
  daemon->ExpectOrderlyEnd();
}

// Its cold tier begins empty, and others take what that gave back before its rows are there again.
TEST(DurableServer, AStartWaitsForRoomForItsColdRows) {
  constexpr size_t kBatch = 10'000, kBatches = 20;
  const TempFolder folder;
  const SmallDisk disk(folder.File("data"), "size=64m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  WriteWholeFile(folder.File("config.toml"), "[server]\nlog_bytes_max = \"40MiB\"\n");
  std::vector<std::string> arguments = ColdArguments(folder);
  arguments.push_back("--config=" + folder.File("config.toml"));
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(ZeroSpec()).ok());
  const auto keys_of = [](size_t batch) { return Range(batch * kBatch, kBatch); };
  for (size_t batch = 0; batch < kBatches; ++batch) {
    Rows gradients{keys_of(batch), std::vector<float>(kBatch * 2, 1.0F)};
    ASSERT_TRUE(SubmitAndWait(*store, Make(OpKind::kUpdate, gradients)).status.ok());
  }
  daemon->Kill();
  // As much as an empty RocksDB and the log's next segments ask for.
  for (const auto& entry : std::filesystem::directory_iterator(folder.File("data/cold"))) {
    std::filesystem::remove_all(entry.path());
  }
  const std::string kept = folder.File("data/kept"), filler = folder.File("data/filler");
  WriteWholeFile(kept, std::string(300'000, 'x'));
  FillUp(filler);
  std::filesystem::remove(kept);
  Process asked(ProgramPath("strata-server"), {.arguments = arguments});
  ASSERT_TRUE(asked.WaitForErrors("refused until there is room")) << asked.Errors();
  asked.Signal(SIGTERM);
  EXPECT_EQ(asked.Wait(), ProcessEnd{0}) << asked.Errors();
  EXPECT_THAT(asked.Errors(), HasSubstr("asked to end before it was ready"));
  Process waiting(ProgramPath("strata-server"), {.arguments = arguments});
  ASSERT_TRUE(waiting.WaitForErrors("refused until there is room")) << waiting.Errors();
  EXPECT_EQ(waiting.Output(), "");
  std::filesystem::remove(filler);
  ASSERT_TRUE(waiting.WaitForOutput("ready")) << waiting.Errors();
  for (size_t batch = 0; batch < kBatches; ++batch) {
    ASSERT_EQ(Pull(*store, keys_of(batch)), std::vector<float>(kBatch * 2, -1.0F)) << batch;
  }
}

// Where damage was done before, it is done again to the same bytes: none is healed.
void DamageColdFiles(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".sst") continue;
    // One that a compaction has taken away meanwhile does not open.
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(0, std::ios::end);
    const std::streamoff end = file.tellg();
    for (std::streamoff at = 100; at + 4096 < end; at += 4096) {
      file.seekp(at);
      file.write("damaged", 7);
    }
  }
}

// Bits of the cold tier's files flip under a running server.
TEST(DurableServer, AColdRowThatCannotBeReadFailsItsRequestAlone) {
  constexpr size_t kBatch = 1000, kBatches = 200;
  const TempFolder folder;
  const std::vector<std::string> arguments = ColdArguments(folder);
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(ZeroSpec()).ok());
  const auto keys_of = [](size_t batch) { return Range(batch * kBatch, kBatch); };
  const auto push = [&](size_t batch) {
    Rows gradients{keys_of(batch), std::vector<float>(kBatch * 2, 1.0F)};
    return SubmitAndWait(*store, Make(OpKind::kUpdate, gradients)).status;
  };
  const auto expect_damage = [](const Status& status) {
    for (const char* part : {"CORRUPT: table 't'", "key ", ".sst", "A restart builds"}) {
      EXPECT_THAT(status.message(), HasSubstr(part));
    }
  };
  for (size_t batch = 0; batch < kBatches; ++batch) ASSERT_TRUE(push(batch).ok());
  std::optional<size_t> damaged;
  while (!damaged) {  // compactions under way still write good files
    DamageColdFiles(folder.File("data/cold"));
    for (size_t batch = 0; batch < kBatches; ++batch) {
      Rows rows{keys_of(batch), std::vector<float>(kBatch * 2)};
      const Status status = SubmitAndWait(*store, Make(OpKind::kLookup, rows)).status;
      if (status.ok()) {
        ASSERT_EQ(rows.values, std::vector<float>(kBatch * 2, -1.0F)) << batch;
        continue;
      }
      expect_damage(status);
      damaged = batch;
    }
  }
  expect_damage(push(*damaged));
  const auto checkpoint = Ask(*daemon, {.command = wire::Command::kCheckpoint, .cursor = 1});
  EXPECT_THAT(checkpoint.status().message(), HasSubstr("CORRUPT: table 't'"));
  size_t answered = 0;  // a filter takes one absent key in a hundred for present, and reads a block
  for (Key absent = kBatch * kBatches; absent < kBatch * kBatches + 10; ++absent) {
    Rows rows{{absent}, std::vector<float>(2)};
    if (!SubmitAndWait(*store, Make(OpKind::kLookup, rows)).status.ok()) continue;
    EXPECT_EQ(rows.values, std::vector<float>(2, 0.0F));
    ++answered;
  }
  EXPECT_GT(answered, 0);

  daemon->Kill();
  daemon = std::make_unique<Daemon>(arguments);
  for (size_t batch = 0; batch < kBatches; ++batch) {
    ASSERT_EQ(Pull(*store, keys_of(batch)), std::vector<float>(kBatch * 2, -1.0F)) << batch;
  }
  daemon->ExpectOrderlyEnd();
}

// Takes checkpoint `number` of a server that stands alone, and trims its log; what `meanwhile`
// writes is behind the cut.
void TakeCheckpoint(
    const Daemon& daemon, uint32_t number, const std::function<void()>& meanwhile = [] {}) {
  wire::Header header{.command = wire::Command::kCheckpoint, .cursor = number};
  const auto part = Ask(daemon, header);
  ASSERT_TRUE(part.ok()) << part.status().ToString();
  ASSERT_EQ(part->header.cut, number);
  meanwhile();
  header.command = wire::Command::kCommitCheckpoint;
  const auto committed = Ask(
      daemon, header, {wire::EncodeBlocks({&part->payload[0], 1}), wire::EncodeNamedBlocks({})});
  ASSERT_TRUE(committed.ok()) << committed.status().ToString();
  header.command = wire::Command::kTrimLog;
  const auto trimmed = Ask(daemon, header);
  ASSERT_TRUE(trimmed.ok()) << trimmed.status().ToString();
}

// Tables that come one after the other, each with more rows than its part of memory has room for; a
// start finds the memory shared out in another way than it was.
TEST(DurableServer, SeveralTablesLargerThanMemorySurviveKillNine) {
  constexpr size_t kBatch = 1000, kBatches = 8, kTables = 4, kDim = 128;
  const TempFolder folder;
  const std::vector<std::string> arguments = ColdArguments(folder);
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  const auto spec_of = [](size_t table) {
    TableSpec spec = ZeroSpec();
    spec.name = "table" + std::to_string(table);
    spec.dim = kDim;
    return spec;
  };
  const auto run = [&](OpKind kind, size_t table, size_t batch, std::vector<float>& values) {
    const std::vector<Key> keys = Range(batch * kBatch, kBatch);
    Operation operation;
    operation.kind = kind;
    operation.parts.resize(1);
    operation.parts[0].table = spec_of(table).id();
    operation.parts[0].keys = keys;
    if (kind == OpKind::kLookup) {
      operation.parts[0].out = values;
    } else {
      operation.parts[0].in = values;
    }
    const Status status = SubmitAndWait(*store, operation).status;
    ASSERT_TRUE(status.ok()) << "table " << table << ": " << status.ToString();
  };
  std::vector<float> ones(kBatch * kDim, 1.0F);
  for (size_t table = 0; table < kTables; ++table) {
    ASSERT_TRUE(store->CreateTable(spec_of(table)).ok());
    for (size_t batch = 0; batch < kBatches; ++batch) run(OpKind::kUpdate, table, batch, ones);
  }
  TakeCheckpoint(*daemon, 1);
  for (size_t table = 0; table < kTables; ++table) run(OpKind::kUpdate, table, kBatches, ones);
  daemon->Kill();
  daemon = std::make_unique<Daemon>(arguments);
  for (size_t table = 0; table < kTables; ++table) {
    for (size_t batch = 0; batch <= kBatches; ++batch) {
      std::vector<float> found(kBatch * kDim);
      run(OpKind::kLookup, table, batch, found);
      ASSERT_EQ(found, std::vector<float>(kBatch * kDim, -1.0F)) << table << " " << batch;
    }
  }
  daemon->ExpectOrderlyEnd();
}

// The checkpoint becomes the base of the log; what came after it is in the log.
TEST(DurableServer, StartsFromItsCheckpointAndTheLogBehindIt) {
  const TempFolder folder;
  const std::vector<std::string> arguments = {"--port=0", "--data=" + folder.File("data")};
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(Spec()).ok());
  std::vector<Key> keys(10'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  Rows gradients{keys, std::vector<float>(keys.size() * 2, 1.0F)};
  for (uint32_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(SubmitAndWait(*store, Make(OpKind::kUpdate, gradients)).status.ok());
    TakeCheckpoint(*daemon, number, [&] {
      ASSERT_TRUE(SubmitAndWait(*store, Make(OpKind::kUpdate, gradients)).status.ok());
    });
    daemon->Kill();
    daemon = std::make_unique<Daemon>(arguments);
    EXPECT_EQ(Pull(*store, keys),
              std::vector<float>(keys.size() * 2, -2.0F * static_cast<float>(number)));
  }
  daemon->ExpectOrderlyEnd();
}

// Pushed to once, long ago: the checkpoint behind that does not bring such rows back.
void ExpectExpiredRowsStayGone(const std::string& device) {
  const TempFolder folder;
  std::vector<std::string> arguments = ColdArguments(folder);
  WriteWholeFile(folder.File("cluster.toml"), "[server]\nttl_steps = 10\n");
  arguments.push_back("--config=" + folder.File("cluster.toml"));
  arguments.push_back("--device=" + device);
  auto daemon = std::make_unique<Daemon>(arguments);
  const std::unique_ptr<RemoteStore> store = Connect(*daemon);
  ASSERT_TRUE(store->CreateTable(ZeroSpec()).ok());
  const std::vector<Key> keys = Range(0, 1000);
  const auto push = [&](size_t count, uint64_t step) {
    Rows gradients{{keys.begin(), keys.begin() + static_cast<ptrdiff_t>(count)},
                   std::vector<float>(count * 2, 1.0F)};
    Operation operation = Make(OpKind::kUpdate, gradients);
    operation.step = step;
    const Outcome outcome = SubmitAndWait(*store, operation);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  };
  push(keys.size(), 1);
  TakeCheckpoint(*daemon, 1);
  std::vector<float> expected(keys.size() * 2, 0.0F);
  std::fill_n(expected.begin(), 10 * 2, -21.0F);
  for (uint64_t step = 2; step < 22; ++step) push(10, step);
  for (const bool with_checkpoint : {false, true}) {
    if (with_checkpoint) TakeCheckpoint(*daemon, 2);
    daemon->Kill();
    daemon = std::make_unique<Daemon>(arguments);
    EXPECT_EQ(Pull(*store, keys), expected);
  }
  const control::NodeStatus status = StatusOf(*daemon);
  ASSERT_EQ(status.server().table_size(), 1);
  EXPECT_EQ(status.server().table(0).rows(), 10U);
  daemon->ExpectOrderlyEnd();
}

TEST(DurableServer, RowsWhoseTimeWasUpAreGoneAfterKillNineToo) { ExpectExpiredRowsStayGone("cpu"); }
TEST(DurableServer, AndWhereThereIsAGpu) { ExpectExpiredRowsStayGone("auto"); }

TEST(DurableServer, ALostLaneIsNotServedAsAnEmptyOne) {
  const TempFolder folder;
  const std::vector<std::string> arguments = {"--port=0", "--lanes=2",
                                              "--data=" + folder.File("data")};
  Daemon(arguments).ExpectOrderlyEnd();
  const auto expect_lost = [&] {
    const ProcessResult lost = RunProcess(ProgramPath("strata-server"), {.arguments = arguments});
    EXPECT_EQ(lost.end.signal, 0);
    EXPECT_NE(lost.end.code, 0);
    EXPECT_THAT(lost.errors, HasSubstr(folder.File("data/lane-1") + ": expected the segments"));
    EXPECT_THAT(lost.errors, HasSubstr("bring the folder back"));
  };
  std::filesystem::rename(folder.File("data/lane-1"), folder.File("aside"));
  expect_lost();
  expect_lost();  // the folder is there again, and empty
  std::filesystem::remove_all(folder.File("data/lane-1"));
  std::filesystem::rename(folder.File("aside"), folder.File("data/lane-1"));
  Daemon(arguments).ExpectOrderlyEnd();
}

TEST(DurableServer, AFolderHasOneOwner) {
  const TempFolder folder;
  const std::string data = "--data=" + folder.File("data");
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.push_back(data);
    return RunProcess(ProgramPath("strata-server"), {.arguments = std::move(arguments)});
  };
  {
    Daemon daemon({"--port=0", data});
    const ProcessResult second = run({"--port=0"});
    EXPECT_EQ(second.end, ProcessEnd{4});
    EXPECT_THAT(second.errors, HasSubstr(fmt::format("process {}", daemon.process().pid())));
    daemon.ExpectOrderlyEnd();
  }
  const ProcessResult lanes = run({"--port=0", "--lanes=2"});
  EXPECT_EQ(lanes.end, ProcessEnd{4});
  EXPECT_THAT(lanes.errors, HasSubstr("have 1 lane, now they are to have 2 lanes;"));
  WriteWholeFile(folder.File("other.toml"), "[cluster]\nname = \"other\"\n");
  const ProcessResult cluster = run({"--port=0", "--config=" + folder.File("other.toml")});
  EXPECT_EQ(cluster.end, ProcessEnd{4});
  EXPECT_THAT(cluster.errors, HasSubstr("cluster.name"));
  WriteWholeFile(folder.File("data/identity"), "something else");
  const ProcessResult damaged = run({"--port=0"});
  EXPECT_EQ(damaged.end.signal, 0);
  EXPECT_NE(damaged.end.code, 0);
  EXPECT_THAT(damaged.errors, HasSubstr(folder.File("data/identity")));
}

TEST(DurableServer, ASyncThatFailsEndsItWithSeventy) {
  if (!kFailpointsCompiledIn) GTEST_SKIP() << "this build has no failpoints";
  const TempFolder folder;
  Daemon daemon({"--port=0", "--data=" + folder.File("data")},
                {{"STRATA_FAILPOINTS", "log.sync=error@3"}});
  const std::unique_ptr<RemoteStore> store = Connect(daemon);
  (void)store->CreateTable(Spec());
  Rows rows{{7}, {1.0F, 1.0F}};
  while (daemon.process().Running()) {
    Operation push = Make(OpKind::kUpdate, rows, AckLevel::kSynced);
    push.deadline = RealClock().Now() + kSecond;
    if (!SubmitAndWait(*store, std::move(push)).status.ok()) break;
  }
  EXPECT_EQ(daemon.process().Wait(), ProcessEnd{70}) << daemon.process().Errors();
  EXPECT_THAT(daemon.process().Errors(), HasSubstr("the log failed"));
}

}  // namespace
}  // namespace strata
