// A whole server in this process, over real sockets: several clients and threads at once, control,
// HTTP, refusal to listen, and an orderly end.
#include "ps/service/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "base/hash.h"
#include "proto/control/control.pb.h"
#include "ps/client/collections.h"
#include "ps/client/control_call.h"
#include "ps/client/remote_checkpointer.h"
#include "ps/client/remote_store.h"
#include "tests/ps/server/raw_peer.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

constexpr uint64_t kCluster = 77;

ServerOptions Options(uint16_t lanes) {
  ServerOptions options;
  options.cluster_id = kCluster;
  options.lanes_per_server = {lanes};
  options.port = 0;
  options.http_port = 0;
  options.shutdown_timeout = 5 * kSecond;
  return options;
}

std::string AddressOf(const Server& server) { return "127.0.0.1:" + std::to_string(server.port()); }

std::unique_ptr<RemoteStore> Connect(const Server& server) {
  Result<std::unique_ptr<RemoteStore>> store = RemoteStore::Connect(
      {.servers = {AddressOf(server)}, .cluster_id = kCluster, .client_name = "test"});
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

TableSpec Spec(const std::string& name) {
  TableSpec spec;
  spec.name = name;
  spec.dim = 4;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}

// Operations on one table; the spans live in the caller.
Operation Lookup(const TableSpec& spec, std::span<const Key> keys, std::span<float> rows) {
  Operation operation;
  operation.kind = OpKind::kLookup;
  operation.parts.resize(1);
  operation.parts[0].table = spec.id();
  operation.parts[0].keys = keys;
  operation.parts[0].out = rows;
  return operation;
}
Operation Update(const TableSpec& spec, std::span<const Key> keys,
                 std::span<const float> gradients) {
  Operation operation = Lookup(spec, keys, {});
  operation.kind = OpKind::kUpdate;
  operation.parts[0].in = gradients;
  return operation;
}
Operation InStep(Operation operation, const SyncGroup& group, uint64_t step) {
  operation.sync = group;
  operation.step = step;
  return operation;
}

Result<control::NodeStatus> Ask(const Server& server, const control::ControlRequest& request) {
  const std::string body = request.SerializeAsString();
  STRATA_ASSIGN(
      const std::vector<std::byte> bytes,
      CallControl(AddressOf(server), kCluster, std::as_bytes(std::span(body)), 20 * kSecond));
  control::ControlReply reply;
  if (!reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Corrupt("no control reply");
  }
  return reply.status();
}

Result<control::NodeStatus> AskStatus(const Server& server) {
  control::ControlRequest request;
  request.mutable_status();
  return Ask(server, request);
}

TEST(Server, AFirstStartWithoutRoomForItsLogsSaysWhatItNeedsAndLeavesNothing) {
  const TempFolder folder;  // for the lock; all else is on the small disk
  SimDisk disk;
  disk.SetCapacity(uint64_t{10} << 20);
  ServerOptions options = Options(2);
  options.disk = &disk;
  options.data = folder.path();
  const Status status = Server::Start(options).status();
  EXPECT_EQ(status.code(), StatusCode::kDiskFull) << status.ToString();
  for (const char* part : {"2 lanes with a segment of 67108864 bytes each need 134217728 bytes, "
                           "10485760 are free",
                           "server.log_bytes_max"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  }
  EXPECT_TRUE(disk.List(options.data)->empty());
  // Not even its number of lanes is fixed.
  options.lanes_per_server = {1};
  options.log_bytes_max = uint64_t{8} << 20;
  const auto server = Server::Start(options);
  EXPECT_TRUE(server.ok()) << server.status().ToString();
}

TEST(Server, ALaterStartNeedsNoRoomAgainAndAgain) {
  const TempFolder folder;  // for the lock; all else is on the full disk
  SimDisk disk;
  ServerOptions options = Options(2);
  options.disk = &disk;
  options.data = folder.path();
  options.log_bytes_max = uint64_t{8} << 20;
  for (int boot = 1; boot < 5; ++boot) {
    const auto server = Server::Start(options);
    ASSERT_TRUE(server.ok()) << "boot " << boot << ": " << server.status().ToString();
    EXPECT_EQ((*server)->incarnation() & 0xffff, boot);
    disk.SetCapacity(disk.bytes_used());
  }
}

// Threads add small whole numbers, which float sums hold exactly in any order, to a few hundred
// keys; the rows must hold the sums.
TEST(Server, SumsAreExactUnderConcurrentClients) {
  const auto server = Server::Start(Options(3));
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  constexpr int kThreads = 4;
  constexpr int kPushes = 50;
  constexpr uint64_t kKeys = 300;
  const TableSpec spec = Spec("sums");
  std::vector<std::vector<float>> sums(kThreads, std::vector<float>(kKeys, 0));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const std::unique_ptr<RemoteStore> store = Connect(**server);
        ASSERT_NE(store, nullptr);
        ASSERT_TRUE(store->CreateTable(spec).ok());
        std::mt19937_64 random(static_cast<uint64_t>(t));
        for (int i = 0; i < kPushes; ++i) {
          std::vector<Key> keys(64);
          std::vector<float> gradients(keys.size() * spec.dim);
          for (size_t k = 0; k < keys.size(); ++k) {
            const uint64_t which = random() % kKeys;
            keys[k] = Mix64(which);
            const auto value = static_cast<float>(random() % 8);
            sums[static_cast<size_t>(t)][which] -= value;
            std::fill_n(gradients.begin() + static_cast<ptrdiff_t>(k * spec.dim), spec.dim, value);
          }
          const Outcome outcome = SubmitAndWait(*store, Update(spec, keys, gradients));
          ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
        }
      });
    }
  }
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  std::vector<Key> keys(kKeys);
  for (uint64_t i = 0; i < kKeys; ++i) keys[i] = Mix64(i);
  std::vector<float> rows(kKeys * spec.dim);
  const Outcome pulled = SubmitAndWait(*store, Lookup(spec, keys, rows));
  ASSERT_TRUE(pulled.status.ok()) << pulled.status.ToString();
  for (uint64_t i = 0; i < kKeys; ++i) {
    float expected = 0;
    for (const auto& sum : sums) expected += sum[i];
    for (uint32_t d = 0; d < spec.dim; ++d) EXPECT_EQ(rows[i * spec.dim + d], expected);
  }

  ASSERT_TRUE(store->CreateTable(spec).ok());  // a write; the other clients leave
  const Result<control::NodeStatus> status = AskStatus(**server);
  ASSERT_TRUE(status.ok()) << status.status().ToString();
  EXPECT_EQ(status->role(), "server");
  EXPECT_EQ(status->state(), "serving");
  EXPECT_EQ(status->address(), AddressOf(**server));
  EXPECT_EQ(status->incarnation(), (*server)->incarnation());
  EXPECT_EQ(status->pid(), static_cast<uint32_t>(getpid()));
  EXPECT_GT(status->memory_bytes(), 1U << 20);
  EXPECT_EQ(status->server().lanes(), 3U);
  EXPECT_EQ(status->server().shards(), 1024U);
  EXPECT_EQ(status->server().tables(), 1U);
  EXPECT_EQ(status->server().rows(), kKeys);
  EXPECT_EQ(status->server().pushed_keys(), 64U * kThreads * kPushes);
  EXPECT_EQ(status->server().pulled_keys(), kKeys);
  EXPECT_GE(status->server().clients(), 1U);
  ASSERT_EQ(status->server().table_size(), 1);
  EXPECT_EQ(status->server().table(0).name(), "sums");
  EXPECT_EQ(status->server().table(0).optimizer(), "sgd");
}

// Three workers in synchronous steps, each with a thread and a store of its own.
TEST(Server, SynchronousStepsOfThreeClients) {
  const auto server = Server::Start(Options(2));
  ASSERT_TRUE(server.ok());
  const TableSpec spec = Spec("sync");
  constexpr uint16_t kWorld = 3;
  constexpr uint64_t kSteps = 30;
  std::vector<std::jthread> threads;
  for (uint16_t rank = 0; rank < kWorld; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<RemoteStore> store = Connect(**server);
      ASSERT_NE(store, nullptr);
      ASSERT_TRUE(store->CreateTable(spec).ok());
      const SyncGroup group{.id = 5, .rank = rank, .world = kWorld};
      const std::vector<Key> keys = {1, 2, 3, ~Key{0}};
      for (uint64_t step = 1; step <= kSteps; ++step) {
        std::vector<float> rows(keys.size() * spec.dim);
        Outcome outcome = SubmitAndWait(*store, InStep(Lookup(spec, keys, rows), group, step));
        ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
        // All ranks see the sum of all pushes of all steps before, and of nothing else.
        const auto expected = -static_cast<float>((step - 1) * (1 + 2 + 3));
        for (const float value : rows) ASSERT_EQ(value, expected) << "step " << step;
        const std::vector<float> gradients(rows.size(), static_cast<float>(rank + 1));
        outcome = SubmitAndWait(*store, InStep(Update(spec, keys, gradients), group, step));
        ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
      }
    });
  }
}

// By Prometheus' rules.
TEST(Server, EachMetricIsOfTheTypeThatItsNameSays) {
  const auto server = Server::Start(Options(2));
  ASSERT_TRUE(server.ok());
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  ASSERT_TRUE(store->CreateTable(Spec("t")).ok());
  std::istringstream metrics(HttpGet((*server)->http_port(), "/metrics"));
  std::map<std::string, int> types;
  for (std::string line; std::getline(metrics, line);) {
    std::istringstream words(line);
    std::string hash, what, name, text;
    words >> hash >> what >> name;
    if (hash != "#") continue;
    std::getline(words >> std::ws, text);
    if (what == "HELP") {
      EXPECT_EQ(text.find("so far"), std::string::npos) << name << " counts: " << text;
      continue;
    }
    ASSERT_EQ(what, "TYPE") << line;
    ++types[text];
    EXPECT_EQ(name.ends_with("_total"), text == "counter") << line;
    EXPECT_TRUE(name.ends_with("_seconds") || text != "histogram") << line;
  }
  EXPECT_GT(types["counter"], 10);
  EXPECT_GT(types["gauge"], 10);
  EXPECT_EQ(types["histogram"], 2);
  EXPECT_EQ(types.size(), 3U);
}

// "name{...} " or "name " at the beginning of a line; and what is behind it.
std::optional<double> ValueOf(const std::string& metrics, const std::string& series) {
  const size_t at = metrics.find("\n" + series + " ");
  if (at == std::string::npos) return std::nullopt;
  return std::stod(metrics.substr(at + series.size() + 2));
}

TEST(Server, OnlyCommandsThatHappenedHaveSeries) {
  const auto server = Server::Start(Options(2));
  ASSERT_TRUE(server.ok());
  const std::string idle = HttpGet((*server)->http_port(), "/metrics");
  EXPECT_EQ(idle.find("strata_lane_requests_total{"), std::string::npos) << idle;
  EXPECT_EQ(idle.find("strata_lane_request_seconds_bucket"), std::string::npos);
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  ASSERT_TRUE(store->CreateTable(Spec("t")).ok());
  const std::string used = HttpGet((*server)->http_port(), "/metrics");
  const std::string created = "strata_lane_requests_total{command=\"CREATE_TABLE\",lane=\"1\"}";
  EXPECT_EQ(ValueOf(used, created), 1) << used;
  EXPECT_EQ(used.find("DROP_TABLE"), std::string::npos) << used;
}

TEST(Server, EachTableHasSeriesOfItsOwnUntilItIsDropped) {
  const auto server = Server::Start(Options(2));
  ASSERT_TRUE(server.ok());
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  const TableSpec spec = Spec("t");
  ASSERT_TRUE(store->CreateTable(spec).ok());
  ASSERT_TRUE(store->CreateTable(Spec("empty")).ok());
  std::vector<Key> keys(100);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  const std::vector<float> gradients(400, 1.0F);
  ASSERT_TRUE(SubmitAndWait(*store, Update(spec, keys, gradients)).status.ok());
  std::vector<float> rows(4 * 40);
  ASSERT_TRUE(SubmitAndWait(*store, Lookup(spec, std::span(keys).first(40), rows)).status.ok());
  const std::string metrics = HttpGet((*server)->http_port(), "/metrics");
  EXPECT_EQ(ValueOf(metrics, "strata_table_rows{table=\"t\"}"), 100) << metrics;
  EXPECT_GT(ValueOf(metrics, "strata_table_bytes{table=\"t\"}"), 0);
  EXPECT_EQ(ValueOf(metrics, "strata_table_pushed_keys_total{table=\"t\"}"), 100);
  EXPECT_EQ(ValueOf(metrics, "strata_table_pulled_keys_total{table=\"t\"}"), 40);
  EXPECT_EQ(ValueOf(metrics, "strata_table_rows{table=\"empty\"}"), 0);
  ASSERT_TRUE(store->DropTable("t").ok());
  const std::string left = HttpGet((*server)->http_port(), "/metrics");
  EXPECT_EQ(left.find("strata_table_rows{table=\"t\"}"), std::string::npos) << left;
}

TEST(Server, MetricsOfACollectionEndWithIt) {
  const auto server = Server::Start(Options(2));
  ASSERT_TRUE(server.ok());
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "kept", .attributes = {}}).ok());
  SetLists queries;
  for (Token token = 1; token <= 3; ++token) queries.Add(std::vector<Token>{token});
  for (const uint64_t times : {2, 1}) {
    ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
    for (uint64_t i = 0; i < times; ++i) {
      ASSERT_TRUE(collections.Search("c", queries.view(), {}).ok());
    }
    // As the client asked them, not once for each lane; those that were sent again count again.
    const auto by_lane = collections.StatsByLane("c");
    ASSERT_EQ(by_lane->size(), 2U);
    const uint64_t asked = std::max((*by_lane)[0].queries, (*by_lane)[1].queries);
    EXPECT_GE(asked, 3 * times);
    EXPECT_EQ(collections.Stats("c")->queries, asked);
    const std::string metrics = HttpGet((*server)->http_port(), "/metrics");
    const std::string line =
        fmt::format("strata_collection_queries_total{{collection=\"c\"}} {}\n", asked);
    EXPECT_NE(metrics.find(line), std::string::npos) << metrics;
    ASSERT_TRUE(collections.Drop("c").ok());
    const std::string left = HttpGet((*server)->http_port(), "/metrics");
    EXPECT_EQ(left.find("collection=\"c\""), std::string::npos) << left;
    for (const char* gauge : {"documents", "dead_documents"}) {
      const std::string none =
          fmt::format("strata_collection_{}{{collection=\"kept\"}} 0\n", gauge);
      EXPECT_NE(left.find(none), std::string::npos) << left;
    }
  }
}

TEST(Server, DrainRefusesWritesAndReadyzSaysSo) {
  const auto server = Server::Start(Options(2));
  ASSERT_TRUE(server.ok());
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  ASSERT_TRUE(store->CreateTable(Spec("t")).ok());
  EXPECT_NE(HttpGet((*server)->http_port(), "/readyz").find("200"), std::string::npos);
  EXPECT_NE(HttpGet((*server)->http_port(), "/healthz").find("ok"), std::string::npos);
  const std::string metrics = HttpGet((*server)->http_port(), "/metrics");
  for (const char* name : {"strata_lane_requests_total", "strata_lane_request_seconds_bucket",
                           "strata_server_tables 1", "strata_server_insecure 0"}) {
    EXPECT_NE(metrics.find(name), std::string::npos) << name;
  }
  control::ControlRequest drain;
  drain.mutable_drain()->set_timeout_ms(10'000);
  const Result<control::NodeStatus> drained = Ask(**server, drain);
  ASSERT_TRUE(drained.ok()) << drained.status().ToString();
  EXPECT_EQ(drained->state(), "draining");
  const std::vector<Key> keys = {1};
  const std::vector<float> gradients(4, 1.0F);
  Operation push = Update(Spec("t"), keys, gradients);
  push.deadline = RealClock().Now() + 2 * kSecond;
  const Outcome refused = SubmitAndWait(*store, std::move(push));
  EXPECT_NE(refused.status.message().find("draining"), std::string::npos)
      << refused.status.ToString();
  std::vector<float> rows(4);
  EXPECT_TRUE(SubmitAndWait(*store, Lookup(Spec("t"), keys, rows)).status.ok());
  EXPECT_NE(HttpGet((*server)->http_port(), "/readyz").find("503"), std::string::npos);
}

// What happens to the folder of a server that runs, and what the server calls it.
struct FolderLoss {
  const char* name;
  std::function<void(const std::string& data)> happens;
  const char* said;
};

class ServerFolderLoss : public testing::TestWithParam<FolderLoss> {};

INSTANTIATE_TEST_SUITE_P(
    Ways, ServerFolderLoss,
    testing::Values(
        FolderLoss{"Removed", [](const std::string& data) { std::filesystem::remove_all(data); },
                   " is missing"},
        FolderLoss{"Moved",
                   [](const std::string& data) { std::filesystem::rename(data, data + "-old"); },
                   " is missing"},
        FolderLoss{"ALanesFolder",
                   [](const std::string& data) { std::filesystem::remove_all(data + "/lane-1"); },
                   "/lane-1 is missing"},
        FolderLoss{"TheIdentity",
                   [](const std::string& data) { std::filesystem::remove(data + "/identity"); },
                   "/identity is missing"},
        FolderLoss{"ASegment",
                   [](const std::string& data) {
                     std::filesystem::remove(data + "/lane-0/segment-00000000000000000001.log");
                   },
                   "/lane-0/segment-00000000000000000001.log is missing"},
        FolderLoss{"ReplacedByACopy",
                   [](const std::string& data) {
                     std::filesystem::copy(data, data + "-copy",
                                           std::filesystem::copy_options::recursive);
                     std::filesystem::remove_all(data);
                     std::filesystem::rename(data + "-copy", data);
                   },
                   " was replaced by another"},
        FolderLoss{
            "AnotherContent",
            [](const std::string& data) { WriteWholeFile(data + "/identity", "of another boot"); },
            "/identity has another content"}),
    [](const auto& way) { return std::string(way.param.name); });

TEST_P(ServerFolderLoss, EndsWritesAndIsSaid) {
  const TempFolder folder;
  ServerOptions options = Options(2);
  options.data = folder.File("data");
  options.log_bytes_max = uint64_t{8} << 20;
  const auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  ASSERT_TRUE(store->CreateTable(Spec("t")).ok());
  EXPECT_NE(HttpGet((*server)->http_port(), "/readyz").find("200"), std::string::npos);
  GetParam().happens(options.data);
  const auto ready = [&] { return HttpGet((*server)->http_port(), "/readyz"); };
  ASSERT_TRUE(WaitUntil([&] { return ready().find(GetParam().said) != std::string::npos; }));
  EXPECT_NE(ready().find("503"), std::string::npos) << ready();
  const std::vector<Key> keys = {1, 2, 3, 4};
  const std::vector<float> gradients(16, 1.0F);
  const Outcome refused = SubmitAndWait(*store, Update(Spec("t"), keys, gradients));
  EXPECT_EQ(refused.status.code(), StatusCode::kRefused) << refused.status.ToString();
  EXPECT_EQ(store->CreateTable(Spec("other")).code(), StatusCode::kRefused);
  RemoteCheckpointer checkpointer(*store);
  EXPECT_EQ(checkpointer.Cut(RealClock().Now() + 2 * kSecond).status().code(),
            StatusCode::kRefused);
  std::vector<float> rows(16);
  EXPECT_TRUE(SubmitAndWait(*store, Lookup(Spec("t"), keys, rows)).status.ok());
  const Result<control::NodeStatus> status = AskStatus(**server);
  ASSERT_TRUE(status.ok()) << status.status().ToString();
  EXPECT_EQ(status->state(), "data lost");
  EXPECT_NE(status->server().data_lost().find(GetParam().said), std::string::npos);
}

TEST(Server, ADrainThatCannotEndSaysSoAndShutdownGoesOnAnyway) {
  std::promise<void> asked;
  ServerOptions options = Options(1);
  options.on_shutdown = [&asked] { asked.set_value(); };
  options.shutdown_timeout = 100 * kMillisecond;
  auto server = Server::Start(std::move(options));
  ASSERT_TRUE(server.ok());
  const std::unique_ptr<RemoteStore> store = Connect(**server);
  ASSERT_TRUE(store->CreateTable(Spec("t")).ok());
  const std::vector<Key> keys = {1};
  const std::vector<float> gradients(4, 1.0F);
  std::promise<Outcome> ended;  // rank 1 of 2 never comes
  store->Submit(InStep(Update(Spec("t"), keys, gradients), {.id = 1, .rank = 0, .world = 2}, 1),
                [&ended](Outcome outcome) { ended.set_value(std::move(outcome)); });
  // A second client sees the parked request in the queue's bytes.
  for (uint64_t bytes = 0; bytes == 0;) bytes = AskStatus(**server)->server().queue_bytes();
  control::ControlRequest drain;
  drain.mutable_drain()->set_timeout_ms(20);
  const Result<control::NodeStatus> late = Ask(**server, drain);
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded) << late.status().ToString();
  control::ControlRequest shutdown;
  shutdown.mutable_shutdown()->set_timeout_ms(20);
  EXPECT_TRUE(Ask(**server, shutdown).ok());
  asked.get_future().wait();
  (*server)->Stop();
  (*server)->Join();
  const Outcome outcome = ended.get_future().get();
  EXPECT_FALSE(outcome.status.ok());
}

TEST(Server, NonsenseControlRequestsAreAnswered) {
  const auto server = Server::Start(Options(1));
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(Ask(**server, {}).status().code(), StatusCode::kInvalid);
  const std::vector<std::byte> junk(100, std::byte{0xff});
  EXPECT_EQ(CallControl(AddressOf(**server), kCluster, junk, 20 * kSecond).status().code(),
            StatusCode::kInvalid);
  EXPECT_EQ(CallControl(AddressOf(**server), kCluster + 1, junk, 20 * kSecond).status().code(),
            StatusCode::kRefused);
}

TEST(Server, StartErrorsSayWhatAndWhatToDo) {
  const auto first = Server::Start(Options(1));
  ASSERT_TRUE(first.ok());
  ServerOptions options = Options(1);
  options.port = (*first)->port();
  const auto taken = Server::Start(options);
  EXPECT_EQ(taken.status().code(), StatusCode::kFailed);
  EXPECT_NE(taken.status().message().find(AddressOf(**first)), std::string::npos)
      << taken.status().ToString();
  options = Options(1);
  options.host = "0.0.0.0";
  const auto open = Server::Start(options);
  EXPECT_EQ(open.status().code(), StatusCode::kRefused);
  EXPECT_NE(open.status().message().find("--insecure"), std::string::npos);
  options.loopback_only = false;
  const auto insecure = Server::Start(options);
  ASSERT_TRUE(insecure.ok()) << insecure.status().ToString();
  EXPECT_NE(HttpGet((*insecure)->http_port(), "/metrics").find("strata_server_insecure 1"),
            std::string::npos);
  options = Options(1);
  options.rank = 3;
  EXPECT_EQ(Server::Start(options).status().code(), StatusCode::kInvalid);
}

TEST(Server, AnInprocNameThatIsTakenIsToldAsTheCallerWroteIt) {
  ServerOptions options = Options(2);
  options.inproc = "here";
  const auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const Status second = Server::Start(options).status();
  EXPECT_EQ(second.code(), StatusCode::kExists);
  EXPECT_EQ(second.message(),
            "another server of this process has the inproc name 'here'; choose another one");
}

}  // namespace
}  // namespace strata
