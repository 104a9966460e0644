// A disk that fills up, and a server that is asked to go, under load.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <numeric>

#include "base/file/disk.h"
#include "proto/control/control.pb.h"
#include "ps/client/control_call.h"
#include "tests/soak/soak_cluster.h"
#include "tests/support/small_disk.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

using ::testing::HasSubstr;

constexpr TimeNs kPatience = 60 * kSecond;

#define ASSERT_OK(expr)                              \
  do {                                               \
    const Status& status_ = (expr);                  \
    ASSERT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)

void StartClients(SoakCluster& cluster) {
  for (uint32_t client = 0; client < cluster.options().clients; ++client) {
    cluster.StartClient(client);
  }
}

void ExpectNothingLost(SoakCluster& cluster) {
  Findings findings;
  ASSERT_OK(cluster.Verify(true, &findings));
  EXPECT_TRUE(findings.none()) << findings.examples.front();
}

void ExpectExact(SoakCluster& cluster) {
  ASSERT_OK(cluster.Pause());
  ASSERT_NO_FATAL_FAILURE(ExpectNothingLost(cluster));
  cluster.Resume();
}

// To all lanes, by a client that waits for a second only.
Status PushOnce(const SoakCluster& cluster) {
  const auto store = RemoteStore::Connect({.servers = cluster.addresses(),
                                           .cluster_id = cluster.cluster_id(),
                                           .client_name = "push once"});
  if (!store.ok()) return store.status();
  std::vector<Key> keys(64);  // on every lane
  std::iota(keys.begin(), keys.end(), Key{1'000'000'000'000});
  const std::vector<float> gradients(keys.size() * kDim);
  Operation push;
  push.kind = OpKind::kUpdate;
  push.parts.resize(1);
  push.parts[0].table = SoakTable().id();
  push.parts[0].keys = keys;
  push.parts[0].in = gradients;
  push.deadline = RealClock().Now() + kSecond;
  return SubmitAndWait(**store, std::move(push)).status;
}

// As strata-admin status asks.
bool SaysDiskFull(const SoakCluster& cluster) {
  control::ControlRequest request;
  request.mutable_status();
  const std::string body = request.SerializeAsString();
  const auto bytes = CallControl(cluster.addresses()[0], cluster.cluster_id(),
                                 std::as_bytes(std::span(body)), kPatience);
  control::ControlReply reply;
  if (!bytes.ok() || !reply.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) {
    ADD_FAILURE() << bytes.status().ToString();
    return false;
  }
  bool full = false;
  for (const control::LaneStatus& lane : reply.status().server().lane()) {
    full |= !lane.no_room().empty();
  }
  return full;
}

// The limit of the log makes its segments small: 1 MiB.
SoakClusterOptions OneServer(uint64_t seed) {
  return {.servers = 1,
          .lanes = 2,
          .clients = 2,
          .seed = seed,
          .settings = "log_bytes_max = \"8MiB\"",
          .patience = kPatience};
}

void StartUnderLoad(SoakCluster& cluster) {
  ASSERT_OK(cluster.Start());
  StartClients(cluster);
  ASSERT_OK(cluster.AwaitProgress());
}

// The server, which was started again.
void ExpectItComesBackAsFull(SoakCluster& cluster) {
  ASSERT_OK(cluster.AwaitReady(0));
  cluster.AwaitStandstill();
  EXPECT_EQ(PushOnce(cluster).code(), StatusCode::kDiskFull);
  ASSERT_NO_FATAL_FAILURE(ExpectNothingLost(cluster));
  EXPECT_TRUE(SaysDiskFull(cluster));
}

TEST(Recovery, AFullDiskRefusesPushesUntilThereIsSpaceAgain) {
  SoakCluster cluster(OneServer(3));
  SmallDisk disk(cluster.DataFolder(0), "size=5m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  ASSERT_NO_FATAL_FAILURE(StartUnderLoad(cluster));
  cluster.AwaitStandstill();
  const Status refused = PushOnce(cluster);
  EXPECT_EQ(refused.code(), StatusCode::kDiskFull) << refused.ToString();
  EXPECT_THAT(refused.message(), HasSubstr("segment"));
  // Pulls go on, and show what was acknowledged.
  ASSERT_NO_FATAL_FAILURE(ExpectNothingLost(cluster));
  EXPECT_TRUE(cluster.server(0).Running());
  EXPECT_TRUE(SaysDiskFull(cluster));

  // Killed on a full disk, it comes back all the same, and is as full.
  cluster.KillServer(0);
  cluster.StartServer(0);
  ASSERT_NO_FATAL_FAILURE(ExpectItComesBackAsFull(cluster));

  disk.Resize("size=64m");
  ASSERT_OK(cluster.AwaitProgress());
  ExpectExact(cluster);
}

TEST(Recovery, ACheckpointMakesRoomOnADiskWithoutAByteFree) {
  SoakCluster cluster(OneServer(5));
  SmallDisk disk(cluster.DataFolder(0), "size=5m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  ASSERT_NO_FATAL_FAILURE(StartUnderLoad(cluster));
  for (int round = 0; round < 3; ++round) {
    cluster.AwaitStandstill();
    FillUp(cluster.DataFolder(0) + "/filler");
    EXPECT_TRUE(SaysDiskFull(cluster));
    cluster.StartCheckpoints();
    ASSERT_OK(cluster.AwaitProgress());
    cluster.KillCheckpoints();
  }
  ExpectExact(cluster);
}

// Whatever the dead process leaves free for a moment, others take.
TEST(Recovery, KilledOnADiskWithoutAByteFreeItComesBackAndACheckpointMakesRoom) {
  SoakCluster cluster(OneServer(6));
  SmallDisk disk(cluster.DataFolder(0), "size=5m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  ASSERT_NO_FATAL_FAILURE(StartUnderLoad(cluster));
  cluster.AwaitStandstill();
  for (int round = 0; round < 3; ++round) {
    FillUp(fmt::format("{}/filler-{}", cluster.DataFolder(0), 2 * round));
    cluster.KillServer(0);
    FillUp(fmt::format("{}/filler-{}", cluster.DataFolder(0), 2 * round + 1));
    cluster.StartServer(0);
    ASSERT_NO_FATAL_FAILURE(ExpectItComesBackAsFull(cluster));
  }
  cluster.StartCheckpoints();
  ASSERT_OK(cluster.AwaitProgress());
  cluster.KillCheckpoints();
  ExpectExact(cluster);
}

TEST(Recovery, SigtermDrainsAndLosesNothing) {
  SoakCluster cluster({.servers = 2, .lanes = 2, .clients = 3, .seed = 4, .patience = kPatience});
  ASSERT_OK(cluster.Start());
  StartClients(cluster);
  for (uint32_t round = 0; round < 4; ++round) {
    ASSERT_OK(cluster.AwaitProgress());
    Process& server = cluster.server(round % 2);
    server.Signal(SIGTERM);
    ASSERT_EQ(server.Wait(kPatience), ProcessEnd{0}) << server.Errors();
    cluster.StartServer(round % 2);
    ASSERT_OK(cluster.AwaitReady(round % 2));
    ASSERT_OK(cluster.AwaitProgress());
    ExpectExact(cluster);
  }
  EXPECT_EQ(cluster.oracle().sessions(), cluster.options().clients);
}

}  // namespace
}  // namespace strata::soak
