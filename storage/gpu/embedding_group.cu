#include <algorithm>
#include <ranges>

#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/embedding_group.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/gpu_table.h"

namespace strata {

// The tables, locked.
class LocalEmbeddingGroup::Turn {
 public:
  explicit Turn(LocalEmbeddingGroup& group)
      : group_(group), device_(group.exec_.ordinal), lent_(group.exec_, group.done_) {}

  Status Begin() {
    STRATA_ASSIGN(entries_, group_.store_.Find(group_.names_));
    locks_ = LocalStore::Locks(entries_);
    return lent_.Lend(entries_, group_.specs_);
  }
  const LentTables& lent() const { return lent_; }

 private:
  LocalEmbeddingGroup& group_;
  const DeviceScope device_;
  LocalStore::Entries entries_;
  LocalStore::Locks locks_;
  LentTables lent_;  // goes first
};

Result<std::unique_ptr<EmbeddingGroup>> EmbeddingGroup::Open(TableStore& store,
                                                             std::span<const std::string> tables,
                                                             const Exec& exec) {
  STRATA_TRY(CheckNames(tables));
  auto* const local = dynamic_cast<LocalStore*>(&store);
  if (local == nullptr) return Invalid("a group of embeddings takes a store of this process");
  if (exec.device != DeviceKind::kCuda) return Invalid("a group of embeddings works on a GPU");
  STRATA_TRY(CheckDevice(exec.ordinal));
  auto group = std::make_unique<LocalEmbeddingGroup>(*local, tables, exec);
  STRATA_TRY(CatchGpuFault([&] { return group->Start(); }));
  return Result<std::unique_ptr<EmbeddingGroup>>(std::move(group));
}

Status LocalEmbeddingGroup::Start() {
  const DeviceScope device(exec_.ordinal);
  STRATA_ASSIGN(done_, MakeEvent());
  STRATA_TRY(batch_.Make());
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  STRATA_ASSIGN(specs_, turn.lent().Specs());
  return {};
}

LocalEmbeddingGroup::~LocalEmbeddingGroup() {
  const DeviceScope device(exec_.ordinal);
  (void)cudaStreamSynchronize(StreamOf(exec_));
  if (done_ != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(done_));
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
                    .stride = table.map.dim,
                    .vector_stride = table.map.dim});
  }
  return bags;
}

}  // namespace

Status LocalEmbeddingGroup::DoLookUp(const BagBatch& batch) {
  STRATA_TRY(CheckBags(specs_, batch));
  has_step_ = false;
  {
    Turn turn(*this);
    STRATA_TRY(turn.Begin());
    if (!turn.lent().HasTiersBelow()) {
      PoolRows(exec_, PooledOf(turn.lent().GroupOf(KeysOf(batch)), batch), batch.type);
      MustBegin("a pooled lookup");
      return {};
    }
  }
  STRATA_TRY(ForwardBags(batch));
  has_step_ = false;
  return {};
}

Result<bool> LocalEmbeddingGroup::MakeResident(Turn& turn) {
  const LentTables& lent = turn.lent();
  const size_t tables = names_.size();
  const auto lacks = [&](size_t t) {
    return lent.tables()[t]->HasTiersBelow() && batch_.missing(t).keys != 0;
  };
  const auto all = std::views::iota(size_t{0}, tables);
  if (std::ranges::none_of(all, lacks)) return false;
  const TableGroup group = lent.GroupOf(batch_.keys());
  STRATA_TRY(listed_places_.ReserveFor<uint64_t>(group.keys));
  STRATA_TRY(listed_keys_.ReserveFor<Key>(group.keys));
  STRATA_TRY(listed_counts_.ReserveFor<ListedKeys::Counts>(tables));
  const ListedKeys listed{listed_places_.as<uint64_t>(), listed_keys_.as<Key>(),
                          listed_counts_.as<ListedKeys::Counts>()};
  ListByTable(exec_, group, batch_.distinct(), listed);
  MustBegin("the keys of a batch by table");
  std::vector<ListedKeys::Counts> counts(tables);
  CopyDown<ListedKeys::Counts>(exec_, listed.counts, counts);
  Must(FromCuda(cudaStreamSynchronize(StreamOf(exec_)), "the GPU"));
  for (const size_t t : all) {
    if (!lacks(t)) continue;
    const uint64_t first = group.tables[t].first_key;
    STRATA_TRY(lent.tables()[t]->MakeResident({listed.places + first, counts[t].places},
                                              {listed.keys + first, counts[t].keys}));
  }
  batch_.LocateAgain(lent);
  batch_.WaitForCounts();
  return true;
}

Status LocalEmbeddingGroup::Begin(Turn& turn, const Key* keys, std::span<const uint64_t> counts,
                                  float* rows, void* ready) {
  has_step_ = false;
  STRATA_TRY(turn.Begin());
  const LentTables& lent = turn.lent();
  STRATA_TRY(batch_.Begin(lent, keys, counts, rows, ready));
  step_ = Step();
  if (lent.HasTiersBelow()) {
    batch_.WaitForCounts();
    step_.here = batch_.Hits();
    STRATA_ASSIGN(const bool came, MakeResident(turn));
    if (came && rows != nullptr) {
      PoolRows(exec_, RowsAsBags(lent.GroupOf(counts), keys, rows), PooledType::kFloat32);
      MustBegin("rows of a batch");
    }
  }
  return {};
}

Status LocalEmbeddingGroup::ForwardRows(const RowBatch& batch) {
  STRATA_TRY(CheckKeys(names_.size(), batch.keys, batch.counts));
  if (HasKeys(batch.counts) && !IsVector(batch.rows)) {
    return Invalid("rows do not begin at a multiple of 16 bytes");
  }
  Turn turn(*this);
  STRATA_TRY(Begin(turn, batch.keys, batch.counts, batch.rows, nullptr));
  has_step_ = true;
  return {};
}

Status LocalEmbeddingGroup::ForwardBags(const BagBatch& batch) {
  STRATA_TRY(CheckBags(specs_, batch));
  const std::vector<uint64_t> keys = KeysOf(batch);
  Turn turn(*this);
  STRATA_TRY(Begin(turn, batch.keys, keys, nullptr, batch.ready));
  const TableGroup group = turn.lent().GroupOf(keys);
  STRATA_TRY(bag_gradients_.ReserveFor<BagGradient>(group.keys));
  step_.bags = PooledOf(group, batch);
  step_.type = batch.type;
  PoolRows(exec_, step_.bags, step_.type);
  MustBegin("a pooled lookup");
  has_step_ = true;
  return {};
}

Status LocalEmbeddingGroup::CheckStep(bool has_bags, uint64_t step) const {
  if (!has_step_) return Invalid("Backward without a Forward before it");
  if (has_bags == step_.bags.empty()) {
    return Invalid(has_bags ? "gradients of bags for a Forward of rows"
                            : "gradients of rows for a Forward of bags");
  }
  if (step == 0) return Invalid("Backward at step 0; steps begin with 1");
  return {};
}

template <typename GradientsOf>
Status LocalEmbeddingGroup::Finish(uint64_t step, const GradientsOf& gradients_of) {
  const DeviceScope device(exec_.ordinal);
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  const LentTables& lent = turn.lent();
  batch_.WaitForCounts();
  const std::vector<uint64_t> hits = batch_.Hits();
  if (!batch_.IsCurrent(lent)) {
    batch_.LocateAgain(lent);
    batch_.WaitForCounts();
    STRATA_TRY(MakeResident(turn).status());
  }
  STRATA_TRY(batch_.MakeRoom(lent));
  batch_.Update(lent, specs_[0].optimizer, step, gradients_of(lent.GroupOf(batch_.keys())));
  batch_.Note(lent, hits, step_.here.empty() ? hits : step_.here);
  has_step_ = false;
  return {};
}

Status LocalEmbeddingGroup::BackwardBags(std::span<const void* const> gradients, uint64_t step) {
  STRATA_TRY(CheckStep(/*has_bags=*/true, step));
  STRATA_TRY(CheckGradients(specs_, step_.bags, step_.type, gradients));
  return Finish(step, [&](const TableGroup& group) {
    const auto of_slots = GradientsOfSlots(step_.bags, gradients, step_.type);
    if (of_slots.has_value()) return *of_slots;
    return GradientsOfBags(exec_, group, step_.bags, gradients, step_.type,
                           bag_gradients_.as<BagGradient>());
  });
}

Status LocalEmbeddingGroup::BackwardRows(const float* gradients, uint64_t step) {
  STRATA_TRY(CheckStep(/*has_bags=*/false, step));
  if (HasKeys(batch_.keys()) && !IsVector(gradients)) {
    return Invalid("gradients do not begin at a multiple of 16 bytes");
  }
  return Finish(step, [&](const TableGroup&) {
    BatchGradients given;
    given.values = gradients;
    return given;
  });
}

Status LocalEmbeddingGroup::Forward(const BagBatch& batch) {
  return guard_.Run([&] { return ForwardBags(batch); });
}
Status LocalEmbeddingGroup::Forward(const RowBatch& batch) {
  return guard_.Run([&] { return ForwardRows(batch); });
}
Status LocalEmbeddingGroup::Backward(std::span<const void* const> gradients, uint64_t step) {
  return guard_.Run([&] { return BackwardBags(gradients, step); });
}
Status LocalEmbeddingGroup::Backward(const float* gradients, uint64_t step) {
  return guard_.Run([&] { return BackwardRows(gradients, step); });
}
Status LocalEmbeddingGroup::LookUp(const BagBatch& batch) {
  return guard_.Run([&] { return DoLookUp(batch); });
}

}  // namespace strata
