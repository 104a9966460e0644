#include <algorithm>
#include <ranges>
#include <set>

#include "kernels/sparse/update.h"
#include "storage/gpu/embedding_group.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/gpu_table.h"

namespace strata {
namespace {

// Whether kernels may take four elements at once from there.
bool IsVector(const void* memory) {
  return memory != nullptr && reinterpret_cast<uintptr_t>(memory) % 16 == 0;
}

bool HasKeys(std::span<const uint64_t> counts) {
  return std::ranges::any_of(counts, [](uint64_t count) { return count != 0; });
}

}  // namespace

// As it lies on the GPU, too.
struct EmbeddingGroup::Counts {
  DistinctCounts batch;
  Misses of_tables[kGroupTablesMax];
};

// The tables, locked. What the group enqueues comes behind all that was done to them before, and
// before all that is done to them later.
class EmbeddingGroup::Turn {
 public:
  explicit Turn(EmbeddingGroup& group) : group_(group), device_(group.exec_.ordinal) {}
  ~Turn() {
    if (tables_.empty()) return;
    const auto done = static_cast<cudaEvent_t>(group_.done_);
    Must(FromCuda(cudaEventRecord(done, StreamOf(group_.exec_)), "the GPU"));
    for (GpuTable* table : tables_) table->TakeBack(done);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Status Begin() {
    STRATA_ASSIGN(entries_, group_.store_.Find(group_.names_));
    locks_ = LocalStore::LockAll(entries_);
    for (size_t t = 0; t < entries_.size(); ++t) {
      LocalTable& table = *entries_[t]->table;
      if (!group_.specs_.empty() && table.spec() != group_.specs_[t]) {
        return Invalid(fmt::format("table '{}' is another one than the group was opened with: {}",
                                   table.spec().name,
                                   DifferenceOf(table.spec(), group_.specs_[t])));
      }
      auto* of_gpu = dynamic_cast<GpuTable*>(&table);
      if (of_gpu == nullptr || of_gpu->ordinal() != group_.exec_.ordinal) {
        return Invalid(fmt::format("table '{}' does not lie in the memory of GPU {}",
                                   table.spec().name, group_.exec_.ordinal));
      }
      STRATA_TRY(of_gpu->Lend(group_.exec_));
      tables_.push_back(of_gpu);
    }
    return {};
  }

  const std::vector<GpuTable*>& tables() const { return tables_; }
  TableGroup GroupOf(std::span<const uint64_t> keys) const {
    TableGroup group;
    for (size_t t = 0; t < keys.size(); ++t) {
      group.Add(tables_[t]->map(), tables_[t]->Start(), keys[t]);
    }
    return group;
  }
  bool HasTiersBelow() const {
    return std::ranges::any_of(tables_, [](const GpuTable* t) { return t->HasTiersBelow(); });
  }
  std::vector<uint64_t> Generations() const {
    std::vector<uint64_t> generations;
    for (const GpuTable* table : tables_) generations.push_back(table->generation());
    return generations;
  }

 private:
  EmbeddingGroup& group_;
  const DeviceScope device_;
  LocalStore::Entries entries_;
  LocalStore::Locks locks_;
  std::vector<GpuTable*> tables_;
};

Result<std::unique_ptr<EmbeddingGroup>> EmbeddingGroup::Open(LocalStore& store,
                                                             std::span<const std::string> tables,
                                                             const Exec& exec) {
  constexpr size_t kMost = std::min(kGroupTablesMax, kPoolTablesMax);
  if (tables.empty() || tables.size() > kMost) {
    return Invalid(
        fmt::format("a group of embeddings has 1 to {} tables, not {}", kMost, tables.size()));
  }
  const std::set<std::string> different(tables.begin(), tables.end());
  if (different.size() != tables.size()) {
    return Invalid("a group of embeddings names a table twice");
  }
  if (exec.device != DeviceKind::kCuda) return Invalid("a group of embeddings works on a GPU");
  STRATA_TRY(CheckDevice(exec.ordinal));
  auto group = std::unique_ptr<EmbeddingGroup>(new EmbeddingGroup(store, tables, exec));
  const DeviceScope device(exec.ordinal);
  STRATA_TRY(group->MakeEvents());
  Turn turn(*group);
  STRATA_TRY(turn.Begin());
  for (const GpuTable* table : turn.tables()) {
    const TableSpec& spec = table->spec();
    if (!group->specs_.empty() && spec.optimizer != group->specs_[0].optimizer) {
      return Invalid(
          fmt::format("table '{}' has another optimizer than table '{}'; a group has one: open one "
                      "for each",
                      spec.name, tables[0]));
    }
    group->specs_.push_back(spec);
  }
  return Result<std::unique_ptr<EmbeddingGroup>>(std::move(group));
}

Status EmbeddingGroup::MakeEvents() {
  for (void** event : {&done_, &counted_}) {
    cudaEvent_t made = nullptr;
    STRATA_TRY(FromCuda(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "an event"));
    *event = made;
  }
  host_ = PinnedPool::Make()->Take(sizeof(Counts) / sizeof(float));
  counts_ = reinterpret_cast<Counts*>(host_.get());
  STRATA_TRY(device_counts_.ReserveFor<Counts>(1));
  Clear(exec_, device_counts_.as<Counts>(), sizeof(Counts));  // those of tables that are not there
  return {};
}

EmbeddingGroup::~EmbeddingGroup() {
  const DeviceScope device(exec_.ordinal);
  (void)cudaStreamSynchronize(StreamOf(exec_));
  for (void* event : {done_, counted_}) {
    if (event != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
  }
}

DistinctKeys EmbeddingGroup::distinct() const {
  return distinct_.With(&device_counts_.as<Counts>()->batch);
}

Status EmbeddingGroup::CheckKeys(const Key* at, std::span<const uint64_t> counts) const {
  if (counts.size() != names_.size()) {
    return Invalid(
        fmt::format("a batch of {} tables for a group of {}", counts.size(), names_.size()));
  }
  uint64_t keys = 0;
  for (const uint64_t count : counts) keys += std::min<uint64_t>(count, INT32_MAX);
  if (HasKeys(counts) && at == nullptr) return Invalid("a batch whose keys are nowhere (null)");
  if (keys >= INT32_MAX) {
    return Invalid(
        fmt::format("a batch of {} keys or more; at most {} go into one", keys, INT32_MAX - 1));
  }
  return {};
}

Status EmbeddingGroup::CheckBatch(const BagBatch& batch) const {
  if (batch.tables.size() != names_.size()) {
    return Invalid(
        fmt::format("a batch of {} tables for a group of {}", batch.tables.size(), names_.size()));
  }
  for (size_t t = 0; t < names_.size(); ++t) {
    const EmbeddingBags& table = batch.tables[t];
    const auto wrong = [&](std::string what) {
      return Invalid(fmt::format("the bags of table '{}': {}", names_[t], what));
    };
    if (table.offsets == nullptr && table.keys != table.bags) {
      return wrong(fmt::format("{} keys for {} bags, and no offsets", table.keys, table.bags));
    }
    if (table.bags == 0 && table.keys != 0) {
      return wrong(fmt::format("{} keys in no bags", table.keys));
    }
    if (table.slots == 0 || table.stride < uint64_t{table.slots} * specs_[t].dim) {
      return wrong(
          fmt::format("vectors of {} elements, {} of them a sample, do not fit a stride "
                      "of {} elements",
                      specs_[t].dim, table.slots, table.stride));
    }
    if (table.bags != 0 && !IsVector(table.out)) {
      return wrong("their vectors begin at a multiple of 16 bytes");
    }
  }
  return {};
}

std::vector<PooledTable> EmbeddingGroup::Pooled(const TableGroup& group,
                                                const BagBatch& batch) const {
  std::vector<PooledTable> pooled;
  for (size_t t = 0; t < batch.tables.size(); ++t) {
    const EmbeddingBags& bags = batch.tables[t];
    const GroupTable& table = group.tables[t];
    pooled.push_back({.map = table.map,
                      .start = table.start,
                      .keys = batch.keys + table.first_key,
                      .offsets = bags.offsets,
                      .weights = bags.weights,
                      .bags = bags.bags,
                      .out = bags.out,
                      .stride = bags.stride,
                      .slots = bags.slots,
                      .combiner = bags.combiner});
  }
  return pooled;
}

namespace {

// A bag a key.
std::vector<PooledTable> RowsAsBags(const TableGroup& group, const Key* keys, float* rows) {
  std::vector<PooledTable> bags;
  for (uint32_t t = 0; t < group.count; ++t) {
    const GroupTable& table = group.tables[t];
    bags.push_back({.map = table.map,
                    .start = table.start,
                    .keys = keys + table.first_key,
                    .bags = table.keys,
                    .out = rows + table.first_element,
                    .stride = table.map.dim});
  }
  return bags;
}

std::vector<uint64_t> KeysOf(const BagBatch& batch) {
  std::vector<uint64_t> keys;
  for (const EmbeddingBags& table : batch.tables) keys.push_back(table.keys);
  return keys;
}

}  // namespace

Status EmbeddingGroup::LookUp(const BagBatch& batch) {
  STRATA_TRY(CheckBatch(batch));
  const std::vector<uint64_t> keys = KeysOf(batch);
  STRATA_TRY(CheckKeys(batch.keys, keys));
  has_step_ = false;
  {
    Turn turn(*this);
    STRATA_TRY(turn.Begin());
    if (!turn.HasTiersBelow()) {
      PoolRows(exec_, Pooled(turn.GroupOf(keys), batch), batch.type);
      MustBegin("a pooled lookup");
      return {};
    }
  }
  STRATA_TRY(Forward(batch));
  has_step_ = false;
  return {};
}

// All that Backward takes, too, unless a snapshot or the tiers below want some.
Status EmbeddingGroup::ReserveFor(const TableGroup& group, bool has_bags) {
  const size_t keys = group.keys;
  STRATA_TRY(distinct_.Reserve(keys));
  if (has_bags) STRATA_TRY(bag_gradients_.ReserveFor<BagGradient>(keys));
  return scratch_.Reserve(
      std::max(CombineScratchBytes(keys), UpdateScratchBytes(keys, group.dim_max)));
}

// Enqueues that the host gets to know them.
void EmbeddingGroup::CountMissing(const TableGroup& group) {
  auto* counts = device_counts_.as<Counts>();
  CountMisses(exec_, group, distinct(), counts->of_tables);
  CopyDown<Counts>(exec_, counts, {counts_, 1});
  Must(FromCuda(cudaEventRecord(static_cast<cudaEvent_t>(counted_), StreamOf(exec_)), "the GPU"));
}

void EmbeddingGroup::WaitForCounts() const {
  Must(FromCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(counted_)), "the GPU"));
}

Result<bool> EmbeddingGroup::MakeResident(Turn& turn) {
  const size_t tables = step_.keys.size();
  const auto lacks = [&](size_t t) {
    return turn.tables()[t]->HasTiersBelow() && counts_->of_tables[t].keys != 0;
  };
  const auto all = std::views::iota(size_t{0}, tables);
  if (std::ranges::none_of(all, lacks)) return false;
  const TableGroup group = turn.GroupOf(step_.keys);
  STRATA_TRY(listed_places_.ReserveFor<uint64_t>(group.keys));
  STRATA_TRY(listed_keys_.ReserveFor<Key>(group.keys));
  STRATA_TRY(listed_counts_.ReserveFor<ListedKeys::Counts>(tables));
  const ListedKeys listed{listed_places_.as<uint64_t>(), listed_keys_.as<Key>(),
                          listed_counts_.as<ListedKeys::Counts>()};
  ListByTable(exec_, group, distinct(), listed);
  MustBegin("the keys of a batch by table");
  std::vector<ListedKeys::Counts> counts(tables);
  CopyDown<ListedKeys::Counts>(exec_, listed.counts, counts);
  Must(FromCuda(cudaStreamSynchronize(StreamOf(exec_)), "the GPU"));
  for (const size_t t : all) {
    if (!lacks(t)) continue;
    const uint64_t first = group.tables[t].first_key;
    STRATA_TRY(turn.tables()[t]->MakeResident({listed.places + first, counts[t].places},
                                              {listed.keys + first, counts[t].keys}));
  }
  const TableGroup now = turn.GroupOf(step_.keys);
  LocateAgain(exec_, now, distinct());
  CountMissing(now);
  WaitForCounts();
  return true;
}

Status EmbeddingGroup::Begin(Turn& turn, const Key* keys, std::span<const uint64_t> counts,
                             bool has_bags, float* rows) {
  has_step_ = false;
  STRATA_TRY(turn.Begin());
  const TableGroup group = turn.GroupOf(counts);
  STRATA_TRY(ReserveFor(group, has_bags));
  CombineBatch(exec_, group, keys, rows, distinct(), scratch_.all());
  CountMissing(group);
  MustBegin("the keys of a batch");
  step_ = {.keys = {counts.begin(), counts.end()},
           .bags = {},
           .type = PooledType::kFloat32,
           .generations = {},
           .here = {}};
  if (turn.HasTiersBelow()) {
    WaitForCounts();
    for (size_t t = 0; t < counts.size(); ++t) {
      step_.here.push_back(counts[t] - counts_->of_tables[t].positions);
    }
    STRATA_ASSIGN(const bool came, MakeResident(turn));
    if (came && rows != nullptr) {
      PoolRows(exec_, RowsAsBags(turn.GroupOf(counts), keys, rows), PooledType::kFloat32);
      MustBegin("rows of a batch");
    }
  }
  step_.generations = turn.Generations();
  has_step_ = true;
  return {};
}

Status EmbeddingGroup::Forward(const RowBatch& batch) {
  STRATA_TRY(CheckKeys(batch.keys, batch.counts));
  if (HasKeys(batch.counts) && !IsVector(batch.rows)) {
    return Invalid("rows do not begin at a multiple of 16 bytes");
  }
  Turn turn(*this);
  return Begin(turn, batch.keys, batch.counts, /*has_bags=*/false, batch.rows);
}

Status EmbeddingGroup::Forward(const BagBatch& batch) {
  STRATA_TRY(CheckBatch(batch));
  const std::vector<uint64_t> keys = KeysOf(batch);
  STRATA_TRY(CheckKeys(batch.keys, keys));
  Turn turn(*this);
  STRATA_TRY(Begin(turn, batch.keys, keys, /*has_bags=*/true, nullptr));
  step_.bags = Pooled(turn.GroupOf(keys), batch);
  step_.type = batch.type;
  PoolRows(exec_, step_.bags, step_.type);
  MustBegin("a pooled lookup");
  return {};
}

Status EmbeddingGroup::CheckStep(bool has_bags, uint64_t step) const {
  if (!has_step_) return Invalid("Backward without a Forward before it");
  if (has_bags == step_.bags.empty()) {
    return Invalid(has_bags ? "gradients of bags for a Forward of rows"
                            : "gradients of rows for a Forward of bags");
  }
  if (step == 0) return Invalid("Backward at step 0; steps begin with 1");
  return {};
}

Status EmbeddingGroup::Settle(Turn& turn) {
  if (turn.Generations() != step_.generations) {
    const TableGroup now = turn.GroupOf(step_.keys);
    LocateAgain(exec_, now, distinct());
    CountMissing(now);
    WaitForCounts();
    STRATA_TRY(MakeResident(turn).status());
  }
  const TableGroup group = turn.GroupOf(step_.keys);
  bool moved = false;
  for (size_t t = 0; t < step_.keys.size(); ++t) {
    GpuTable& table = *turn.tables()[t];
    const uint32_t missing = counts_->of_tables[t].keys;
    if (missing != 0 && !table.HasTiersBelow()) STRATA_TRY(table.MakeRoomFor(exec_, missing));
    moved = moved || table.map().pairs() != group.tables[t].map.pairs();
    if (!table.in_snapshot()) continue;
    Must(FromCuda(cudaStreamSynchronize(StreamOf(exec_)), "the GPU"));
    STRATA_TRY(table.KeepForSnapshot(distinct().keys, counts_->batch.distinct));
  }
  if (moved) LocateAgain(exec_, turn.GroupOf(step_.keys), distinct());
  return {};
}

template <typename GradientsOf>
Status EmbeddingGroup::Finish(uint64_t step, const GradientsOf& gradients_of) {
  const DeviceScope device(exec_.ordinal);
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  WaitForCounts();
  const Counts forward = *counts_;
  STRATA_TRY(Settle(turn));
  const TableGroup group = turn.GroupOf(step_.keys);
  UpdateRows(exec_, group, specs_[0].optimizer, step, distinct(), gradients_of(group),
             scratch_.all());
  MustBegin("an update");
  for (size_t t = 0; t < step_.keys.size(); ++t) {
    GpuTable& table = *turn.tables()[t];
    const uint64_t hits = step_.keys[t] - forward.of_tables[t].positions;
    table.NoteLookup(step_.keys[t], hits, step_.here.empty() ? hits : step_.here[t]);
    table.NoteUpdate(step_.keys[t]);
  }
  has_step_ = false;
  return {};
}

Status EmbeddingGroup::Backward(std::span<const void* const> gradients, uint64_t step) {
  STRATA_TRY(CheckStep(/*has_bags=*/true, step));
  if (gradients.size() != names_.size()) {
    return Invalid(
        fmt::format("gradients of {} tables for a group of {}", gradients.size(), names_.size()));
  }
  for (size_t t = 0; t < gradients.size(); ++t) {
    if (step_.bags[t].bags != 0 && gradients[t] == nullptr) {
      return Invalid(fmt::format("the bags of table '{}' have no gradients (null)", names_[t]));
    }
  }
  return Finish(step, [&](const TableGroup& group) {
    return GradientsOfBags(exec_, group, step_.bags, gradients, step_.type,
                           bag_gradients_.as<BagGradient>());
  });
}

Status EmbeddingGroup::Backward(const float* gradients, uint64_t step) {
  STRATA_TRY(CheckStep(/*has_bags=*/false, step));
  if (HasKeys(step_.keys) && !IsVector(gradients)) {
    return Invalid("gradients do not begin at a multiple of 16 bytes");
  }
  return Finish(step, [&](const TableGroup&) {
    BatchGradients given;
    given.values = gradients;
    return given;
  });
}

}  // namespace strata
