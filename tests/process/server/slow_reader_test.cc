// What a client costs that asks as fast as it can and never reads an answer: memory up to a bound,
// and nobody else notices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "base/resident_memory.h"
#include "ps/client/remote_store.h"
#include "ps/net/zmq_port.h"
#include "tests/process/server/daemon.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kQueueMemory = 32 * kMiB;
// The allocator's reserve, ZeroMQ's buffers, and what the other client has under way.
constexpr uint64_t kRest = 32 * kMiB;

uint64_t ResidentBytesOfServer(Daemon& daemon) {
  const uint64_t bytes = ResidentBytesOf(daemon.process().pid());
  EXPECT_GT(bytes, 0U) << "it cannot be read";
  return bytes;
}

// The server is measured, and not AddressSanitizer, which keeps 256 MiB of freed memory for a
// while.
std::string WithSmallQuarantine() {
  const char* options = std::getenv("ASAN_OPTIONS");
  return fmt::format("{}:quarantine_size_mb=1", options == nullptr ? "" : options);
}

// A pull of 2 MiB of rows.
wire::Header PullHeader(const TableSpec& spec, uint64_t request_id) {
  wire::Header header;
  header.command = wire::Command::kPull;
  header.request_id = request_id;
  header.cluster_id = kCluster;
  header.client_hi = header.client_lo = 77;
  header.epoch = 1;
  header.SetName(static_cast<uint64_t>(spec.id()));
  header.count = 2048;
  return header;
}

TEST(ServerProcess, AClientThatNeverReadsCostsNoMoreThanTheQueuesMemory) {
  const TempFolder folder;
  WriteWholeFile(folder.File("cluster.toml"), "[server]\nqueue_memory = \"32MiB\"\n");
  Daemon daemon({"--port=0", "--config=" + folder.File("cluster.toml")},
                {{"ASAN_OPTIONS", WithSmallQuarantine()}});
  RemoteStoreOptions options;
  options.servers = {daemon.address()};
  options.cluster_id = kCluster;
  auto other = RemoteStore::Connect(options);
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  TableSpec spec;
  spec.name = "table";
  spec.dim = 256;
  ASSERT_TRUE((*other)->CreateTable(spec).ok());
  std::vector<Key> keys(2048);
  std::iota(keys.begin(), keys.end(), Key{1});
  std::vector<float> rows(keys.size() * spec.dim);
  const auto pull = [&] {
    Operation operation;
    operation.parts = {{.table = spec.id(), .keys = keys, .out = rows}};
    return SubmitAndWait(**other, std::move(operation)).status;
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pull().ok());

  auto context = ZmqContext::Create();
  ASSERT_TRUE(context.ok());
  auto silent = ZmqDealerPort::Create(*context, {.linger = 0});
  ASSERT_TRUE(silent.ok());
  const uint64_t before = ResidentBytesOfServer(daemon);
  uint64_t most = before;
  constexpr uint64_t kPulls = 1000;  // 2 GB of answers
  for (uint64_t i = 1; i <= kPulls; ++i) {
    Message message = wire::Seal(PullHeader(spec, i), {Frame::Own(keys)});
    ASSERT_TRUE((*silent)->Send({"tcp://" + daemon.address(), std::move(message)}).ok());
    if (i % 10 != 0) continue;
    const Status status = pull();
    ASSERT_TRUE(status.ok()) << status.ToString();
    most = std::max(most, ResidentBytesOfServer(daemon));
  }
  const uint64_t growth = most - before;
  fmt::print("resident memory of the server: {} MiB, with the silent client at most {} MiB more\n",
             before / kMiB, growth / kMiB);
  EXPECT_LE(growth, kQueueMemory + kRest);
  silent->reset();
  daemon.ExpectServing();
}

}  // namespace
}  // namespace strata
