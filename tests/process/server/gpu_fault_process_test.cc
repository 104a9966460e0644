// A server whose GPU fails while it serves: it ends with exit code 70, and the next one in its data
// folder has all that was acknowledged. Of GPUs that are emulated, which fail when they are told
// to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "ps/client/remote_store.h"
#include "tests/process/server/daemon.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

constexpr size_t kKeys = 50;
constexpr size_t kDim = 4;

TableSpec Spec() {
  TableSpec spec;
  spec.name = "t";
  spec.dim = kDim;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}

TEST(GpuFault, AServerEndsWithCode70AndTheNextOneHasWhatWasAcknowledged) {
  const TempFolder folder;
  const std::vector<std::string> arguments = {"--port=0", "--device=cuda", "--gpu_memory=64MiB",
                                              "--data=" + folder.File("data")};
  // Each push waits for the GPU: the 60th wait fails, and so do all behind it.
  auto daemon = std::make_unique<Daemon>(
      arguments,
      std::map<std::string, std::string>{{"STRATA_SIMT_FAIL", "cudaStreamSynchronize:60:1000000"}});
  auto store = RemoteStore::Connect({.servers = {daemon->address()},
                                     .cluster_id = kCluster,
                                     .client_name = "test",
                                     .server_lost_after = 120 * kSecond});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  ASSERT_TRUE((*store)->CreateTable(Spec()).ok());
  std::vector<Key> keys(kKeys);
  for (size_t i = 0; i < kKeys; ++i) keys[i] = i * 0x9e3779b97f4a7c15;
  const auto submit = [&](OpKind kind, std::vector<float>& rows) {
    Operation operation;
    operation.kind = kind;
    operation.ack = AckLevel::kLogged;
    operation.parts.resize(1);
    operation.parts[0].table = Spec().id();
    operation.parts[0].keys = keys;
    if (kind == OpKind::kLookup) {
      operation.parts[0].out = rows;
    } else {
      operation.parts[0].in = rows;
    }
    return SubmitAndWait(**store, std::move(operation)).status;
  };
  constexpr int kPushes = 100;
  std::future<int> acknowledged = std::async(std::launch::async, [&] {
    std::vector<float> ones(kKeys * kDim, 1.0F);
    int count = 0;
    while (count < kPushes && submit(OpKind::kUpdate, ones).ok()) ++count;
    return count;
  });
  EXPECT_EQ(daemon->process().Wait(), ProcessEnd{70}) << daemon->process().Errors();
  EXPECT_THAT(
      daemon->process().Errors(),
      testing::ContainsRegex("error server-0 lane-0: GPU 0 failed: .*CUDA.*start it again"));
  EXPECT_THAT(daemon->process().Errors(), testing::Not(testing::HasSubstr("bug")));

  // The push that was under way comes again by itself.
  daemon = std::make_unique<Daemon>(arguments);
  EXPECT_EQ(acknowledged.get(), kPushes);
  std::vector<float> rows(kKeys * kDim);
  const Status pulled = submit(OpKind::kLookup, rows);
  ASSERT_TRUE(pulled.ok()) << pulled.ToString();
  EXPECT_THAT(rows, testing::Each(-static_cast<float>(kPushes)));
  daemon->ExpectOrderlyEnd();
}

}  // namespace
}  // namespace strata
