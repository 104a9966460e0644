// Synchronous training under drops, repeats and reordering: the ranks of a group step together, and
// every row that a rank pulls is bit for bit that of one process which sums the gradients in rank
// order and runs the rule once a key.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "storage/memory/map_table.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {
namespace {

constexpr uint16_t kWorld = 4;
constexpr uint64_t kFirstStep = 3;
constexpr uint64_t kSteps = 12;
constexpr Key kKeys = 150;

std::vector<TableSpec> Specs() {
  TableSpec wide;
  wide.name = "wide";
  wide.dim = 5;
  wide.seed = 11;
  wide.optimizer.kind = OptimizerKind::kAdam;
  wide.optimizer.learning_rate = 0.1F;
  wide.initializer.kind = InitializerKind::kNormal;
  TableSpec bias;
  bias.name = "bias";
  bias.dim = 1;
  bias.optimizer.kind = OptimizerKind::kAdaGrad;
  bias.optimizer.learning_rate = 0.3F;
  return {wide, bias};
}

struct Batch {
  std::vector<Key> keys;
  std::vector<float> rows;
};

// What a rank pushes in a step: keys repeat, some steps are empty, gradients are arbitrary floats.
Batch Gradients(uint64_t seed, uint16_t rank, uint64_t step, const TableSpec& spec) {
  Random random(Hash64(spec.name, seed) + step * kWorld + rank);
  Batch batch;
  const size_t count = random.Chance(0.2) ? 0 : random.Below(40);
  for (size_t i = 0; i < count; ++i) {
    batch.keys.push_back(random.Below(kKeys));
    for (uint32_t d = 0; d < spec.dim; ++d) {
      batch.rows.push_back(static_cast<float>(random.Uniform() - 0.5));
    }
  }
  return batch;
}

std::vector<Key> AllKeys() {
  std::vector<Key> keys(kKeys);
  for (Key key = 0; key < kKeys; ++key) keys[key] = key;
  return keys;
}

// The rows of every key before each step, computed by one table in one process.
std::vector<std::vector<float>> Reference(uint64_t seed, const TableSpec& spec) {
  MapTable table(spec);
  std::vector<std::vector<float>> before;
  for (uint64_t step = kFirstStep; step <= kFirstStep + kSteps; ++step) {
    before.emplace_back(kKeys * spec.dim);
    table.Lookup(AllKeys(), before.back());
    std::vector<Batch> batches;
    for (uint16_t rank = 0; rank < kWorld; ++rank) {
      batches.push_back(Gradients(seed, rank, step, spec));
    }
    std::vector<GradientPart> parts;
    for (const Batch& batch : batches) parts.push_back({batch.keys, batch.rows});
    EXPECT_TRUE(table.ApplyGradients(parts, step).ok());
  }
  return before;
}

// One rank: pulls all rows, compares them, pushes its gradients and at once pulls for the next
// step.
class Rank {
 public:
  Rank(Cluster& cluster, uint16_t rank, uint64_t seed,
       const std::vector<std::vector<std::vector<float>>>& expected)
      : cluster_(cluster), rank_(rank), seed_(seed), expected_(expected) {}

  void Pull(uint64_t step) {
    auto rows = std::make_shared<std::vector<Batch>>();
    Operation pull = Marked(OpKind::kLookup, step);
    for (const TableSpec& spec : Specs()) {
      rows->push_back({AllKeys(), std::vector<float>(kKeys * spec.dim)});
    }
    for (size_t t = 0; t < rows->size(); ++t) {
      TablePart part;
      part.table = Specs()[t].id();
      part.keys = (*rows)[t].keys;
      part.out = (*rows)[t].rows;
      pull.parts.push_back(part);
    }
    auto done = [this, rows, step](const Outcome& outcome) {
      Check(outcome);
      for (size_t t = 0; t < rows->size(); ++t) {
        const auto& right = expected_[t][step - kFirstStep];
        if (std::memcmp((*rows)[t].rows.data(), right.data(), right.size() * sizeof(float)) != 0) {
          errors_.push_back(fmt::format("step {}: rows of table {} differ", step, t));
        }
      }
      pulled_ = step;
      if (step < kFirstStep + kSteps) {
        Push(step);
        Pull(step + 1);
      }
    };
    cluster_.client(rank_).Submit(std::move(pull), done, cluster_.now());
  }

  bool done() const { return pulled_ == kFirstStep + kSteps && pushes_open_ == 0; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  Operation Marked(OpKind kind, uint64_t step) const {
    Operation operation;
    operation.kind = kind;
    operation.step = step;
    operation.sync = SyncGroup{.id = 9, .rank = rank_, .world = kWorld, .first_step = kFirstStep};
    return operation;
  }

  void Push(uint64_t step) {
    auto batches = std::make_shared<std::vector<Batch>>();
    for (const TableSpec& spec : Specs()) {
      batches->push_back(Gradients(seed_, rank_, step, spec));
    }
    Operation push = Marked(OpKind::kUpdate, step);
    for (size_t t = 0; t < batches->size(); ++t) {
      TablePart part;
      part.table = Specs()[t].id();
      part.keys = (*batches)[t].keys;
      part.in = (*batches)[t].rows;
      push.parts.push_back(part);
    }
    ++pushes_open_;
    auto done = [this, batches](const Outcome& outcome) {
      Check(outcome);
      --pushes_open_;
    };
    cluster_.client(rank_).Submit(std::move(push), done, cluster_.now());
  }

  void Check(const Outcome& outcome) {
    if (!outcome.status.ok()) errors_.push_back(outcome.status.ToString());
  }

  Cluster& cluster_;
  const uint16_t rank_;
  const uint64_t seed_;
  const std::vector<std::vector<std::vector<float>>>& expected_;
  uint64_t pulled_ = 0;
  int pushes_open_ = 0;
  std::vector<std::string> errors_;
};

void RunGroup(uint64_t seed, std::vector<uint16_t> lanes_per_server) {
  ClusterOptions options;
  options.seed = seed;
  options.lanes_per_server = std::move(lanes_per_server);
  options.clients = kWorld;
  options.drop = 0.05;
  options.repeat = 0.1;
  Cluster cluster(options);
  std::vector<std::vector<std::vector<float>>> expected;
  for (const TableSpec& spec : Specs()) {
    ASSERT_TRUE(cluster.CreateTable(0, spec).ok());
    expected.push_back(Reference(seed, spec));
  }
  std::vector<std::unique_ptr<Rank>> ranks;
  for (uint16_t rank = 0; rank < kWorld; ++rank) {
    ranks.push_back(std::make_unique<Rank>(cluster, rank, seed, expected));
    ranks.back()->Pull(kFirstStep);
  }
  const bool ended = cluster.Run([&] {
    return std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank->done(); });
  });
  for (const auto& rank : ranks) {
    ASSERT_TRUE(rank->errors().empty()) << rank->errors().front();
  }
  ASSERT_TRUE(ended) << "the group stands still";
}

TEST(SimSync, RanksStepTogetherBitForBit) {
  for (const uint64_t seed : Seeds()) {
    SCOPED_TRACE(fmt::format("replay with STRATA_SIM_SEED={} STRATA_SIM_SEEDS=1", seed));
    RunGroup(seed, {2, 1, 3});
    if (HasFatalFailure()) return;
  }
}

TEST(SimSync, AnyNumberOfServersGivesTheSameBits) {
  for (const auto& lanes : {std::vector<uint16_t>{1}, {4}, {1, 1}, {8, 8, 8, 8, 8}}) {
    RunGroup(77, lanes);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace strata::sim
