// A RemoteStore with several connections does what one with a single connection does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "tests/ps/client/cluster_fixture.h"

namespace strata {
namespace {

constexpr uint32_t kDim = 3;

TableSpec Table(uint32_t dim = kDim) {
  TableSpec spec;
  spec.name = "rows";
  spec.dim = dim;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  spec.optimizer.learning_rate = 0.5F;
  return spec;
}

// Two clusters, one of whose stores has a connection and the other four, get the same operations.
class Connections : public testing::TestWithParam<Transport> {
 protected:
  Connections() {
    for (size_t i = 0; i < clusters_.size(); ++i) {
      clusters_[i] = std::make_unique<TestServers>(2, 2, false, "", GetParam());
      stores_[i] = Open(i);
      EXPECT_TRUE(stores_[i]->CreateTable(Table()).ok());
    }
  }

  std::unique_ptr<RemoteStore> Open(size_t cluster) {
    RemoteStoreOptions options = clusters_[cluster]->Options();
    options.connections = cluster == 0 ? 1 : 4;
    auto store = RemoteStore::Connect(options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }

  std::vector<Key> SomeKeys(size_t count) {
    std::vector<Key> keys(count);
    for (Key& key : keys) key = random_.Next() % 500;
    return keys;
  }
  std::vector<float> SomeValues(size_t keys) {
    std::vector<float> values(keys * kDim);
    for (float& value : values) value = static_cast<float>(random_.Next() % 1000) / 100.0F;
    return values;
  }

  // On both; the same outcome and the same rows out.
  void Both(Operation operation, size_t rows_out) {
    std::array<std::vector<float>, 2> out;
    std::array<Outcome, 2> outcomes;
    for (size_t i = 0; i < stores_.size(); ++i) {
      out[i].assign(rows_out * kDim, -1.0F);
      operation.parts[0].out = out[i];
      outcomes[i] = SubmitAndWait(*stores_[i], operation);
      ASSERT_TRUE(outcomes[i].status.ok()) << outcomes[i].status.ToString();
    }
    EXPECT_EQ(out[0], out[1]);
    EXPECT_EQ(outcomes[0].erased, outcomes[1].erased);
    ASSERT_EQ(outcomes[0].lanes.size(), outcomes[1].lanes.size());
    for (size_t i = 0; i < outcomes[0].lanes.size(); ++i) {
      EXPECT_EQ(outcomes[0].lanes[i].lane, outcomes[1].lanes[i].lane);
    }
  }

  Random random_{7};
  std::array<std::unique_ptr<TestServers>, 2> clusters_;
  std::array<std::unique_ptr<RemoteStore>, 2> stores_;
};

INSTANTIATE_TEST_SUITE_P(Transports, Connections,
                         testing::Values(Transport::kTcp, Transport::kSharedMemory));

TEST_P(Connections, DoWhatOneDoes) {
  for (int turn = 0; turn < 30; ++turn) {
    SCOPED_TRACE(turn);
    const std::vector<Key> keys = SomeKeys(turn % 3 == 0 ? 1 : 200);
    const std::vector<Key> then = SomeKeys(100);
    const std::vector<float> values = SomeValues(keys.size());
    Operation operation;
    operation.step = static_cast<uint64_t>(turn) + 1;
    operation.parts = {{.table = Table().id(), .keys = keys}};
    operation.kind = OpKind::kAssign;
    operation.parts[0].in = values;
    Both(operation, 0);
    operation.kind = OpKind::kUpdate;
    Both(operation, 0);
    operation.kind = OpKind::kUpdateLookup;
    operation.parts[0].then = then;
    Both(operation, then.size());
    operation.parts[0].then = {};
    operation.parts[0].in = {};
    operation.kind = OpKind::kLookup;
    Both(operation, keys.size());
    operation.kind = OpKind::kErase;
    operation.parts[0].keys = std::span(keys).first(keys.size() / 2 + 1);
    Both(operation, 0);
  }
  std::array<TableStats, 2> stats;
  for (size_t i = 0; i < stores_.size(); ++i) {
    Operation operation;
    operation.kind = OpKind::kStats;
    operation.parts = {{.table = Table().id(), .stats = &stats[i]}};
    ASSERT_TRUE(SubmitAndWait(*stores_[i], operation).status.ok());
  }
  EXPECT_GT(stats[0].rows, 100U);
  EXPECT_EQ(stats[0].rows, stats[1].rows);
  EXPECT_EQ(stats[0].updates, stats[1].updates);
}

// Two ranks, the second of which is a step behind.
TEST_P(Connections, TakeStepsTogether) {
  std::array<std::unique_ptr<RemoteStore>, 2> second = {Open(0), Open(1)};
  const std::vector<Key> keys = SomeKeys(300);
  const std::vector<Key> others = SomeKeys(40);
  const std::vector<float> gradients = SomeValues(keys.size());
  std::array<std::vector<float>, 2> rows;
  for (size_t i = 0; i < stores_.size(); ++i) {
    rows[i].resize(keys.size() * kDim);
    for (uint64_t step = 1; step <= 3; ++step) {
      Operation first;
      first.kind = OpKind::kUpdateLookup;
      first.step = step;
      first.sync = SyncGroup{.id = 5, .rank = 0, .world = 2};
      first.parts = {{.table = Table().id(), .keys = keys, .in = gradients, .then = keys}};
      first.parts[0].out = rows[i];
      std::promise<Outcome> done;
      stores_[i]->Submit(first, [&](Outcome outcome) { done.set_value(std::move(outcome)); });
      std::future<Outcome> outcome = done.get_future();
      EXPECT_EQ(outcome.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
      Operation other;
      other.kind = OpKind::kUpdate;
      other.step = step;
      other.sync = SyncGroup{.id = 5, .rank = 1, .world = 2};
      other.parts = {{.table = Table().id(),
                      .keys = others,
                      .in = std::span(gradients).first(others.size() * kDim)}};
      ASSERT_TRUE(SubmitAndWait(*second[i], other).status.ok());
      ASSERT_TRUE(outcome.get().status.ok());
    }
  }
  EXPECT_EQ(rows[0], rows[1]);
}

TEST_P(Connections, ForgetATableThatIsDropped) {
  RemoteStore& store = *stores_[1];
  const std::vector<Key> keys = SomeKeys(50);
  const std::vector<float> rows = SomeValues(keys.size());
  ASSERT_TRUE(Assign(store, Table(), keys, rows).ok());
  ASSERT_TRUE(store.DropTable("rows").ok());
  const Status gone = Pull(store, Table(), keys).status();
  EXPECT_EQ(gone.code(), StatusCode::kNotFound) << gone.ToString();
  ASSERT_TRUE(store.CreateTable(Table(1)).ok());
  const auto pulled = Pull(store, Table(1), keys);
  ASSERT_TRUE(pulled.ok()) << pulled.status().ToString();
  EXPECT_EQ(pulled->size(), keys.size());
}

TEST_P(Connections, EndTogether) {
  RemoteStore& store = *stores_[1];
  const std::vector<Key> keys = SomeKeys(50);
  const std::vector<float> gradients = SomeValues(keys.size());
  Operation push;
  push.kind = OpKind::kUpdate;
  push.sync = SyncGroup{.id = 1, .rank = 0, .world = 2};
  push.parts = {{.table = Table().id(), .keys = keys, .in = gradients}};
  std::promise<Outcome> pushed;
  store.Submit(push, [&](Outcome outcome) { pushed.set_value(std::move(outcome)); });
  store.Abort(Lost("rank 1 is gone"));
  EXPECT_EQ(pushed.get_future().get().status.message(), "rank 1 is gone");
}

}  // namespace
}  // namespace strata
