// A batch that is larger than a message may be, over a real server.
#include <gtest/gtest.h>

#include "tests/ps/client/cluster_fixture.h"

namespace strata {
namespace {

TEST(RemoteStore, BatchesLargerThanAMessageAreCut) {
  TableSpec spec;
  spec.name = "wide";
  spec.dim = 1024;
  spec.optimizer.learning_rate = 1.0F;
  TestServers servers(1, 1);
  const auto store = servers.Connect();
  ASSERT_TRUE(store->CreateTable(spec).ok());
  std::vector<Key> keys(20'000);  // 80 MB of rows
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i % 19'000;
  const std::vector<float> gradients(keys.size() * spec.dim, -1.0F);
  TablePart part;
  part.table = spec.id();
  part.keys = keys;
  part.in = gradients;
  Operation push;
  push.kind = OpKind::kUpdate;
  push.parts = {part};
  Status status = SubmitAndWait(*store, push).status;
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::vector<float> rows(keys.size() * spec.dim);
  part.in = {};
  part.out = rows;
  Operation pull;
  pull.parts = {part};
  status = SubmitAndWait(*store, pull).status;
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(rows[i * spec.dim + i % spec.dim], keys[i] < 1000 ? 2.0F : 1.0F) << "key " << keys[i];
  }
}

}  // namespace
}  // namespace strata
