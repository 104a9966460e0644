// A server whose tables have more rows than its GPUs have room for, which are emulated: what it
// says of that, and what it counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <regex>

#include "ps/client/remote_store.h"
#include "tests/process/server/daemon.h"
#include "tests/process/server/daemon_status.h"
#include "tests/ps/server/raw_peer.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kDim = 256;

TableSpec Spec(const std::string& name) {
  TableSpec spec;
  spec.name = name;
  spec.dim = kDim;
  spec.optimizer.kind = OptimizerKind::kSgd;
  return spec;
}

size_t CountOf(const std::string& text, const std::string& pattern) {
  const std::regex form(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), form), std::sregex_iterator()));
}

TEST(GpuRoom, BatchesThatAreDoneBelowAreCountedByTableAndWarnedOfOnceATable) {
  // A table takes 6 MiB in each lane: the first one leaves room for one lane of the other.
  Daemon daemon({"--port=0", "--device=cuda", "--gpu_memory=32MiB", "--lanes=4"},
                {{"STRATA_SIMT_GPUS", "1"}});
  const auto store = RemoteStore::Connect(
      {.servers = {daemon.address()}, .cluster_id = kCluster, .client_name = "test"});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  const auto push = [&](const std::string& table, size_t count) {
    std::vector<Key> keys(count);
    for (size_t i = 0; i < count; ++i) keys[i] = Mix64(i);
    std::vector<float> gradients(count * kDim, 1.0F);
    Operation operation;
    operation.kind = OpKind::kUpdate;
    operation.parts = {{.table = Spec(table).id(), .keys = keys, .in = gradients}};
    const Status status = SubmitAndWait(**store, std::move(operation)).status;
    ASSERT_TRUE(status.ok()) << status.ToString();
  };
  for (const char* table : {"large", "small"}) {
    ASSERT_TRUE((*store)->CreateTable(Spec(table)).ok());
  }
  push("small", 400);
  for (int times = 0; times < 3; ++times) push("large", 1000);

  const std::string metrics = HttpGet(daemon.http_port(), "/metrics");
  const std::string name = "strata_server_passed_down_batches_total";
  EXPECT_THAT(metrics, HasSubstr("# TYPE " + name + " counter\n"));
  EXPECT_THAT(metrics, HasSubstr(name + "{table=\"small\"} 0\n"));
  EXPECT_THAT(metrics, HasSubstr(name + "{table=\"large\"} 9\n"));
  const control::NodeStatus status = StatusOf(daemon);
  ASSERT_EQ(status.server().table_size(), 2);
  EXPECT_EQ(status.server().table(0).passed_down(), 9U) << "three lanes, each time";
  EXPECT_EQ(status.server().table(1).passed_down(), 0U);
  daemon.ExpectOrderlyEnd();
  const std::string log = daemon.process().Errors();
  EXPECT_EQ(CountOf(log, "the tiers below do a batch"), 1U) << log;
  EXPECT_EQ(CountOf(log, "table 'large'"), 1U) << log;
}

}  // namespace
}  // namespace strata
