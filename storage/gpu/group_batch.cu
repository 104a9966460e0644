#include <algorithm>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/key_bins.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/gpu_table.h"
#include "storage/gpu/group_batch.h"

namespace strata {

// As they lie on the GPU, too.
struct GroupBatch::Counts {
  DistinctCounts batch;
  Misses of_tables[kGroupTablesMax];
};

Status GroupBatch::Make() {
  STRATA_ASSIGN(counted_, MakeEvent());
  STRATA_ASSIGN(beside_, MakeStream());
  host_ = PinnedPool::Make()->Take(sizeof(Counts) / sizeof(float));
  counts_ = reinterpret_cast<Counts*>(host_.get());
  for (Combined& combined : combined_) STRATA_TRY(Make(&combined));
  return {};
}

Status GroupBatch::Make(Combined* combined) const {
  STRATA_ASSIGN(combined->left, MakeEvent());
  STRATA_TRY(combined->counts.ReserveFor<Counts>(1));
  // Counts of tables that the group does not have stay 0.
  Clear(exec_, combined->counts.as<Counts>(), sizeof(Counts));
  return {};
}

GroupBatch::~GroupBatch() {
  if (beside_ != nullptr) {
    (void)cudaStreamSynchronize(static_cast<cudaStream_t>(beside_));
    (void)cudaStreamDestroy(static_cast<cudaStream_t>(beside_));
  }
  for (void* const event : {counted_, combined_[0].left, combined_[1].left}) {
    if (event != nullptr) (void)cudaEventDestroy(EventOf(event));
  }
}

DistinctKeys GroupBatch::distinct() const {
  return current().distinct.With(&current().counts.as<Counts>()->batch);
}

const Misses& GroupBatch::missing(size_t t) const { return counts_->of_tables[t]; }

std::vector<uint64_t> GroupBatch::Hits() const {
  std::vector<uint64_t> hits;
  for (size_t t = 0; t < keys_.size(); ++t) hits.push_back(keys_[t] - missing(t).positions);
  return hits;
}

// All that Update takes, too.
Status GroupBatch::Begin(const LentTables& lent, const Key* keys, std::span<const uint64_t> counts,
                         float* rows, void* ready) {
  const TableGroup group = lent.GroupOf(counts);
  const size_t all = group.keys;
  if (is_beside_) {  // a batch before, that is given up
    Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec_), EventOf(counted_)), "the GPU"));
    is_beside_ = false;
  }
  if (rows == nullptr && ready != nullptr) {
    STRATA_ASSIGN(is_beside_, BeginBeside(lent, group, keys, ready));
  }
  if (is_beside_) {
    STRATA_TRY(scratch_.Reserve(UpdateScratchBytes(all, group.dim_max)));
  } else {
    STRATA_TRY(current().distinct.Reserve(all));
    STRATA_TRY(scratch_.Reserve(
        std::max(CombineScratchBytes(all), UpdateScratchBytes(all, group.dim_max))));
    CombineBatch(exec_, group, keys, rows, distinct(), scratch_.all());
    CountMissing(exec_, group);
  }
  MustBegin("the keys of a batch");
  keys_.assign(counts.begin(), counts.end());
  generations_ = lent.Generations();
  return {};
}

Result<bool> GroupBatch::BeginBeside(const LentTables& lent, const TableGroup& group,
                                     const Key* keys, void* ready) {
  // Fewer keys make so few tiles that dealing them takes longer than all that runs beside.
  constexpr size_t kKeysMin = size_t{1} << 17;
  if (group.keys < kKeysMin) return false;
  const BinPlan plan(group);
  if (!plan.Fits(exec_)) return false;
  void* const left = current().left;
  Must(FromCuda(cudaEventRecord(EventOf(left), StreamOf(exec_)), "the GPU"));
  current_ = 1 - current_;
  STRATA_TRY(current().distinct.Reserve(group.keys));
  STRATA_TRY(beside_scratch_.Reserve(BinScratchBytes(group.keys)));
  const auto wait_for = [&](void* event) {
    Must(FromCuda(cudaStreamWaitEvent(StreamOf(beside()), EventOf(event)), "the GPU"));
  };
  wait_for(current().left);
  wait_for(ready);
  CombineByBins(beside(), plan, keys, distinct(), beside_scratch_.all());
  wait_for(left);  // rows are looked for once the batch before has updated them
  FindDistinct(beside(), group, distinct());
  CountMissing(beside(), group);
  // The stream of exec_ does not wait for it. Whoever has the tables next does.
  for (GpuTable* table : lent.tables()) table->TakeBack(counted_);
  return true;
}

// Enqueues that the host gets to know them.
void GroupBatch::CountMissing(const Exec& exec, const TableGroup& group) {
  auto* counts = current().counts.as<Counts>();
  CountMisses(exec, group, distinct(), counts->of_tables);
  CopyDown<Counts>(exec, counts, {counts_, 1});
  Must(FromCuda(cudaEventRecord(EventOf(counted_), StreamOf(exec)), "the GPU"));
}

// The host has waited then, so that what it enqueues later comes later, on whatever stream.
void GroupBatch::WaitForCounts() {
  Must(FromCuda(cudaEventSynchronize(EventOf(counted_)), "the GPU"));
  is_beside_ = false;
}

void GroupBatch::LocateAgain(const LentTables& lent) {
  const TableGroup group = lent.GroupOf(keys_);
  strata::LocateAgain(exec_, group, distinct());
  CountMissing(exec_, group);
  generations_ = lent.Generations();
}

Status GroupBatch::MakeRoom(const LentTables& lent) {
  const TableGroup group = lent.GroupOf(keys_);
  bool moved = false;
  for (size_t t = 0; t < keys_.size(); ++t) {
    GpuTable& table = *lent.tables()[t];
    const uint32_t rows = missing(t).keys;
    if (rows != 0 && !table.HasTiersBelow()) STRATA_TRY(table.MakeRoomFor(exec_, rows));
    moved = moved || table.map().pairs() != group.tables[t].map.pairs();
    if (!table.in_snapshot()) continue;
    Must(FromCuda(cudaStreamSynchronize(StreamOf(exec_)), "the GPU"));
    STRATA_TRY(table.KeepForSnapshot(distinct().keys, counts_->batch.distinct));
  }
  if (moved) strata::LocateAgain(exec_, lent.GroupOf(keys_), distinct());
  return {};
}

void GroupBatch::Update(const LentTables& lent, const OptimizerSpec& optimizer, uint64_t step,
                        const BatchGradients& gradients) {
  DistinctKeys keys = distinct();
  keys.none_missing = true;
  for (size_t t = 0; t < keys_.size(); ++t) keys.none_missing &= missing(t).keys == 0;
  UpdateRows(exec_, lent.GroupOf(keys_), optimizer, step, keys, gradients, scratch_.all());
  MustBegin("an update");
}

void GroupBatch::Note(const LentTables& lent, std::span<const uint64_t> hits,
                      std::span<const uint64_t> here) const {
  for (size_t t = 0; t < keys_.size(); ++t) {
    GpuTable& table = *lent.tables()[t];
    table.NoteLookup(keys_[t], hits[t], here[t]);
    table.NoteUpdate(keys_[t]);
  }
}

}  // namespace strata
