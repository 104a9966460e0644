// Steps of training over tables whose rows are spread over GPUs by key, beside one GPU with all
// rows, which is given the ranks' batches as parts one after the other: the same bits. Owners and
// ranks share GPUs where there are fewer of them.
#include <limits>
#include <memory>

#include "kernels/core/cuda_status.cuh"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/bag_gradients.h"
#include "kernels/sparse/collect_parts.h"
#include "tests/kernels/sparse/bags.cuh"
#include "tests/kernels/sparse/update_model.cuh"

namespace strata {
namespace {

struct Case {
  std::vector<uint32_t> dims;
  uint32_t ranks = 2;
  uint32_t owners = 2;
  bool one_hot = false;
  bool weighted = false;
  Combiner combiner = Combiner::kSum;
  ElementType stored = ElementType::kFp32;
  uint32_t behind = 4;               // elements behind a sample's vectors
  uint32_t idle_rank = kRanksMax;    // has no samples
  uint32_t idle_owner = kOwnersMax;  // has no shards
};

constexpr OptimizerSpec kAdam{.kind = OptimizerKind::kAdam, .learning_rate = 0.1F};

void Wait(const Exec& exec) { ASSERT_EQ(cudaStreamSynchronize(StreamOf(exec)), cudaSuccess); }

// Owner 0 has most shards.
std::vector<uint16_t> DrawShards(const Case& of_case) {
  std::mt19937_64 random(of_case.owners);
  std::vector<uint16_t> owners(size_t{1} << kOwnerShardBits);
  for (uint16_t& owner : owners) {
    owner = static_cast<uint16_t>(random() % 3 == 0 ? 0 : random() % of_case.owners);
    if (owner == of_case.idle_owner) owner = 0;
  }
  return owners;
}

// A rank's batch in one step, on the calling thread's GPU.
template <typename T>
class Rank {
 public:
  Rank(std::mt19937_64& random, const Case& of_case, uint32_t number, const GroupUser& all,
       const std::vector<uint16_t>& owner_of_shard)
      : case_(of_case), all_(all), owner_of_shard_(owner_of_shard) {
    EXPECT_EQ(cudaGetDevice(&exec_.ordinal), cudaSuccess);
    exec_.device = DeviceKind::kCuda;
    exec_.stream = stream_.get();
    for (size_t t = 0; t < all.tables(); ++t) {
      // One table has no bags, and one a key that comes very often.
      const uint64_t samples = number == of_case.idle_rank || t == 1 ? 0
                               : t + 1 == all.tables()               ? 700
                                                                     : 20 + 7 * number;
      tables_.push_back(std::make_unique<TableBags<T>>(random, samples, of_case.one_hot,
                                                       static_cast<uint32_t>(t % 3 + 1), all.dim(t),
                                                       of_case.behind));
      keys.push_back(tables_.back()->bags.keys);
    }
    group = all.GroupOf(keys);
    const std::vector<uint64_t> joined = Joined(keys);
    on_device_ = std::make_unique<DeviceArray<uint64_t>>(joined);
    order_ = std::make_unique<DeviceArray<uint32_t>>(joined.size());
    cut_ = std::make_unique<DeviceArray<uint64_t>>(joined.size());
    counts_ = std::make_unique<DeviceArray<uint32_t>>(of_case.owners);
    ends_ = std::make_unique<DeviceArray<uint32_t>>(of_case.owners * all.tables());
    bags_ = std::make_unique<DeviceArray<BagGradient>>(joined.size());
    for (DeviceArray<uint32_t>* array : {order_.get(), counts_.get(), ends_.get()}) array->Poison();
    cut_->Poison();
    batch.partition = {order_->data(), cut_->data(), counts_->data()};
    batch.ends = ends_->data();
  }

  // Cuts the batch; the host has its ends then.
  std::vector<uint32_t> Cut() {
    const DeviceScope scope(exec_.ordinal);
    const size_t bytes = PartitionScratchBytes(group.keys, case_.owners);
    DeviceArray<std::byte> scratch(bytes);
    PartitionByOwner(exec_, {on_device_->data(), group.keys}, owner_of_shard_.data(), case_.owners,
                     batch.partition, {scratch.data(), bytes});
    MarkTables(exec_, group, case_.owners, batch.partition, batch.ends);
    Wait(exec_);
    return ends_->Get();
  }

  // The vectors of all tables, from the one map of each or from those of its owners, and gradients
  // that are the vectors.
  void Forward(const std::vector<PooledTable>& tables) {
    const DeviceScope scope(exec_.ordinal);
    for (auto& table : tables_) table->vectors.Poison();
    PoolRows(exec_, tables, TypeOf());
    Wait(exec_);
  }
  void Backward(const std::vector<PooledTable>& tables) {
    const DeviceScope scope(exec_.ordinal);
    bags_->Poison();
    std::vector<const void*> vectors;
    for (auto& table : tables_) vectors.push_back(table->vectors.data());
    batch.gradients = GradientsOfBags(exec_, group, tables, vectors, TypeOf(), bags_->data());
    Wait(exec_);
  }
  // An element of the vectors, if there are any, makes the rows of its keys rejected.
  void BreakOne() {
    std::vector<T> vectors = tables_[0]->vectors.Get();
    if (vectors.empty()) return;
    vectors[vectors.size() / 2 / tables_[0]->stride * tables_[0]->stride] =
        OnHost<T>::Rounded(std::numeric_limits<float>::infinity());
    tables_[0]->vectors.Set(vectors);
  }

  std::vector<PooledTable> WithOneMap() {
    std::vector<PooledTable> tables;
    for (size_t t = 0; t < tables_.size(); ++t) {
      tables.push_back({.map = group.tables[t].map,
                        .start = group.tables[t].start,
                        .keys = on_device_->data() + group.tables[t].first_key,
                        .offsets = case_.one_hot ? nullptr : tables_[t]->offsets.data(),
                        .weights = case_.weighted ? tables_[t]->weights.data() : nullptr,
                        .bags = tables_[t]->bags.count(),
                        .out = tables_[t]->vectors.data(),
                        .stride = tables_[t]->stride,
                        .vector_stride = tables_[t]->vector_stride,
                        .slots = tables_[t]->slots,
                        .combiner = case_.combiner});
    }
    return tables;
  }
  std::vector<PooledTable> WithMapsOf(const std::vector<std::unique_ptr<GroupUser>>& owners) {
    const DeviceScope scope(exec_.ordinal);
    std::vector<PooledTable> tables = WithOneMap();
    for (size_t t = 0; t < tables.size(); ++t) {
      if (t == 2) continue;  // a table beside them that is not spread
      std::vector<MapRef> maps;
      for (const auto& owner : owners) maps.push_back(owner->table(t).map().ref());
      maps_.push_back(std::make_unique<DeviceArray<MapRef>>(maps));
      tables[t].maps = maps_.back()->data();
      tables[t].owner_of_shard = owner_of_shard_.data();
      tables[t].map.lines = nullptr;  // nobody is to search there
    }
    return tables;
  }

  std::vector<std::vector<T>> Vectors() const {
    std::vector<std::vector<T>> all;
    for (const auto& table : tables_) all.push_back(table->vectors.Get());
    return all;
  }
  std::vector<BagGradient> Bags() const { return bags_->Get(); }

  static PooledType TypeOf() {
    return std::is_same_v<T, float>    ? PooledType::kFloat32
           : std::is_same_v<T, __half> ? PooledType::kFloat16
                                       : PooledType::kBFloat16;
  }

  Keys keys;
  TableGroup group;
  RankBatch batch;

 private:
  const Case& case_;
  const GroupUser& all_;
  Exec exec_;
  Stream stream_;
  std::vector<std::unique_ptr<TableBags<T>>> tables_;
  DeviceArray<uint16_t> owner_of_shard_;
  std::unique_ptr<DeviceArray<uint64_t>> on_device_, cut_;
  std::unique_ptr<DeviceArray<uint32_t>> order_, counts_, ends_;
  std::unique_ptr<DeviceArray<BagGradient>> bags_;
  std::vector<std::unique_ptr<DeviceArray<MapRef>>> maps_;
};

uint64_t RejectedIn(GroupUser& user) {
  uint64_t rejected = 0;
  for (size_t t = 0; t < user.tables(); ++t) rejected += user.table(t).CountsNow().rejected;
  return rejected;
}

// CombineBatch and UpdateRows; `gradients` are asked for in between. Gives the rows rejected.
template <typename Gradients>
uint64_t Update(GroupUser& user, const TableGroup& group, const uint64_t* keys, uint64_t step,
                const Gradients& gradients) {
  const uint64_t before = RejectedIn(user);
  Combined combined(group.keys);
  CombineBatch(user.exec(), group, keys, nullptr, combined.ref(),
               {combined.scratch.data(), CombineScratchBytes(group.keys)});
  const size_t bytes = UpdateScratchBytes(group.keys, group.dim_max);
  DeviceArray<std::byte> scratch(bytes);
  UpdateRows(user.exec(), group, kAdam, step, combined.ref(), gradients(), {scratch.data(), bytes});
  Wait(user.exec());
  return RejectedIn(user) - before;
}

class SpreadOnGpus : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  template <typename T>
  static void Check(const Case& of_case) {
    const int gpus = GpusTogether();
    const auto gpu_of = [gpus](uint32_t i) { return static_cast<int>(i) % gpus; };
    const std::vector<uint16_t> shards = DrawShards(of_case);
    GroupUser all(of_case.dims, kAdam, of_case.stored, of_case.stored);
    std::vector<std::unique_ptr<GroupUser>> owners;
    for (uint32_t o = 0; o < of_case.owners; ++o) {
      const DeviceScope scope(gpu_of(o));
      owners.push_back(std::make_unique<GroupUser>(
          of_case.dims, kAdam, of_case.stored, of_case.stored,
          [&](uint64_t key) { return shards[OwnerShardOf(key)] == o; }));
    }
    std::mt19937_64 random(19);
    for (uint64_t step = 1; step <= 2; ++step) {
      for (size_t t = 0; t < all.tables(); ++t) {
        all.table(t).start.score = 3 * step;
        for (auto& owner : owners) owner->table(t).start.score = 3 * step;
      }
      std::vector<std::unique_ptr<Rank<T>>> ranks;
      for (uint32_t r = 0; r < of_case.ranks; ++r) {
        const DeviceScope scope(gpu_of(r));
        ranks.push_back(std::make_unique<Rank<T>>(random, of_case, r, all, shards));
      }
      for (auto& rank : ranks) LookUp(*rank, owners);
      if (step == 1) ranks.back()->BreakOne();
      for (auto& rank : ranks) rank->Backward(rank->WithOneMap());
      const uint64_t rejected = TrainOne(all, ranks, step);
      if (step == 1) EXPECT_GE(rejected, 1U);
      for (auto& rank : ranks) rank->Backward(rank->WithMapsOf(owners));
      EXPECT_EQ(TrainSpread(owners, ranks, step), rejected);
    }
    ExpectSameRows(all, owners, shards);
  }

 private:
  template <typename T>
  static void LookUp(Rank<T>& rank, const std::vector<std::unique_ptr<GroupUser>>& owners) {
    rank.Forward(rank.WithOneMap());
    const auto expected = rank.Vectors();
    rank.Forward(rank.WithMapsOf(owners));
    const auto found = rank.Vectors();
    for (size_t t = 0; t < expected.size(); ++t) {
      SCOPED_TRACE(testing::Message() << "table " << t);
      ExpectSame(found[t], expected[t]);
    }
  }

  // The ranks' keys and bags put together by the host, a part a rank.
  template <typename T>
  static uint64_t TrainOne(GroupUser& all, const std::vector<std::unique_ptr<Rank<T>>>& ranks,
                           uint64_t step) {
    Keys keys(all.tables());
    std::vector<BagGradient> bags;
    std::vector<uint32_t> ends;
    for (size_t t = 0; t < all.tables(); ++t) {
      for (const auto& rank : ranks) {
        keys[t].insert(keys[t].end(), rank->keys[t].begin(), rank->keys[t].end());
        const auto of_rank = rank->Bags();
        const auto first =
            of_rank.begin() + static_cast<ptrdiff_t>(rank->group.tables[t].first_key);
        bags.insert(bags.end(), first, first + static_cast<ptrdiff_t>(rank->keys[t].size()));
        ends.push_back(static_cast<uint32_t>(bags.size()));
      }
    }
    DeviceArray<uint64_t> on_device(Joined(keys));
    DeviceArray<BagGradient> bags_on_device(bags);
    DeviceArray<uint32_t> ends_on_device(ends);
    return Update(all, all.GroupOf(keys), on_device.data(), step, [&] {
      BatchGradients gradients = ranks[0]->batch.gradients;
      for (const auto& rank : ranks) {
        gradients.bags_aligned = gradients.bags_aligned && rank->batch.gradients.bags_aligned;
      }
      gradients.bags = bags_on_device.data();
      gradients.part_ends = {ends_on_device.data(), ends.size()};
      return gradients;
    });
  }

  template <typename T>
  static uint64_t TrainSpread(const std::vector<std::unique_ptr<GroupUser>>& owners,
                              const std::vector<std::unique_ptr<Rank<T>>>& ranks, uint64_t step) {
    uint64_t rejected = 0;
    std::vector<std::vector<uint32_t>> ends;
    std::vector<RankBatch> batches;
    for (const auto& rank : ranks) {
      ends.push_back(rank->Cut());
      batches.push_back(rank->batch);
    }
    for (uint32_t o = 0; o < owners.size(); ++o) {
      GroupUser& owner = *owners[o];
      const DeviceScope scope(owner.exec().ordinal);
      TableGroup group;
      for (size_t t = 0; t < owner.tables(); ++t) {
        const size_t at = o * owner.tables() + t;
        uint64_t keys = 0;
        for (const auto& of_rank : ends) keys += of_rank[at] - (at == 0 ? 0 : of_rank[at - 1]);
        group.Add(owner.table(t).map().ref(), owner.table(t).start, keys);
      }
      const size_t parts = ranks.size() * owner.tables();
      DeviceArray<uint64_t> keys(group.keys);
      DeviceArray<BagGradient> bags(group.keys);
      DeviceArray<uint32_t> part_ends(parts), firsts(parts);
      keys.Poison();
      bags.Poison();
      part_ends.Poison();
      firsts.Poison();
      const OwnerBatch batch{keys.data(), bags.data(), part_ends.data(), firsts.data()};
      CollectKeys(owner.exec(), batches, o, group, batch);
      rejected += Update(owner, group, keys.data(), step,
                         [&] { return CollectBags(owner.exec(), batches, group, batch); });
    }
    return rejected;
  }

  static void ExpectSameRows(GroupUser& all, const std::vector<std::unique_ptr<GroupUser>>& owners,
                             const std::vector<uint16_t>& shards) {
    for (size_t t = 0; t < all.tables(); ++t) {
      MapModel together;
      for (uint32_t o = 0; o < owners.size(); ++o) {
        const DeviceScope scope(owners[o]->exec().ordinal);
        for (auto& [key, row] : owners[o]->table(t).Scan(512)) {
          EXPECT_EQ(shards[OwnerShardOf(key)], o) << "key " << key;
          together.emplace(key, std::move(row));
        }
        EXPECT_EQ(owners[o]->table(t).CountsNow().refused, 0U);
      }
      const MapModel expected = all.table(t).Scan(512);
      if (t != 1) EXPECT_GT(expected.size(), GroupUser::kRows);
      EXPECT_EQ(together, expected) << "table " << t;
    }
  }
};

// Rows in steps of four elements, of one, and in several steps of a warp.
const std::vector<uint32_t> kWhole = {16, 8, 4, 128, 64};
const std::vector<uint32_t> kOdd = {16, 8, 3, 1, 9};
const std::vector<uint32_t> kLong = {200, 8, 12};

TEST_F(SpreadOnGpus, ManyTablesTrainAsOnOne) {
  for (const uint32_t gpus : {1U, 2U, 3U}) {
    Check<float>({.dims = kWhole,
                  .ranks = gpus,
                  .owners = gpus,
                  .weighted = true,
                  .combiner = Combiner::kMean});
  }
}
TEST_F(SpreadOnGpus, BagsOfOneKeyTrainAsOnOne) {
  Check<float>({.dims = kWhole, .ranks = 2, .owners = 2, .one_hot = true});
  Check<__half>({.dims = kOdd, .ranks = 3, .owners = 2, .one_hot = true, .weighted = true});
}
TEST_F(SpreadOnGpus, RowsOfAnyLengthTrainAsOnOne) {
  Check<float>({.dims = kOdd, .ranks = 2, .owners = 3, .behind = 3});
  Check<__nv_bfloat16>({.dims = kLong, .ranks = 3, .owners = 3});
}
TEST_F(SpreadOnGpus, RowsOfNarrowTypesTrainAsOnOne) {
  Check<float>({.dims = kWhole, .ranks = 2, .owners = 2, .stored = ElementType::kBf16});
  Check<__half>({.dims = kOdd,
                 .ranks = 2,
                 .owners = 3,
                 .combiner = Combiner::kMean,
                 .stored = ElementType::kFp16});
}
TEST_F(SpreadOnGpus, SomeHaveNoSamplesAndSomeNoRows) {
  Check<float>({.dims = kOdd, .ranks = 3, .owners = 3, .idle_rank = 0, .idle_owner = 1});
  Check<float>({.dims = kOdd, .ranks = 3, .owners = 3, .idle_rank = 1, .idle_owner = 2});
}

}  // namespace
}  // namespace strata
