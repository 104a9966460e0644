#include "tests/sim/trainers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "tests/support/map_table.h"

namespace strata::sim {
namespace {

constexpr TimeNs kPatience = 600 * kSecond;

std::vector<TableSpec> MakeSpecs(AckLevel ack) {
  TableSpec wide;
  wide.name = "wide";
  wide.dim = 5;
  wide.seed = 11;
  wide.optimizer.kind = OptimizerKind::kAdam;
  wide.optimizer.learning_rate = 0.1F;
  wide.initializer.kind = InitializerKind::kNormal;
  wide.ack = ack;
  TableSpec bias;
  bias.name = "bias";
  bias.dim = 1;
  bias.optimizer.kind = OptimizerKind::kAdaGrad;
  bias.optimizer.learning_rate = 0.3F;
  bias.ack = ack;
  return {wide, bias};
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

class Trainers::Rank {
 public:
  Rank(Trainers& all, uint16_t rank) : all_(all), rank_(rank) {}

  void Pull(uint64_t step) {
    const std::shared_ptr<std::vector<Batch>> rows = Room();
    Operation pull = Marked(OpKind::kLookup, step);
    for (size_t t = 0; t < rows->size(); ++t) {
      TablePart part;
      part.table = all_.specs_[t].id();
      part.keys = (*rows)[t].keys;
      part.out = (*rows)[t].rows;
      pull.parts.push_back(part);
    }
    Submit(std::move(pull), [this, rows, step] { Pulled(*rows, step); });
  }

  bool done() const { return pulled_ == End() && pushes_open_ == 0; }
  const std::string& error() const { return error_; }

 private:
  uint64_t End() const { return all_.options_.first_step + all_.options_.steps; }

  Operation Marked(OpKind kind, uint64_t step) const {
    Operation operation;
    operation.kind = kind;
    operation.step = step;
    operation.deadline = all_.cluster_.now() + kPatience;
    operation.sync = SyncGroup{.id = 9,
                               .rank = rank_,
                               .world = all_.options_.world,
                               .first_step = all_.options_.first_step};
    return operation;
  }

  // What fails ends the rank's work: the group then stands still.
  void Submit(Operation operation, std::function<void()> then) {
    auto done = [this, then = std::move(then)](const Outcome& outcome) {
      ++all_.operations_;
      if (!outcome.status.ok()) return Fail(outcome.status.ToString());
      then();
    };
    all_.cluster_.client(all_.options_.first_client + rank_)
        .Submit(std::move(operation), std::move(done), all_.cluster_.now());
  }

  // For the rows of all keys.
  std::shared_ptr<std::vector<Batch>> Room() const {
    auto rows = std::make_shared<std::vector<Batch>>();
    const std::vector<Key> keys = all_.AllKeys();
    for (const TableSpec& spec : all_.specs_) {
      rows->push_back({keys, std::vector<float>(keys.size() * spec.dim)});
    }
    return rows;
  }

  void Pulled(const std::vector<Batch>& rows, uint64_t step) {
    for (size_t t = 0; t < rows.size(); ++t) {
      if (SameBits(rows[t].rows, all_.expected_[t][step - all_.options_.first_step])) continue;
      Fail(fmt::format("step {}: rows of table '{}' differ", step, all_.specs_[t].name));
    }
    pulled_ = step;
    if (step == End()) return;
    Push(step);
    if (!all_.options_.fused) Pull(step + 1);
  }

  void Push(uint64_t step) {
    const bool fused = all_.options_.fused;
    auto batches = std::make_shared<std::vector<Batch>>();
    for (const TableSpec& spec : all_.specs_) {
      batches->push_back(all_.Gradients(rank_, step, spec));
    }
    const std::shared_ptr<std::vector<Batch>> rows = Room();
    Operation push = Marked(fused ? OpKind::kUpdateLookup : OpKind::kUpdate, step);
    for (size_t t = 0; t < batches->size(); ++t) {
      TablePart part;
      part.table = all_.specs_[t].id();
      part.keys = (*batches)[t].keys;
      part.in = (*batches)[t].rows;
      if (fused) {
        part.then = (*rows)[t].keys;
        part.out = (*rows)[t].rows;
      }
      push.parts.push_back(part);
    }
    ++pushes_open_;
    const uint64_t count = step - all_.options_.first_step + 1;
    all_.begun_ = std::max(all_.begun_, count);
    Submit(std::move(push), [this, batches, rows, step, count, fused] {
      --pushes_open_;
      all_.acked_ = std::max(all_.acked_, count);
      if (fused) Pulled(*rows, step + 1);
    });
  }

  void Fail(const std::string& what) {
    if (error_.empty()) error_ = fmt::format("rank {}: {}", rank_, what);
  }

  Trainers& all_;
  const uint16_t rank_;
  uint64_t pulled_ = 0;
  int pushes_open_ = 0;
  std::string error_;
};

Trainers::Trainers(Cluster& cluster, const TrainersOptions& options)
    : cluster_(cluster), options_(options), specs_(MakeSpecs(options.ack)) {
  for (const TableSpec& spec : specs_) expected_.push_back(Reference(spec));
  for (uint16_t rank = 0; rank < options.world; ++rank) {
    ranks_.push_back(std::make_unique<Rank>(*this, rank));
  }
}

Trainers::~Trainers() = default;

Status Trainers::CreateTables() {
  for (const TableSpec& spec : specs_) {
    STRATA_TRY(cluster_.CreateTable(options_.first_client, spec));
  }
  return {};
}

void Trainers::Begin() {
  for (const auto& rank : ranks_) rank->Pull(options_.first_step);
}

bool Trainers::done() const {
  return std::ranges::all_of(ranks_, [](const auto& rank) { return rank->done(); });
}

std::string Trainers::error() const {
  for (const auto& rank : ranks_) {
    if (!rank->error().empty()) return rank->error();
  }
  return {};
}

std::vector<Key> Trainers::AllKeys() const {
  std::vector<Key> keys(options_.keys);
  for (Key key = 0; key < options_.keys; ++key) keys[key] = key;
  return keys;
}

// Keys repeat, some steps are empty, gradients are arbitrary floats.
Trainers::Batch Trainers::Gradients(uint16_t rank, uint64_t step, const TableSpec& spec) const {
  Random random(Hash64(spec.name, options_.seed) + step * options_.world + rank);
  Batch batch;
  const size_t count = random.Chance(0.2) ? 0 : random.Below(options_.keys_of_push);
  for (size_t i = 0; i < count; ++i) {
    batch.keys.push_back(random.Below(options_.keys));
    for (uint32_t d = 0; d < spec.dim; ++d) {
      batch.rows.push_back(static_cast<float>(random.Uniform() - 0.5));
    }
  }
  return batch;
}

// Computed by one table in one process.
std::vector<std::vector<float>> Trainers::Reference(const TableSpec& spec) const {
  MapTable table(spec);
  std::vector<std::vector<float>> before;
  const std::vector<Key> keys = AllKeys();
  for (uint64_t step = options_.first_step; step <= options_.first_step + options_.steps; ++step) {
    before.emplace_back(keys.size() * spec.dim);
    STRATA_CHECK(table.Lookup(keys, before.back()).ok());
    std::vector<Batch> batches;
    for (uint16_t rank = 0; rank < options_.world; ++rank) {
      batches.push_back(Gradients(rank, step, spec));
    }
    std::vector<GradientPart> parts;
    for (const Batch& batch : batches) parts.push_back({batch.keys, batch.rows});
    STRATA_CHECK(table.ApplyGradients(parts, step).ok());
  }
  return before;
}

std::string Trainers::CheckCut(size_t table, const std::vector<float>& rows, uint64_t least,
                               uint64_t most) const {
  const size_t dim = specs_[table].dim;
  for (Key key = 0; key < options_.keys; ++key) {
    const auto row = std::span(rows).subspan(key * dim, dim);
    bool found = false;
    for (uint64_t steps = least; steps <= most && !found; ++steps) {
      found = SameBits(row, std::span(expected_[table][steps]).subspan(key * dim, dim));
    }
    if (found) continue;
    return fmt::format("table '{}' key {}: not as it was after any of the steps {} to {}",
                       specs_[table].name, key, least, most);
  }
  return {};
}

}  // namespace strata::sim
