#include <deque>

#include "base/human_text.h"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/peer_access.cuh"
#include "kernels/sparse/bag_gradients.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/gpu_table.h"
#include "storage/gpu/group_batch.h"
#include "storage/gpu/lent_tables.h"
#include "storage/gpu/spread_group.h"

namespace strata {
namespace {

constexpr size_t kShards = size_t{1} << kOwnerShardBits;

void Record(cudaEvent_t event, const Exec& exec) {
  Must(FromCuda(cudaEventRecord(event, StreamOf(exec)), "the GPU"));
}
void WaitFor(cudaEvent_t event) { Must(FromCuda(cudaEventSynchronize(event), "the GPU")); }

Status CheckStores(std::span<LocalStore* const> stores, std::span<const Exec> execs) {
  if (stores.empty() || stores.size() > kRanksMax) {
    return Invalid(fmt::format("tables are spread over 1 to {} stores, a GPU each, not {}",
                               kRanksMax, stores.size()));
  }
  if (execs.size() != stores.size()) {
    return Invalid(fmt::format("{} and {}; each store has a GPU and a stream there",
                               Counted(stores.size(), "store"), Counted(execs.size(), "stream")));
  }
  for (size_t i = 0; i < stores.size(); ++i) {
    if (stores[i] == nullptr) {
      return Invalid(fmt::format("store {} is null, or not a store of this process", i));
    }
    if (execs[i].device != DeviceKind::kCuda) {
      return Invalid(fmt::format("the stream of store {} is not a GPU's", i));
    }
    STRATA_TRY(CheckDevice(execs[i].ordinal).Prefixed(fmt::format("store {}", i)));
    for (size_t before = 0; before < i; ++before) {
      if (stores[before] == stores[i]) {
        return Invalid(
            fmt::format("stores {} and {} are the same one; make one for each GPU", before, i));
      }
      if (execs[before].ordinal == execs[i].ordinal) {
        return Invalid(
            fmt::format("stores {} and {} are both on GPU {}; a group has one store on each GPU",
                        before, i, execs[i].ordinal));
      }
    }
  }
  return {};
}

Status CheckShards(std::span<const uint16_t> owner_of_shard, size_t gpus) {
  if (owner_of_shard.size() != kShards) {
    return Invalid(fmt::format("owners of {}; there are {}",
                               Counted(owner_of_shard.size(), "shard"), kShards));
  }
  for (size_t shard = 0; shard < kShards; ++shard) {
    if (owner_of_shard[shard] >= gpus) {
      return Invalid(fmt::format("shard {} is owned by GPU {} of the group, which has {}", shard,
                                 owner_of_shard[shard], gpus));
    }
  }
  return {};
}

Status LetReadEachOther(std::span<const Exec> execs) {
  std::vector<int> gpus;
  for (const Exec& exec : execs) gpus.push_back(exec.ordinal);
  STRATA_ASSIGN(const auto unreachable, FindUnreachable(gpus));
  if (!unreachable.has_value()) return LetReachEachOther(gpus);
  return Failed(
      fmt::format("GPU {} cannot read the memory of GPU {} ('nvidia-smi topo -p2p r' shows which "
                  "can); spread tables over GPUs that all can, or keep them on one",
                  unreachable->first, unreachable->second));
}

// The tables as a rank's batch is cut and its gradients are found: no row is looked for.
TableGroup GroupOfRank(std::span<const TableSpec> specs, std::span<const uint64_t> keys) {
  TableGroup group;
  for (size_t t = 0; t < specs.size(); ++t) {
    MapRef map;
    map.dim = specs[t].dim;
    group.Add(map, RowStart(), keys[t]);
  }
  return group;
}

}  // namespace

// A GPU of the group. Which memory is read by others: collect_parts.h.
struct LocalSpreadGroup::Gpu {
  Gpu(LocalStore& its_store, const Exec& its_exec)
      : store(its_store), exec(its_exec), batch(its_exec) {}
  ~Gpu() {
    for (cudaEvent_t event : {done, cut, told}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Partition partition() const {
    return {order.as<uint32_t>(), cut_keys.as<uint64_t>(), cut_counts.as<uint32_t>()};
  }
  OwnerBatch owned() const {
    return {keys.as<uint64_t>(), bags.as<BagGradient>(), part_ends.as<uint32_t>(),
            firsts.as<uint32_t>()};
  }
  // Of the keys of its batch those of owner i / tables in table i % tables, as the host knows.
  uint32_t KeysAt(size_t i) const { return host_ends[i] - (i == 0 ? 0 : host_ends[i - 1]); }

  LocalStore& store;
  const Exec exec;
  cudaEvent_t done = nullptr;
  cudaEvent_t cut = nullptr;   // the host knows the ends
  cudaEvent_t told = nullptr;  // the GPU has the maps

  // As a rank.
  std::vector<uint64_t> rank_keys;  // by table
  std::vector<PooledTable> pooled;
  std::shared_ptr<float[]> host_memory;  // pinned, for
  uint32_t* host_ends = nullptr;
  DeviceBuffer owner_of_shard;
  DeviceBuffer order;
  DeviceBuffer cut_keys;
  DeviceBuffer cut_counts;
  DeviceBuffer ends;
  DeviceBuffer cut_scratch;
  DeviceBuffer rank_bags;
  DeviceBuffer maps;  // of all owners, table by table

  // As an owner.
  GroupBatch batch;
  DeviceBuffer keys;
  DeviceBuffer bags;
  DeviceBuffer part_ends;
  DeviceBuffer firsts;
};

// The tables of all stores, locked.
class LocalSpreadGroup::Turn {
 public:
  explicit Turn(const LocalSpreadGroup& group) : group_(group) {}
  ~Turn() {
    // A table is given back when its own GPU is done: all who read its rows are then.
    if (!lent_.empty()) group_.Meet();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Status Begin() {
    LocalStore::Entries all;
    for (size_t i = 0; i < group_.gpus_.size(); ++i) {
      auto entries = group_.gpus_[i]->store.Find(group_.names_);
      if (!entries.ok()) return entries.status().Prefixed(fmt::format("store {}", i));
      all.insert(all.end(), entries->begin(), entries->end());
      entries_.push_back(std::move(*entries));
    }
    locks_ = LocalStore::Locks(all);
    for (size_t i = 0; i < group_.gpus_.size(); ++i) {
      STRATA_TRY(CheckTiers(entries_[i]).Prefixed(fmt::format("store {}", i)));
    }
    for (size_t i = 0; i < group_.gpus_.size(); ++i) {
      const Gpu& gpu = *group_.gpus_[i];
      LentTables& lent = lent_.emplace_back(gpu.exec, gpu.done);
      STRATA_TRY(lent.Lend(entries_[i], group_.specs_).Prefixed(fmt::format("store {}", i)));
    }
    return {};
  }
  const LentTables& lent(size_t gpu) const { return lent_[gpu]; }

 private:
  static Status CheckTiers(const LocalStore::Entries& entries) {
    for (const auto& entry : entries) {
      const auto* of_gpu = dynamic_cast<const GpuTable*>(entry->table.get());
      if (of_gpu == nullptr || !of_gpu->HasTiersBelow()) continue;
      return Refused(
          fmt::format("table '{}' has tiers below the GPU's memory, and tables over several GPUs "
                      "have none yet: make the stores without (host_memory_bytes_max)",
                      of_gpu->spec().name));
    }
    return {};
  }

  const LocalSpreadGroup& group_;
  std::vector<LocalStore::Entries> entries_;
  LocalStore::Locks locks_;
  std::deque<LentTables> lent_;  // goes first
};

std::vector<uint16_t> SpreadGroup::EvenShards(size_t gpus) {
  std::vector<uint16_t> owners(kShards);
  for (size_t shard = 0; shard < kShards; ++shard) {
    owners[shard] = static_cast<uint16_t>(shard * gpus / kShards);
  }
  return owners;
}

Result<std::unique_ptr<SpreadGroup>> SpreadGroup::Open(std::span<TableStore* const> stores,
                                                       std::span<const std::string> tables,
                                                       std::span<const Exec> execs,
                                                       std::span<const uint16_t> owner_of_shard) {
  STRATA_TRY(CheckNames(tables));
  std::vector<LocalStore*> local;
  for (TableStore* const store : stores) {
    local.push_back(dynamic_cast<LocalStore*>(store));
  }
  STRATA_TRY(CheckStores(local, execs));
  const std::vector<uint16_t> even = EvenShards(stores.size());
  if (owner_of_shard.empty()) owner_of_shard = even;
  STRATA_TRY(CheckShards(owner_of_shard, stores.size()));
  STRATA_TRY(LetReadEachOther(execs));
  auto group = std::make_unique<LocalSpreadGroup>(tables, owner_of_shard);
  STRATA_TRY(CatchGpuFault([&] { return group->Make(local, execs); }));
  return Result<std::unique_ptr<SpreadGroup>>(std::move(group));
}

LocalSpreadGroup::LocalSpreadGroup(std::span<const std::string> names,
                                   std::span<const uint16_t> owner_of_shard)
    : names_(names.begin(), names.end()),
      owner_of_shard_(owner_of_shard.begin(), owner_of_shard.end()) {}

LocalSpreadGroup::~LocalSpreadGroup() {
  // All of them, before memory goes that others read.
  for (const auto& gpu : gpus_) {
    const DeviceScope device(gpu->exec.ordinal);
    (void)cudaStreamSynchronize(StreamOf(gpu->exec));
  }
}

Status LocalSpreadGroup::Make(std::span<LocalStore* const> stores, std::span<const Exec> execs) {
  const auto pinned = PinnedPool::Make();
  const size_t tables = names_.size();
  for (size_t i = 0; i < stores.size(); ++i) {
    gpus_.push_back(std::make_unique<Gpu>(*stores[i], execs[i]));
    Gpu& gpu = *gpus_.back();
    const DeviceScope device(gpu.exec.ordinal);
    for (cudaEvent_t* event : {&gpu.done, &gpu.cut, &gpu.told}) {
      STRATA_ASSIGN(*event, MakeEvent());
    }
    STRATA_TRY(gpu.batch.Make());
    gpu.host_memory = pinned->Take(stores.size() * tables);
    gpu.host_ends = reinterpret_cast<uint32_t*>(gpu.host_memory.get());
    STRATA_TRY(gpu.owner_of_shard.ReserveFor<uint16_t>(kShards));
    CopyUp<uint16_t>(gpu.exec, owner_of_shard_, gpu.owner_of_shard.as<uint16_t>());
    STRATA_TRY(gpu.cut_counts.ReserveFor<uint32_t>(stores.size()));
    STRATA_TRY(gpu.ends.ReserveFor<uint32_t>(stores.size() * tables));
    STRATA_TRY(gpu.maps.ReserveFor<MapRef>(stores.size() * tables));
    STRATA_TRY(gpu.part_ends.ReserveFor<uint32_t>(stores.size() * tables));
    STRATA_TRY(gpu.firsts.ReserveFor<uint32_t>(stores.size() * tables));
  }
  host_maps_ = pinned->Take(stores.size() * tables * sizeof(MapRef) / sizeof(float));
  return CheckTables();
}

Status LocalSpreadGroup::CheckTables() {
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  for (size_t i = 1; i < gpus_.size(); ++i) {
    for (size_t t = 0; t < names_.size(); ++t) {
      const TableSpec& first = turn.lent(0).tables()[t]->spec();
      const TableSpec& other = turn.lent(i).tables()[t]->spec();
      if (first == other) continue;
      return Invalid(
          fmt::format("table '{}' of store {} has another definition than in store 0: {}",
                      names_[t], i, DifferenceOf(other, first)));
    }
  }
  STRATA_ASSIGN(specs_, turn.lent(0).Specs());
  return {};
}

Status LocalSpreadGroup::CheckBatches(std::span<const BagBatch> batches) const {
  if (batches.size() != gpus_.size()) {
    return Invalid(fmt::format("batches of {} for a group of {}; each has one, which may be empty",
                               Counted(batches.size(), "GPU"), gpus_.size()));
  }
  uint64_t keys = 0;
  for (size_t r = 0; r < batches.size(); ++r) {
    STRATA_TRY(CheckBags(specs_, batches[r]).Prefixed(fmt::format("the batch of GPU {}", r)));
    if (batches[r].type != batches[0].type) {
      return Invalid(
          fmt::format("the vectors of batches 0 and {} are of different types; all are of one", r));
    }
    for (const uint64_t count : KeysOf(batches[r])) keys += count;
  }
  if (keys >= INT32_MAX) {
    return Invalid(fmt::format("batches of {} keys; at most {} go into those of all GPUs together",
                               keys, INT32_MAX - 1));
  }
  return {};
}

void LocalSpreadGroup::Meet() const {
  for (const auto& gpu : gpus_) {
    const DeviceScope device(gpu->exec.ordinal);
    Record(gpu->done, gpu->exec);
  }
  for (const auto& gpu : gpus_) {
    const DeviceScope device(gpu->exec.ordinal);
    for (const auto& other : gpus_) {
      if (other == gpu) continue;
      Must(FromCuda(cudaStreamWaitEvent(StreamOf(gpu->exec), other->done), "the GPU"));
    }
  }
}

Status LocalSpreadGroup::Cut(std::span<const BagBatch> batches) {
  const auto owners = static_cast<uint32_t>(gpus_.size());
  for (size_t r = 0; r < gpus_.size(); ++r) {
    Gpu& gpu = *gpus_[r];
    const DeviceScope device(gpu.exec.ordinal);
    gpu.rank_keys = KeysOf(batches[r]);
    const TableGroup group = GroupOfRank(specs_, gpu.rank_keys);
    STRATA_TRY(gpu.order.ReserveFor<uint32_t>(group.keys));
    STRATA_TRY(gpu.cut_keys.ReserveFor<uint64_t>(group.keys));
    STRATA_TRY(gpu.rank_bags.ReserveFor<BagGradient>(group.keys));
    STRATA_TRY(gpu.cut_scratch.Reserve(PartitionScratchBytes(group.keys, owners)));
    auto* ends = gpu.ends.as<uint32_t>();
    PartitionByOwner(gpu.exec, {batches[r].keys, group.keys}, gpu.owner_of_shard.as<uint16_t>(),
                     owners, gpu.partition(), gpu.cut_scratch.all());
    MarkTables(gpu.exec, group, owners, gpu.partition(), ends);
    MustBegin("the owners of keys");
    CopyDown<uint32_t>(gpu.exec, ends, {gpu.host_ends, owners * names_.size()});
    Record(gpu.cut, gpu.exec);
  }
  for (const auto& gpu : gpus_) WaitFor(gpu->cut);
  return {};
}

std::vector<RankBatch> LocalSpreadGroup::Ranks() const {
  std::vector<RankBatch> ranks;
  for (const auto& gpu : gpus_) {
    ranks.push_back(
        {.partition = gpu->partition(), .ends = gpu->ends.as<uint32_t>(), .gradients = {}});
  }
  return ranks;
}

Status LocalSpreadGroup::Collect(Turn& turn) {
  const std::vector<RankBatch> ranks = Ranks();
  const size_t tables = names_.size();
  for (size_t o = 0; o < gpus_.size(); ++o) {
    Gpu& gpu = *gpus_[o];
    const DeviceScope device(gpu.exec.ordinal);
    std::vector<uint64_t> counts(tables);
    for (size_t t = 0; t < tables; ++t) {
      for (const auto& rank : gpus_) counts[t] += rank->KeysAt(o * tables + t);
    }
    const TableGroup group = turn.lent(o).GroupOf(counts);
    STRATA_TRY(gpu.keys.ReserveFor<uint64_t>(group.keys));
    STRATA_TRY(gpu.bags.ReserveFor<BagGradient>(group.keys));
    CollectKeys(gpu.exec, ranks, static_cast<uint32_t>(o), group, gpu.owned());
    STRATA_TRY(gpu.batch.Begin(turn.lent(o), gpu.owned().keys, counts, nullptr, nullptr));
  }
  return {};
}

void LocalSpreadGroup::Pool(Turn& turn, std::span<const BagBatch> batches) {
  const size_t tables = names_.size();
  const size_t gpus = gpus_.size();
  auto* maps = reinterpret_cast<MapRef*>(host_maps_.get());
  for (const auto& gpu : gpus_) WaitFor(gpu->told);  // of an earlier call
  for (size_t i = 0; i < tables * gpus; ++i)
    maps[i] = turn.lent(i % gpus).tables()[i / gpus]->map();
  for (size_t r = 0; r < gpus; ++r) {
    Gpu& gpu = *gpus_[r];
    const DeviceScope device(gpu.exec.ordinal);
    CopyUp<MapRef>(gpu.exec, {maps, tables * gpus}, gpu.maps.as<MapRef>());
    Record(gpu.told, gpu.exec);
    gpu.pooled = PooledOf(turn.lent(r).GroupOf(KeysOf(batches[r])), batches[r]);
    for (size_t t = 0; t < tables; ++t) {
      gpu.pooled[t].maps = gpu.maps.as<MapRef>() + t * gpus;
      gpu.pooled[t].owner_of_shard = gpu.owner_of_shard.as<uint16_t>();
    }
    PoolRows(gpu.exec, gpu.pooled, batches[r].type);
    MustBegin("a pooled lookup");
  }
}

Status LocalSpreadGroup::DoLookUp(std::span<const BagBatch> batches) {
  STRATA_TRY(CheckBatches(batches));
  has_step_ = false;
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  Meet();
  Pool(turn, batches);
  return {};
}

Status LocalSpreadGroup::DoForward(std::span<const BagBatch> batches) {
  STRATA_TRY(CheckBatches(batches));
  has_step_ = false;
  STRATA_TRY(Cut(batches));
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  Meet();
  STRATA_TRY(Collect(turn));
  Pool(turn, batches);
  type_ = batches[0].type;
  has_step_ = true;
  return {};
}

Status LocalSpreadGroup::Settle(Turn& turn) {
  std::vector<Gpu*> behind;
  for (size_t o = 0; o < gpus_.size(); ++o) {
    if (gpus_[o]->batch.IsCurrent(turn.lent(o))) continue;
    const DeviceScope device(gpus_[o]->exec.ordinal);
    gpus_[o]->batch.LocateAgain(turn.lent(o));
    behind.push_back(gpus_[o].get());
  }
  for (Gpu* gpu : behind) gpu->batch.WaitForCounts();
  for (size_t o = 0; o < gpus_.size(); ++o) {
    const DeviceScope device(gpus_[o]->exec.ordinal);
    STRATA_TRY(gpus_[o]->batch.MakeRoom(turn.lent(o)).Prefixed(fmt::format("store {}", o)));
  }
  return {};
}

Status LocalSpreadGroup::DoBackward(std::span<const std::span<const void* const>> gradients,
                                    uint64_t step) {
  if (!has_step_) return Invalid("Backward without a Forward before it");
  if (step == 0) return Invalid("Backward at step 0; steps begin with 1");
  if (gradients.size() != gpus_.size()) {
    return Invalid(fmt::format("gradients of {} for a group of {}",
                               Counted(gradients.size(), "GPU"), gpus_.size()));
  }
  for (size_t r = 0; r < gpus_.size(); ++r) {
    STRATA_TRY(CheckGradients(specs_, gpus_[r]->pooled, type_, gradients[r])
                   .Prefixed(fmt::format("the batch of GPU {}", r)));
  }
  Turn turn(*this);
  STRATA_TRY(turn.Begin());
  std::vector<std::vector<uint64_t>> hits;
  for (const auto& gpu : gpus_) {
    gpu->batch.WaitForCounts();
    hits.push_back(gpu->batch.Hits());
  }
  STRATA_TRY(Settle(turn));
  std::vector<RankBatch> ranks = Ranks();
  for (size_t r = 0; r < gpus_.size(); ++r) {
    Gpu& gpu = *gpus_[r];
    const DeviceScope device(gpu.exec.ordinal);
    ranks[r].gradients = GradientsOfBags(gpu.exec, GroupOfRank(specs_, gpu.rank_keys), gpu.pooled,
                                         gradients[r], type_, gpu.rank_bags.as<BagGradient>());
    MustBegin("gradients of bags");
  }
  Meet();
  for (size_t o = 0; o < gpus_.size(); ++o) {
    Gpu& gpu = *gpus_[o];
    const DeviceScope device(gpu.exec.ordinal);
    const LentTables& lent = turn.lent(o);
    const TableGroup group = lent.GroupOf(gpu.batch.keys());
    gpu.batch.Update(lent, specs_[0].optimizer, step,
                     CollectBags(gpu.exec, ranks, group, gpu.owned()));
    gpu.batch.Note(lent, hits[o], hits[o]);
  }
  has_step_ = false;
  return {};
}

Status LocalSpreadGroup::Forward(std::span<const BagBatch> batches) {
  return guard_.Run([&] { return DoForward(batches); });
}
Status LocalSpreadGroup::Backward(std::span<const std::span<const void* const>> gradients,
                                  uint64_t step) {
  return guard_.Run([&] { return DoBackward(gradients, step); });
}
Status LocalSpreadGroup::LookUp(std::span<const BagBatch> batches) {
  return guard_.Run([&] { return DoLookUp(batches); });
}

}  // namespace strata
