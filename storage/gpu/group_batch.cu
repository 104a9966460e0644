#include <algorithm>

#include "kernels/core/cuda_stream.cuh"
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
  host_ = PinnedPool::Make()->Take(sizeof(Counts) / sizeof(float));
  counts_ = reinterpret_cast<Counts*>(host_.get());
  STRATA_TRY(device_counts_.ReserveFor<Counts>(1));
  Clear(exec_, device_counts_.as<Counts>(), sizeof(Counts));  // those of tables that are not there
  return {};
}

GroupBatch::~GroupBatch() {
  if (counted_ != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(counted_));
}

DistinctKeys GroupBatch::distinct() const {
  return distinct_.With(&device_counts_.as<Counts>()->batch);
}

const Misses& GroupBatch::missing(size_t t) const { return counts_->of_tables[t]; }

std::vector<uint64_t> GroupBatch::Hits() const {
  std::vector<uint64_t> hits;
  for (size_t t = 0; t < keys_.size(); ++t) hits.push_back(keys_[t] - missing(t).positions);
  return hits;
}

// All that Update takes, too.
Status GroupBatch::Begin(const LentTables& lent, const Key* keys, std::span<const uint64_t> counts,
                         float* rows) {
  const TableGroup group = lent.GroupOf(counts);
  const size_t all = group.keys;
  STRATA_TRY(distinct_.Reserve(all));
  STRATA_TRY(
      scratch_.Reserve(std::max(CombineScratchBytes(all), UpdateScratchBytes(all, group.dim_max))));
  CombineBatch(exec_, group, keys, rows, distinct(), scratch_.all());
  CountMissing(group);
  MustBegin("the keys of a batch");
  keys_.assign(counts.begin(), counts.end());
  generations_ = lent.Generations();
  return {};
}

// Enqueues that the host gets to know them.
void GroupBatch::CountMissing(const TableGroup& group) {
  auto* counts = device_counts_.as<Counts>();
  CountMisses(exec_, group, distinct(), counts->of_tables);
  CopyDown<Counts>(exec_, counts, {counts_, 1});
  Must(FromCuda(cudaEventRecord(static_cast<cudaEvent_t>(counted_), StreamOf(exec_)), "the GPU"));
}

void GroupBatch::WaitForCounts() const {
  Must(FromCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(counted_)), "the GPU"));
}

void GroupBatch::LocateAgain(const LentTables& lent) {
  const TableGroup group = lent.GroupOf(keys_);
  strata::LocateAgain(exec_, group, distinct());
  CountMissing(group);
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
  UpdateRows(exec_, lent.GroupOf(keys_), optimizer, step, distinct(), gradients, scratch_.all());
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
