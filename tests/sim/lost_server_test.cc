// What a client sees of servers that come back empty, fall silent, or were never there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_cluster.h"

namespace strata::sim {
namespace {

using ::testing::HasSubstr;

TableSpec Spec() {
  TableSpec spec;
  spec.name = "lost";
  return spec;
}

// A batch of one key that server `server` holds, once as a push and once as a pull.
class OneKey {
 public:
  OneKey(const Cluster& cluster, uint16_t server) {
    while (cluster.map().lanes[cluster.map().LaneOf(key_)].server != server) ++key_;
  }
  Operation Push() {
    Operation operation;
    operation.kind = OpKind::kUpdate;
    operation.parts = {Part()};
    operation.parts[0].in = {&gradient_, 1};
    return operation;
  }
  Operation Pull() {
    Operation operation;
    operation.parts = {Part()};
    operation.parts[0].out = {&value_, 1};
    return operation;
  }

 private:
  TablePart Part() const {
    TablePart part;
    part.table = Spec().id();
    part.keys = {&key_, 1};
    return part;
  }
  Key key_ = 0;
  float gradient_ = 1.0F;
  float value_ = 0.0F;
};

ClusterOptions ThreeServers() {
  ClusterOptions options;
  options.lanes_per_server = {2, 2, 2};
  options.server_lost_after = 5 * kSecond;
  return options;
}

TEST(SimLostServer, ARestartedServerEndsWhatIsSentToItAndSaysWhatIsGone) {
  Cluster cluster(ThreeServers());
  ASSERT_TRUE(cluster.CreateTable(0, Spec()).ok());
  OneKey lost(cluster, 1), kept(cluster, 2);
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(cluster.SubmitAndRun(0, lost.Push()).status.ok());
    ASSERT_TRUE(cluster.SubmitAndRun(0, kept.Push()).status.ok());
  }
  cluster.server(1).Restart(cluster.now());
  for (const Operation& operation : {lost.Pull(), lost.Push()}) {
    const Outcome outcome = cluster.SubmitAndRun(0, operation);
    EXPECT_EQ(outcome.status.code(), StatusCode::kLost);
    EXPECT_THAT(outcome.status.message(), HasSubstr("server 1 (server1:7000) restarted"));
    // 1,024 shards over three servers of two lanes each.
    EXPECT_THAT(outcome.status.message(),
                HasSubstr("shards 342..682 is gone, with 7 acknowledged writes"));
  }
  EXPECT_TRUE(cluster.SubmitAndRun(0, kept.Pull()).status.ok());
}

TEST(SimLostServer, AnOperationOverSeveralServersSaysWhichDidTheirPart) {
  Cluster cluster(ThreeServers());
  ASSERT_TRUE(cluster.CreateTable(0, Spec()).ok());
  std::vector<Key> keys(200);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> gradients(keys.size(), 1.0F);
  Operation push;
  push.kind = OpKind::kUpdate;
  TablePart part;
  part.table = Spec().id();
  part.keys = keys;
  part.in = gradients;
  push.parts = {part};
  cluster.server(1).Restart(cluster.now());
  const Outcome outcome = cluster.SubmitAndRun(0, push);
  EXPECT_EQ(outcome.status.code(), StatusCode::kLost);
  ASSERT_EQ(outcome.lanes.size(), 6U);
  for (const LaneStatus& lane : outcome.lanes) {
    EXPECT_EQ(lane.status.ok(), lane.lane < 2 || lane.lane > 3) << "lane " << lane.lane;
  }
}

TEST(SimLostServer, ASilentServerIsLostInTimeAndUsableAgainOnceItAnswers) {
  Cluster cluster(ThreeServers());
  ASSERT_TRUE(cluster.CreateTable(0, Spec()).ok());
  OneKey key(cluster, 2);
  ASSERT_TRUE(cluster.SubmitAndRun(0, key.Push()).status.ok());
  for (const int port : {7000, 7001, 7002}) {
    cluster.network().Cut("client0", "tcp://server2:" + std::to_string(port));
  }
  const TimeNs begun = cluster.now();
  const Outcome outcome = cluster.SubmitAndRun(0, key.Push());
  EXPECT_EQ(outcome.status.code(), StatusCode::kLost);
  EXPECT_THAT(outcome.status.message(), HasSubstr("server 2 (server2:7000) has been silent"));
  EXPECT_LE(cluster.now() - begun, 7 * kSecond);
  cluster.network().HealAll();
  EXPECT_TRUE(cluster.SubmitAndRun(0, key.Pull()).status.ok());
}

TEST(SimLostServer, ABusyLaneOfALivingServerIsWaitedFor) {
  Cluster cluster(ThreeServers());
  ASSERT_TRUE(cluster.CreateTable(0, Spec()).ok());
  OneKey key(cluster, 2);
  for (const int port : {7001, 7002}) {
    cluster.network().Cut("client0", "tcp://server2:" + std::to_string(port));
  }
  Operation push = key.Push();
  push.deadline = cluster.now() + 30 * kSecond;
  const Outcome outcome = cluster.SubmitAndRun(0, push);
  EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(cluster.now(), push.deadline);
  EXPECT_THAT(outcome.status.message(), HasSubstr("whether the write was applied is not known"));
}

TEST(SimLostServer, AServerThatNeverAnswersIsNamed) {
  Cluster cluster(ThreeServers());
  cluster.network().Cut("client0", "tcp://server1:7000");
  Operation nothing;
  nothing.kind = OpKind::kFlush;
  nothing.deadline = 3 * kSecond;
  const Outcome outcome = cluster.SubmitAndRun(0, nothing);
  EXPECT_EQ(outcome.status.code(), StatusCode::kLost);
  EXPECT_THAT(outcome.status.message(), HasSubstr("no answer from server 1 (server1:7000):"));
}

}  // namespace
}  // namespace strata::sim
