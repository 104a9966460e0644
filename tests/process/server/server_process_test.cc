// strata-server as users and strangers meet it: its command line, its ready line, signals, and what
// it does with bytes that nobody should send.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <random>

#include "proto/control/control.pb.h"
#include "proto/wire/commands.h"
#include "ps/client/control_call.h"
#include "ps/client/remote_store.h"
#include "ps/net/zmq_port.h"
#include "tests/process/server/daemon.h"
#include "tests/ps/server/raw_peer.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProcessResult RunServer(std::vector<std::string> arguments) {
  return RunProcess(ProgramPath("strata-server"), {.arguments = std::move(arguments)});
}

TEST(ServerProcess, IsReadyServesAndEndsOnSigterm) {
  Daemon daemon({"--port=0", "--lanes=3"});
  const Result<wire::HelloReply> hello = daemon.Hello();
  ASSERT_TRUE(hello.ok()) << hello.status().ToString();
  EXPECT_EQ(hello->lane_ports.size(), 3U);
  EXPECT_EQ(hello->lane_ports[0], daemon.port());
  EXPECT_EQ(hello->incarnation, daemon.incarnation());
  EXPECT_THAT(HttpGet(daemon.http_port(), "/readyz"), HasSubstr("200 OK"));
  EXPECT_THAT(HttpGet(daemon.http_port(), "/metrics"),
              HasSubstr("strata_lane_tier_rows{lane=\"0\",tier=\"warm\"} 0"));
  daemon.ExpectOrderlyEnd();
  Daemon next;
  EXPECT_NE(next.incarnation(), daemon.incarnation());
}

TEST(ServerProcess, HelpAndVersion) {
  const ProcessResult help = RunServer({"--help"});
  EXPECT_EQ(help.end, ProcessEnd{0});
  for (const char* flag : {"--config", "--rank", "--port", "--lanes", "--insecure", "7600"}) {
    EXPECT_THAT(help.output, HasSubstr(flag));
  }
  const ProcessResult version = RunServer({"--version"});
  EXPECT_EQ(version.end, ProcessEnd{0});
  EXPECT_THAT(version.output, HasSubstr("strata-server "));
}

TEST(ServerProcess, WrongCommandLinesAndFilesSayWhatIsWrong) {
  const TempFolder folder;
  WriteWholeFile(folder.File("key.toml"), "[server]\nlanes = 2\nlans = 3\n");
  WriteWholeFile(folder.File("type.toml"), "[server]\nlanes = \"many\"\n");
  WriteWholeFile(folder.File("workers.txt"), "127.0.0.1:7000 worker\n");
  WriteWholeFile(folder.File("workers.toml"), "[cluster]\nmachines = \"workers.txt\"\n");
  WriteWholeFile(folder.File("pair.txt"), "127.0.0.1:7000 server\n127.0.0.1:7001 server\n");
  WriteWholeFile(folder.File("twice.txt"), "127.0.0.1:7000 server\n127.0.0.1:7000 server\n");
  const FreePort busy;
  WriteWholeFile(folder.File("admit.toml"), "[server]\nadmit_from = 2\n");
  WriteWholeFile(folder.File("log.toml"),
                 "[server]\nlanes = 3\nlog_bytes_max = \"16KiB\"\ndata = \"data\"\n");
  const struct {
    std::vector<std::string> arguments;
    int code;
    std::vector<std::string> expected;
  } cases[] = {
      {{"--prot=1"}, 2, {"--prot", "--port"}},
      {{"--port=seven"}, 2, {"--port", "seven"}},
      {{"--port=70000"}, 2, {"--port", "65535"}},
      {{"--lanes=0"}, 2, {"--lanes"}},
      {{"start"}, 2, {"start", "--help"}},
      {{"--config=" + folder.File("none.toml")}, 2, {"none.toml"}},
      {{"--config=" + folder.path()}, 2, {folder.path(), "is a folder; expected a file"}},
      {{"--port=0", "--log_file=" + folder.File("no/x.log")}, 1, {"no folder", folder.File("no")}},
      {{"--config=" + folder.File("key.toml")}, 2, {"key.toml:3:1", "lans", "lanes"}},
      {{"--config=" + folder.File("type.toml")}, 2, {"type.toml:2:1", "lanes"}},
      {{"--config=" + folder.File("workers.toml")}, 2, {"workers.txt", "lists no server"}},
      {{"--machines=" + folder.File("pair.txt"), "--rank=2"}, 2, {"rank", "2"}},
      {{"--machines=" + folder.File("pair.txt")}, 2, {"--rank"}},
      {{"--machines=" + folder.File("twice.txt"), "--rank=0"}, 2, {"twice.txt:2"}},
      {{"--rank=0"}, 2, {"--machines"}},
      {{"--host=0.0.0.0"}, 4, {"0.0.0.0:7600", "--insecure"}},
      {{"--host=::", "--port=0"}, 4, {"[::]:0", "--insecure"}},
      {{"--cold=true"}, 2, {"server.cold needs server.data"}},
      {{"--device=gpu"}, 2, {"--device", "cuda:N", "'gpu'"}},
      {{"--gpu_memory=1GiB"}, 2, {"server.gpu_memory has no effect", "--device"}},
      {{"--device=cuda:99", "--port=0"}, 2, {"NOT_FOUND"}},
      {{"--checkpoints=/proc/none"}, 2, {"server.checkpoints: cannot make folder /proc/none"}},
      {{"--cold=true", "--data=" + folder.File("data")}, 2, {"needs server.memory", "16 MiB"}},
      {{"--config=" + folder.File("log.toml")},
       2,
       {"log.toml:3:1", "49152 bytes for 3 lanes; found"}},
      {{"--config=" + folder.File("admit.toml")},
       2,
       {"admit.toml:2:1", "admit_from has no effect"}},
      {{"--host=no-such-host.invalid"}, 2, {"no-such-host.invalid", "does not resolve"}},
      {{"--host=192.0.2.1", "--port=0", "--insecure"}, 1, {"192.0.2.1", "no interface"}},
      {{fmt::format("--port={}", busy.number())},
       1,
       {fmt::format("127.0.0.1:{}", busy.number()), "in use", "another port"}},
      {{"--port=0", fmt::format("--http_port={}", busy.number())},
       1,
       {fmt::format("127.0.0.1:{}", busy.number()), "HTTP", "another --http_port"}},
      {{"--port=0", "--log_level=loud"}, 2, {"log_level", "debug"}},
  };
  for (const auto& one : cases) {
    const ProcessResult result = RunServer(one.arguments);
    EXPECT_EQ(result.end, ProcessEnd{one.code}) << one.arguments[0] << ": " << result.errors;
    for (const std::string& text : one.expected) {
      EXPECT_THAT(result.errors, HasSubstr(text)) << one.arguments[0];
    }
    EXPECT_EQ(result.output, "");
  }
}

TEST(ServerProcess, LanesThatAListSaysOtherwiseAreRefused) {
  const TempFolder folder;
  WriteWholeFile(folder.File("machines.txt"), "127.0.0.1:7600 server lanes=2\n");
  const ProcessResult result =
      RunServer({"--machines=" + folder.File("machines.txt"), "--rank=0", "--lanes=3"});
  EXPECT_EQ(result.end, ProcessEnd{2}) << result.errors;
  EXPECT_THAT(result.errors,
              HasSubstr("--lanes: server.lanes has no effect with a machine list ("));
  EXPECT_THAT(result.errors, HasSubstr("found 3 here and 2 there; leave it out, or write lanes=3"));
}

TEST(ServerProcess, AListedServerWithoutADataFolderIsRefused) {
  const TempFolder folder;
  WriteWholeFile(folder.File("machines.txt"), "127.0.0.1:7600 server\n127.0.0.1:7601 server\n");
  const ProcessResult result = RunServer({"--machines=" + folder.File("machines.txt"), "--rank=1"});
  EXPECT_EQ(result.end, ProcessEnd{4}) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("this one has no data folder"));
  EXPECT_THAT(result.errors, HasSubstr("--memory_only (server.memory_only = true)"));
}

TEST(ServerProcess, AServerOfNoListWarnsThatItIsMemoryOnly) {
  Daemon daemon({"--port=0"});
  daemon.ExpectOrderlyEnd();
  EXPECT_THAT(daemon.process().Errors(), HasSubstr("warning server-0 memory only: "));
}

TEST(ServerProcess, AHangupOpensItsLogAnew) {
  const TempFolder folder;
  const std::string log = folder.File("log");
  Daemon daemon({"--port=0", "--log_file=" + log});
  std::filesystem::rename(log, log + ".1");
  daemon.process().Signal(SIGHUP);
  ASSERT_TRUE(WaitUntil([&] { return std::filesystem::exists(log); }));
  daemon.ExpectServing();
  daemon.ExpectOrderlyEnd();
  EXPECT_THAT(ReadWholeFile(log), HasSubstr("shutting down"));
  EXPECT_THAT(ReadWholeFile(log + ".1"), Not(HasSubstr("shutting down")));
}

// A rotation of logs signals all servers, including those without a file.
TEST(ServerProcess, AHangupIsNoEndWhereTheLogHasNoFile) {
  Daemon daemon({"--port=0", "--memory_only"});
  daemon.process().Signal(SIGHUP);
  ASSERT_TRUE(daemon.process().WaitForErrors("without a file"));
  daemon.ExpectServing();
  daemon.ExpectOrderlyEnd();
}

TEST(ServerProcess, TooLowALimitOfOpenFilesIsSaid) {
  const ProcessResult run = RunProcess(
      "/bin/bash", {.arguments = {"-c", "ulimit -n 100; exec \"$0\" --port=0 --memory_only",
                                  ProgramPath("strata-server")}});
  EXPECT_EQ(run.end, ProcessEnd{4});
  EXPECT_THAT(run.errors, HasSubstr("may open 100 files and sockets"));
  EXPECT_THAT(run.errors, HasSubstr("ulimit -n"));
}

TEST(ServerProcess, OthersCannotReadItsFiles) {
  const TempFolder folder;
  Daemon daemon({"--port=0", "--data=" + folder.File("data"), "--memory=16MiB", "--cold=true"});
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.File("data"))) {
    const auto mode = entry.status().permissions();
    EXPECT_EQ(mode & std::filesystem::perms::others_all, std::filesystem::perms::none)
        << entry.path();
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_GE(files, 4U);
  daemon.ExpectOrderlyEnd();
}

TEST(ServerProcess, MemoryOnlyContradictsADataFolder) {
  const TempFolder folder;
  const ProcessResult result =
      RunServer({"--port=0", "--memory_only", "--data=" + folder.File("data")});
  EXPECT_EQ(result.end, ProcessEnd{2}) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("server.memory_only contradicts server.data"));
}

TEST(ServerProcess, AMachineListGivesEachServerItsPlace) {
  const TempFolder folder;
  FreePort first;
  FreePort second;
  WriteWholeFile(folder.File("machines.txt"),
                 fmt::format("127.0.0.1:{} server lanes=2\n127.0.0.1:{} server\n", first.number(),
                             second.number()));
  const std::string list = "--machines=" + folder.File("machines.txt");
  first.Release();
  Daemon a({list, "--rank=0", "--memory_only"});
  second.Release();
  Daemon b(
      {list, fmt::format("--port={}", second.number()), "--memory_only"});  // found by its port
  EXPECT_EQ(a.port(), first.number());
  EXPECT_EQ(b.port(), second.number());
  EXPECT_EQ(a.Hello()->lane_ports.size(), 2U);
  EXPECT_EQ(b.Hello()->server, 1U);
  EXPECT_EQ(b.Hello()->servers, 2U);
  a.ExpectOrderlyEnd();
  b.ExpectOrderlyEnd();
}

TEST(ServerProcess, AShutdownRequestEndsIt) {
  Daemon daemon;
  control::ControlRequest request;
  request.mutable_shutdown()->set_timeout_ms(5000);
  const std::string body = request.SerializeAsString();
  const auto reply =
      CallControl(daemon.address(), kCluster, std::as_bytes(std::span(body)), 20 * kSecond);
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(daemon.process().Wait(), ProcessEnd{0}) << daemon.process().Errors();
}

// A step that will never be complete keeps the drain waiting; the second signal does not wait.
TEST(ServerProcess, ASecondSignalEndsItAtOnce) {
  const TempFolder folder;
  WriteWholeFile(folder.File("cluster.toml"), "[timeouts]\nshutdown = \"1h\"\n");
  Daemon daemon({"--port=0", "--config=" + folder.File("cluster.toml")});
  const auto store = RemoteStore::Connect(
      {.servers = {daemon.address()}, .cluster_id = kCluster, .client_name = "test"});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  TableSpec spec;
  spec.name = "t";
  ASSERT_TRUE((*store)->CreateTable(spec).ok());
  Operation push;
  push.kind = OpKind::kUpdate;
  push.parts.resize(1);
  push.parts[0].table = spec.id();
  const std::vector<Key> keys = {1};
  const std::vector<float> gradients = {1.0F};
  push.parts[0].keys = keys;
  push.parts[0].in = gradients;
  push.sync = SyncGroup{.id = 1, .rank = 0, .world = 2};
  (*store)->Submit(push, [](Outcome) {});
  // Once it waits there, the status says so.
  control::ControlRequest request;
  request.mutable_status();
  const std::string body = request.SerializeAsString();
  control::ControlReply status;
  while (status.status().server().queue_bytes() == 0) {
    const auto reply =
        CallControl(daemon.address(), kCluster, std::as_bytes(std::span(body)), 20 * kSecond);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    ASSERT_TRUE(status.ParseFromArray(reply->data(), static_cast<int>(reply->size())));
  }
  daemon.process().Signal(SIGTERM);
  ASSERT_TRUE(daemon.process().WaitForErrors("shutting down"));
  daemon.process().Signal(SIGINT);
  EXPECT_EQ(daemon.process().Wait(), ProcessEnd{1}) << daemon.process().Errors();
  EXPECT_THAT(daemon.process().Errors(), HasSubstr("second signal"));
}

TEST(ServerProcess, RandomBytesToEachPortDoNoHarm) {
  Daemon daemon({"--port=0", "--lanes=2"});
  std::vector<uint16_t> ports = daemon.Hello()->lane_ports;
  ports.push_back(daemon.http_port());
  std::mt19937 random(11);
  for (const uint16_t port : ports) {
    for (int i = 0; i < 50; ++i) {
      const RawPeer raw(port);
      if (i % 2 == 0 && port != daemon.http_port()) raw.Greet();
      std::vector<uint8_t> bytes(1 + random() % 5000);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      raw.Write(bytes);
    }
  }
  daemon.ExpectServing();
  EXPECT_THAT(HttpGet(daemon.http_port(), "/healthz"), HasSubstr("200 OK"));
  daemon.ExpectOrderlyEnd();
}

TEST(ServerProcess, AnOversizeFrameIsDroppedWithItsConnection) {
  Daemon daemon;
  const RawPeer raw(daemon.port());
  raw.Greet();
  raw.Write(std::vector<uint8_t>{2, 0, 0, 0, 0, 4, 0, 0, 1});  // 64 MiB and one byte
  EXPECT_TRUE(raw.ClosedByPeer());
  daemon.ExpectServing();
  daemon.ExpectOrderlyEnd();
}

TEST(ServerProcess, StrangersAreToldWhatIsWrong) {
  Daemon daemon;
  const Status cluster = daemon.Hello(kCluster + 1).status();
  EXPECT_EQ(cluster.code(), StatusCode::kRefused);
  EXPECT_THAT(cluster.message(), HasSubstr("cluster"));
  // A peer of another protocol version, and one that does not know how to count.
  const auto dealer = ZmqDealerPort::Create(*ZmqContext::Create());
  ASSERT_TRUE(dealer.ok());
  wire::Header old;
  old.version = wire::kVersionMin - 1;
  old.request_id = 42;
  old.cluster_id = kCluster;
  Message short_message =
      wire::Seal({.command = wire::Command::kHello, .request_id = 43, .cluster_id = kCluster}, {});
  for (Message& message : std::vector<Message>{wire::Seal(old, {}), std::move(short_message)}) {
    ASSERT_TRUE((*dealer)->Send({"tcp://" + daemon.address(), std::move(message)}).ok());
    const auto reply = (*dealer)->Receive(RealClock().Now() + 20 * kSecond);
    ASSERT_TRUE(reply.ok() && reply->has_value());
    const auto opened = wire::Open((*reply)->message);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const Status status = wire::StatusOfReply(*opened);
    if (opened->header.request_id == 42) {
      EXPECT_EQ(status.code(), StatusCode::kRefused);
      EXPECT_THAT(status.message(), HasSubstr("version 0"));
    } else {
      EXPECT_EQ(opened->header.request_id, 43U);
      EXPECT_EQ(status.code(), StatusCode::kInvalid) << status.ToString();
    }
  }
  daemon.ExpectServing();
  daemon.ExpectOrderlyEnd();
}

}  // namespace
}  // namespace strata
