// Ten servers, twenty clients, drops, repeats and reordering: every push is applied exactly once,
// and each client's own operations take effect in the order in which it submitted them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {
namespace {

constexpr uint32_t kDim = 2;
constexpr size_t kOperations = 60;  // of each client
constexpr size_t kOutstanding = 6;  // submitted and not completed, of each client
constexpr Key kSharedKeys = 300;

// Integer gradients, so that sums are exact: SGD at rate 1 adds what -1 times the gradient says.
TableSpec Spec() {
  TableSpec spec;
  spec.name = "sums";
  spec.dim = kDim;
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}

// One client's endless pipeline of random operations. Keys below kSharedKeys are pushed by all;
// others are its own, and a model knows what each pull of them must answer.
class Worker {
 public:
  Worker(Cluster& cluster, size_t index, uint64_t seed, std::map<Key, int>& totals)
      : cluster_(cluster), index_(index), random_(seed * 1000 + index), totals_(totals) {}

  void Go() {
    while (outstanding_ < kOutstanding && submitted_ < kOperations) SubmitOne();
  }
  bool done() const { return completed_ == kOperations; }
  uint64_t pushed_keys() const { return pushed_keys_; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  struct Batch {
    std::vector<Key> keys;
    std::vector<float> in, out, expected;
  };

  Key RandomKey(bool shared) {
    return shared ? random_.Below(kSharedKeys) : ((index_ + 1) << 32) + random_.Below(20);
  }

  // Fills the batch, moves the model, and returns the kind of operation.
  OpKind Choose(Batch& batch) {
    const uint64_t choice = random_.Below(100);
    const bool shared = choice < 50;
    const size_t count = random_.Below(40);
    for (size_t i = 0; i < count; ++i) batch.keys.push_back(RandomKey(shared));
    if (choice < 65) {
      batch.in.assign(count * kDim, -1.0F);
      pushed_keys_ += count;
      for (const Key key : batch.keys) {
        if (shared) {
          ++totals_[key];
        } else {
          mine_[key] += 1.0F;
        }
      }
      return OpKind::kUpdate;
    }
    if (choice < 75) {
      for (const Key key : batch.keys) {
        mine_[key] = static_cast<float>(random_.Below(1000));
        batch.in.insert(batch.in.end(), kDim, mine_[key]);
      }
      return OpKind::kAssign;
    }
    if (choice < 80) {
      for (const Key key : batch.keys) mine_.erase(key);
      return OpKind::kErase;
    }
    batch.out.assign(count * kDim, -7.0F);
    for (const Key key : batch.keys) {
      const auto row = mine_.find(key);
      batch.expected.insert(batch.expected.end(), kDim, row == mine_.end() ? 0.0F : row->second);
    }
    return OpKind::kLookup;
  }

  void SubmitOne() {
    auto batch = std::make_shared<Batch>();
    Operation operation;
    operation.kind = Choose(*batch);
    TablePart part;
    part.table = Spec().id();
    part.keys = batch->keys;
    part.in = batch->in;
    part.out = batch->out;
    operation.parts = {part};
    const size_t number = submitted_++;
    ++outstanding_;
    auto done = [this, batch, number](const Outcome& outcome) {
      --outstanding_;
      ++completed_;
      if (!outcome.status.ok()) errors_.push_back(outcome.status.ToString());
      if (batch->out != batch->expected) {
        errors_.push_back(fmt::format("operation {}: a pull is out of order", number));
      }
      Go();
    };
    cluster_.client(index_).Submit(std::move(operation), done, cluster_.now());
  }

  Cluster& cluster_;
  const size_t index_;
  Random random_;
  std::map<Key, int>& totals_;
  std::map<Key, float> mine_;
  uint64_t pushed_keys_ = 0;
  size_t submitted_ = 0, outstanding_ = 0, completed_ = 0;
  std::vector<std::string> errors_;
};

struct RunResult {
  uint64_t history = 0;
  SimNetworkStats network;
};

void CheckTotals(Cluster& cluster, const std::map<Key, int>& totals, uint64_t pushed_keys) {
  std::vector<Key> keys;
  for (Key key = 0; key < kSharedKeys; ++key) keys.push_back(key);
  std::vector<float> rows(keys.size() * kDim);
  Operation pull;
  TablePart part;
  part.table = Spec().id();
  part.keys = keys;
  part.out = rows;
  pull.parts = {part};
  ASSERT_TRUE(cluster.SubmitAndRun(0, pull).status.ok());
  for (const Key key : keys) {
    const auto total = totals.find(key);
    const auto expected = static_cast<float>(total == totals.end() ? 0 : total->second);
    for (uint32_t d = 0; d < kDim; ++d) ASSERT_EQ(rows[key * kDim + d], expected) << "key " << key;
  }
  TableStats stats;
  Operation ask;
  ask.kind = OpKind::kStats;
  part = {};
  part.table = Spec().id();
  part.stats = &stats;
  ask.parts = {part};
  ASSERT_TRUE(cluster.SubmitAndRun(0, ask).status.ok());
  EXPECT_EQ(stats.updates, pushed_keys);
}

void RunSums(uint64_t seed, double drop, double repeat, RunResult& result) {
  ClusterOptions options;
  options.seed = seed;
  options.lanes_per_server = {2, 1, 3, 2, 1, 2, 2, 1, 1, 2};
  options.clients = 20;
  options.drop = drop;
  options.repeat = repeat;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.CreateTable(seed % options.clients, Spec()).ok());
  std::map<Key, int> totals;
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t i = 0; i < options.clients; ++i) {
    workers.push_back(std::make_unique<Worker>(cluster, i, seed, totals));
    workers.back()->Go();
  }
  const bool ended = cluster.Run([&] {
    return std::all_of(workers.begin(), workers.end(), [](const auto& w) { return w->done(); });
  });
  ASSERT_TRUE(ended) << "the cluster stands still";
  uint64_t pushed_keys = 0;
  for (const auto& worker : workers) {
    pushed_keys += worker->pushed_keys();
    ASSERT_TRUE(worker->errors().empty()) << worker->errors().front();
  }
  CheckTotals(cluster, totals, pushed_keys);
  result.history = cluster.history();
  result.network = cluster.network().stats();
}

TEST(SimSums, PerKeySumsAreExactUnderFaults) {
  for (const uint64_t seed : Seeds()) {
    SCOPED_TRACE(fmt::format("replay with STRATA_SIM_SEED={} STRATA_SIM_SEEDS=1", seed));
    RunResult result;
    RunSums(seed, 0.05, 0.1, result);
    if (HasFatalFailure()) return;
    EXPECT_GT(result.network.dropped, 100U);
    EXPECT_GT(result.network.repeated, 100U);
  }
}

TEST(SimSums, TheSameSeedGivesTheSameRun) {
  RunResult first, second, other;
  RunSums(5, 0.1, 0.1, first);
  RunSums(5, 0.1, 0.1, second);
  RunSums(6, 0.1, 0.1, other);
  EXPECT_EQ(first.history, second.history);
  EXPECT_EQ(first.network.sent, second.network.sent);
  EXPECT_NE(first.history, other.history);
}

}  // namespace
}  // namespace strata::sim
