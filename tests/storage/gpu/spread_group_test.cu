// Steps of training on several GPUs, over tables spread by key, beside the same steps in host
// memory where each rank's batch is a part: what comes out and what the tables hold, all stores
// together, is the same to the bit.
#include "tests/storage/gpu/spread_tables.cuh"

namespace strata {
namespace {

class SpreadGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_SKIP_BELOW_GPUS(2);
    for (const int gpu : {0, 1}) {
      int can = 0;
      EXPECT_EQ(cudaDeviceCanAccessPeer(&can, gpu, 1 - gpu), cudaSuccess);
      if (can == 0) GTEST_SKIP() << "needs GPUs that read each other's memory; 0 and 1 do not";
    }
  }

  template <typename T, typename Between>
  static void Train(Spread& spread, const Shape& shape, PooledType type, uint64_t steps,
                    const Between& between, const std::vector<size_t>& idle = {}) {
    std::mt19937_64 random(11);
    const auto group = spread.Open();
    for (uint64_t step = 1; step <= steps; ++step) {
      Ranks<T> ranks(spread, random, shape, type, idle);
      ASSERT_TRUE(group->Forward(ranks.batches()).ok());
      ranks.ExpectVectors();
      between(step);
      const Status status = group->Backward(ranks.gradients(), step);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ranks.UpdateHost(step);
    }
    spread.ExpectSameRows();
  }
  template <typename T>
  static void Train(Spread& spread, const Shape& shape, PooledType type,
                    const std::vector<size_t>& idle = {}) {
    Train<T>(
        spread, shape, type, 3, [](uint64_t) {}, idle);
    spread.ExpectSameTables();
  }
};

const std::vector<uint32_t> kWhole = {16, 8, 4, 128};
const std::vector<uint32_t> kOdd = {16, 8, 3, 64, 1, 9};

TEST_F(SpreadGroupTest, TrainsAsOneStoreThatHasTheRanksAsParts) {
  for (const auto& dims : {kWhole, kOdd, {200, 8, 12}}) {
    Spread spread(SpecsOf(dims), 2);
    Train<float>(spread, {.weighted = true, .combiner = Combiner::kMean}, PooledType::kFloat32);
    for (LocalStore* store : spread.stores()) {
      EXPECT_GT(Spread::Stats(*store, spread.specs()[0]).rows, 0U);
    }
  }
}

TEST_F(SpreadGroupTest, TrainsBagsOfOneKey) {
  Spread spread(SpecsOf(kWhole), 2);
  Train<float>(spread, {.one_hot = true}, PooledType::kFloat32);
}

TEST_F(SpreadGroupTest, TrainsOverAsManyGpusAsThereAre) {
  Spread spread(SpecsOf(kOdd), GpusTogether());
  Train<float>(spread, {}, PooledType::kFloat32);
}

class SpreadGroupOfOneGpu : public SpreadGroupTest {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

TEST_F(SpreadGroupOfOneGpu, TrainsToo) {
  Spread spread(SpecsOf(kOdd), 1);
  Train<float>(spread, {.weighted = true}, PooledType::kFloat32);
}

TEST_F(SpreadGroupTest, TrainsNarrowVectorsAndRows) {
  std::vector<TableSpec> specs = SpecsOf(kOdd);
  for (TableSpec& spec : specs) {
    spec.value_type = ElementType::kFp16;
    spec.state_type = ElementType::kBf16;
  }
  Spread spread(specs, 2);
  Train<__half>(spread, {.combiner = Combiner::kMean}, PooledType::kFloat16);
  Spread wide(SpecsOf(kWhole), 2);
  Train<__nv_bfloat16>(wide, {.weighted = true}, PooledType::kBFloat16);
}

TEST_F(SpreadGroupTest, RanksMayHaveNoSamples) {
  for (const std::vector<size_t>& idle : {{0}, {1}, std::vector<size_t>{0, 1}}) {
    Spread spread(SpecsOf(kOdd), 2);
    Train<float>(spread, {}, PooledType::kFloat32, idle);
  }
}

TEST_F(SpreadGroupTest, ShardsMayLieAnywhere) {
  std::mt19937_64 random(4);
  std::vector<uint16_t> drawn(wire::kShards);
  for (uint16_t& owner : drawn) owner = static_cast<uint16_t>(random() % 3 / 2);
  for (const auto& owners : {drawn, std::vector<uint16_t>(wire::kShards, 1)}) {
    Spread spread(SpecsOf(kWhole), 2, owners);
    Train<float>(spread, {}, PooledType::kFloat32);
  }
}

TEST_F(SpreadGroupTest, ShardsAreThoseOfACluster) {
  for (const uint16_t gpus : {1, 2, 3, 8}) {
    const auto map = wire::MakeShardMap(std::vector<uint16_t>{gpus});
    ASSERT_TRUE(map.ok());
    const std::vector<uint16_t> owners(map->owner.begin(), map->owner.end());
    EXPECT_EQ(SpreadGroup::EvenShards(gpus), owners);
  }
}

// The keys of the batch are given rows, lose them, and move, before its gradients come.
TEST_F(SpreadGroupTest, OthersMayWriteToTheTablesBetweenForwardAndBackward) {
  Spread spread(SpecsOf(kWhole), 2);
  std::mt19937_64 random(3);
  Train<float>(spread, {}, PooledType::kFloat32, 6, [&](uint64_t step) {
    const size_t t = step % spread.specs().size();
    std::vector<uint64_t> keys = SkewedKeys(random, 300);
    if (step % 3 == 0) {  // so many that pairs are split
      keys.resize(5'000);
      std::iota(keys.begin(), keys.end(), 10'000 * step);
    }
    std::vector<float> values(keys.size() * spread.specs()[t].dim);
    for (float& x : values) x = DrawFloat(random);
    const OpKind kinds[] = {OpKind::kAssign, OpKind::kUpdate, OpKind::kErase};
    spread.Run(kinds[step % 3], t, keys, values, step);
  });
}

// The frequencies of rows aside, which count ranks.
TEST_F(SpreadGroupTest, TrainsAsAGroupOnOneGpuThatIsGivenAllBatches) {
  Spread spread(SpecsOf({8, 4}), 2);
  Pair alone(SpecsOf({8, 4}));
  const auto group = spread.Open();
  const auto on_one = alone.Open();
  for (uint64_t step = 1; step <= 3; ++step) {
    FreshKeys fresh(spread, step * 500, 1'000);
    ASSERT_TRUE(group->Forward(fresh.batches()).ok());
    std::vector<uint64_t> keys;
    std::vector<float> values;
    std::vector<float> vectors;
    spread.Sync();
    for (size_t rank = 0; rank < 2; ++rank) {
      const HostTables::Part& part = fresh.parts()[rank];
      const std::vector<float> of_rank = fresh.Vectors(rank);
      keys.insert(keys.end(), part.keys[0].begin(), part.keys[0].end());
      values.insert(values.end(), part.gradients[0].begin(), part.gradients[0].end());
      vectors.insert(vectors.end(), of_rank.begin(), of_rank.end());
    }
    DeviceArray<uint64_t> on_gpu(keys);
    DeviceArray<float> gradients(values);
    DeviceArray<float> rows(values.size());
    const std::vector<uint64_t> counts = {keys.size(), 0};
    ASSERT_TRUE(on_one->Forward(RowBatch{on_gpu.data(), counts, rows.data()}).ok());
    alone.Sync();
    ExpectSame(vectors, rows.Get());
    ASSERT_TRUE(group->Backward(fresh.gradients(), step).ok());
    ASSERT_TRUE(on_one->Backward(gradients.data(), step).ok());
    alone.Sync();
  }
  TableBits together;
  for (LocalStore* store : spread.stores()) together.merge(BitsOf(*store, "t0"));
  TableBits expected = BitsOf(alone.gpu(), "t0");
  EXPECT_EQ(expected.size(), 2'500U);
  for (TableBits* bits : {&together, &expected}) {
    for (auto& [key, row] : *bits) row.frequency = 0;
  }
  EXPECT_TRUE(together == expected);
}

TEST_F(SpreadGroupTest, TablesGrowAsTheyAreTrained) {
  Spread spread(SpecsOf({4, 8}), 2);
  const auto group = spread.Open();
  for (uint64_t step = 1; step <= 4; ++step) {
    FreshKeys fresh(spread, step * 3'000, 3'000);
    ASSERT_TRUE(group->Forward(fresh.batches()).ok());
    ASSERT_TRUE(group->Backward(fresh.gradients(), step).ok());
    fresh.UpdateHost(step);
  }
  spread.ExpectSameRows();
}

// Of the same stores in another order.
TEST_F(SpreadGroupTest, SeveralGroupsMayTrainTheSameTables) {
  Spread spread(SpecsOf(kWhole), 2);
  std::vector<uint16_t> turned = SpreadGroup::EvenShards(2);
  for (uint16_t& owner : turned) owner = 1 - owner;
  const auto first = spread.Open();
  auto opened = SpreadGroup::Open(std::vector<TableStore*>{spread.stores()[1], spread.stores()[0]},
                                  NamesOf(spread.specs()),
                                  std::vector<Exec>{spread.execs()[1], spread.execs()[0]}, turned);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  std::mt19937_64 random(8);
  for (uint64_t step = 1; step <= 4; step += 2) {
    Ranks<float> one(spread, random, {}, PooledType::kFloat32);
    Ranks<float> other(spread, random, {.weighted = true}, PooledType::kFloat32, {0});
    const std::vector<BagBatch> batches = {other.batches()[1], other.batches()[0]};
    const std::vector<std::span<const void* const>> gradients = {other.gradients()[1],
                                                                 other.gradients()[0]};
    ASSERT_TRUE(first->Forward(one.batches()).ok());
    ASSERT_TRUE((*opened)->Forward(batches).ok());
    one.ExpectVectors();
    other.ExpectVectors();
    ASSERT_TRUE(first->Backward(one.gradients(), step).ok());
    one.UpdateHost(step);
    ASSERT_TRUE((*opened)->Backward(gradients, step + 1).ok());
    other.UpdateHost(step + 1);  // one rank has no samples: their order is the same
  }
  spread.ExpectSameRows();
}

// What checkpoints of the stores hold that were begun before, or between forward and backward.
TEST_F(SpreadGroupTest, SnapshotsHoldTheRowsAsTheyWereAtTheCut) {
  Spread spread(SpecsOf(kWhole), 2);
  std::vector<LocalStore::Entries> cuts(3);
  std::vector<TableBits> expected;
  const auto cut = [&](uint32_t epoch) {
    expected.clear();
    for (const TableSpec& spec : spread.specs()) {
      expected.push_back(BitsOf(spread.host(), spec.name));
    }
    for (size_t s = 0; s < cuts.size(); ++s) {
      cuts[s] =
          spread.AllStores()[s]->Cut(epoch, [](LocalTable& table) { table.BeginSnapshot(0); });
    }
  };
  const auto check = [&] {
    std::map<std::string, TableBits> found;
    for (size_t s = 0; s < cuts.size(); ++s) {
      for (const auto& entry : cuts[s]) {
        if (s + 1 == cuts.size()) {
          entry->table->EndSnapshot();
          continue;
        }
        found[entry->table->spec().name].merge(BitsOfSnapshot(*entry->table));
      }
    }
    for (size_t t = 0; t < expected.size(); ++t) {
      const std::string& name = spread.specs()[t].name;
      EXPECT_TRUE(found[name] == expected[t]) << name;
    }
  };
  Train<float>(spread, {}, PooledType::kFloat32, 6, [&](uint64_t step) {
    if (step == 2) cut(1);   // between
    if (step == 4) check();  // two steps later
    if (step == 5) cut(2);
  });
  check();
}

TEST_F(SpreadGroupTest, LooksUpWhatIsNotLearnedFrom) {
  Spread spread(SpecsOf(kOdd), 2);
  Train<float>(spread, {}, PooledType::kFloat32);
  const auto group = spread.Open();
  std::mt19937_64 random(21);
  Ranks<float> ranks(spread, random, {.weighted = true}, PooledType::kFloat32);
  ASSERT_TRUE(group->LookUp(ranks.batches()).ok());
  ranks.ExpectVectors();
  EXPECT_EQ(group->Backward(ranks.gradients(), 9).code(), StatusCode::kInvalid);
}

// The tables that were dropped and made anew are empty, and the step makes its rows there.
TEST_F(SpreadGroupTest, TablesMadeAnewAreUpdatedAsTheyAreThen) {
  Spread spread(SpecsOf(kWhole), 2);
  Train<float>(spread, {}, PooledType::kFloat32, 3, [&](uint64_t step) {
    if (step != 2) return;
    for (LocalStore* store : spread.AllStores()) {
      for (const TableSpec& spec : spread.specs()) {
        ASSERT_TRUE(store->DropTable(spec.name).ok());
        ASSERT_TRUE(store->CreateTable(spec).ok());
      }
    }
  });
}

TEST_F(SpreadGroupTest, WhereNewRowsHaveNoRoomNothingIsUpdatedAndItCanBeTriedAgain) {
  Spread spread(SpecsOf({1024, 1024}), 2, {}, 4 * DevicePool::kChunkBytes);
  const auto group = spread.Open();  // tables take their first memory
  const TableSpec filler = SpecOf(9, 1024);
  LocalStore& last = *spread.stores()[1];
  ASSERT_TRUE(last.CreateTable(filler).ok());
  const std::vector<float> gradients(1'000 * 1024, 0.5F);
  StatusCode code = StatusCode::kOk;
  for (uint64_t step = 1; code == StatusCode::kOk; ++step) {
    std::vector<uint64_t> keys(1'000);
    std::iota(keys.begin(), keys.end(), 1'000 * step);
    Operation update = OperationOf(OpKind::kUpdate, step);
    update.parts.push_back({.table = filler.id(), .keys = keys, .in = gradients});
    code = SubmitAndWait(last, update).status.code();
  }
  ASSERT_EQ(code, StatusCode::kRefused);

  FreshKeys ranks(spread, 0, 6'000);
  ASSERT_TRUE(group->Forward(ranks.batches()).ok());
  for (int time = 0; time < 2; ++time) {
    const Status status = group->Backward(ranks.gradients(), 1);
    EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
    for (LocalStore* store : spread.stores()) {
      for (const TableSpec& spec : spread.specs()) {
        EXPECT_EQ(Spread::Stats(*store, spec).rows, 0U);
        EXPECT_EQ(Spread::Stats(*store, spec).steps, 0U);
      }
    }
  }
  ASSERT_TRUE(last.DropTable(filler.name).ok());
  const Status status = group->Backward(ranks.gradients(), 1);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ranks.UpdateHost(1);
  spread.ExpectSameRows();
}

TEST_F(SpreadGroupTest, RefusesStoresThatCannotBeOneGroup) {
  Spread spread(SpecsOf({4, 8}), 2);
  const std::vector<std::string> names = NamesOf(spread.specs());
  const std::vector<LocalStore*> stores = spread.stores();
  const std::vector<Exec>& execs = spread.execs();
  const auto expect = [&](StatusCode code, const std::string& says,
                          const std::vector<LocalStore*>& of_stores,
                          const std::vector<std::string>& tables, const std::vector<Exec>& on,
                          const std::vector<uint16_t>& owners = {}) {
    const Status status = SpreadGroup::Open(Plain(of_stores), tables, on, owners).status();
    EXPECT_EQ(status.code(), code) << says;
    EXPECT_NE(status.ToString().find(says), std::string::npos) << status.ToString();
  };
  constexpr StatusCode kInvalid = StatusCode::kInvalid;
  expect(kInvalid, "1 to 64 stores", {}, names, {});
  expect(kInvalid, "not 65", std::vector<LocalStore*>(65, stores[0]), names, execs);
  expect(kInvalid, "2 stores and 1 stream;", stores, names, {execs[0]});
  expect(kInvalid, "are the same one", {stores[0], stores[0]}, names, execs);
  expect(kInvalid, "are both on GPU 0", stores, names, {execs[0], execs[0]});
  expect(kInvalid, "store 1 is null", {stores[0], nullptr}, names, execs);
  expect(kInvalid, "1 to 64 tables", stores, {}, execs);
  expect(kInvalid, "a table twice", stores, {"t0", "t0"}, execs);
  expect(StatusCode::kNotFound, "store 0", stores, {"t0", "t9"}, execs);
  expect(kInvalid, "store 1: table 't0' does not lie", {stores[0], &spread.host()}, names, execs);
  expect(kInvalid, "store 0: table 't0' does not lie", stores, names, {execs[1], execs[0]});
  Exec cpu = execs[1];
  cpu.device = DeviceKind::kCpu;
  expect(kInvalid, "store 1 is not a GPU's", stores, names, {execs[0], cpu});
  Exec absent = execs[1];
  absent.ordinal = GpusHere();
  expect(StatusCode::kNotFound, "store 1: GPU", stores, names, {execs[0], absent});
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  expect(kInvalid, "owners of 3 shards", stores, names, execs, {0, 1, 0});
  std::vector<uint16_t> owners(wire::kShards);
  owners[700] = 2;
  expect(kInvalid, "shard 700 is owned by GPU 2", stores, names, execs, owners);

  // Tables that are not the same in both, or not of one optimizer.
  TableSpec other = SpecOf(7, 4);
  ASSERT_TRUE(stores[0]->CreateTable(other).ok());
  expect(StatusCode::kNotFound, "store 1", stores, {"t0", "t7"}, execs);
  other.dim = 12;
  ASSERT_TRUE(stores[1]->CreateTable(other).ok());
  expect(kInvalid, "'t7' of store 1 has another definition than in store 0: dim", stores,
         {"t0", "t7"}, execs);
  other = SpecOf(8, 4);
  other.optimizer.learning_rate = 0.5F;
  for (LocalStore* store : stores) ASSERT_TRUE(store->CreateTable(other).ok());
  expect(kInvalid, "another optimizer", stores, {"t0", "t8"}, execs);
}

TEST_F(SpreadGroupTest, RefusesTablesWithTiersBelow) {
  Spread spread(SpecsOf({4}), 2);
  auto tiered = MakeLocalGpuStore(
      {.device = 1, .memory_bytes = kPoolBytes, .host_memory_bytes_max = uint64_t{1} << 30});
  ASSERT_TRUE(tiered.ok());
  ASSERT_TRUE((*tiered)->CreateTable(spread.specs()[0]).ok());
  const Status status =
      SpreadGroup::Open(std::vector<TableStore*>{spread.stores()[0], tiered->get()},
                        NamesOf(spread.specs()), spread.execs())
          .status();
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_NE(status.ToString().find("store 1: table 't0' has tiers below"), std::string::npos)
      << status.ToString();
}

TEST_F(SpreadGroupTest, RefusesGpusThatCannotReadEachOther) {
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "needs GPUs that are emulated";
  Spread spread(SpecsOf({4}), 2);
  for (const unsigned after : {0U, 1U}) {
    fail("cudaDeviceCanAccessPeer", after, 1);
    const Status status =
        SpreadGroup::Open(Plain(spread.stores()), NamesOf(spread.specs()), spread.execs()).status();
    EXPECT_EQ(status.code(), StatusCode::kFailed);
    const std::string says = after == 0 ? "GPU 0 cannot read the memory of GPU 1"
                                        : "GPU 1 cannot read the memory of GPU 0";
    EXPECT_NE(status.ToString().find(says), std::string::npos) << status.ToString();
  }
  EXPECT_NE(spread.Open(), nullptr);
}

TEST_F(SpreadGroupTest, RefusesCallsThatDoNotFit) {
  Spread spread(SpecsOf(kWhole), 2);
  const auto group = spread.Open();
  std::mt19937_64 random(1);
  Ranks<float> ranks(spread, random, {}, PooledType::kFloat32);
  const std::vector<BagBatch> good(ranks.batches().begin(), ranks.batches().end());
  EXPECT_EQ(group->Backward(ranks.gradients(), 1).code(), StatusCode::kInvalid);  // of nothing
  const auto refuses = [&](const std::string& says, const auto& change) {
    std::vector<BagBatch> batches = good;
    std::vector<EmbeddingBags> tables(good[1].tables.begin(), good[1].tables.end());
    batches[1].tables = tables;
    change(batches, tables);
    for (const bool learns : {false, true}) {
      const Status status = learns ? group->Forward(batches) : group->LookUp(batches);
      EXPECT_EQ(status.code(), StatusCode::kInvalid);
      EXPECT_NE(status.ToString().find(says), std::string::npos) << status.ToString();
    }
  };
  refuses("batches of 1 GPU for a group of 2", [](auto& batches, auto&) { batches.pop_back(); });
  refuses("batches 0 and 1 are of different types",
          [](auto& batches, auto&) { batches[1].type = PooledType::kFloat16; });
  refuses("GPU 1: a batch whose keys are nowhere",
          [](auto& batches, auto&) { batches[1].keys = nullptr; });
  refuses("GPU 1: a batch of 3 tables for a group of 4",
          [](auto& batches, auto&) { batches[1].tables = batches[1].tables.first(3); });
  refuses("begin at a multiple of 16 bytes",
          [](auto&, auto& tables) { tables[0].out = static_cast<float*>(tables[0].out) + 1; });
  refuses("begin at a multiple of 16 bytes", [](auto&, auto& tables) { tables[0].out = nullptr; });
  refuses("keys do not begin at a multiple of 8 bytes", [](auto& batches, auto&) {
    batches[1].keys =
        reinterpret_cast<const Key*>(reinterpret_cast<uintptr_t>(batches[1].keys) + 4);
  });
  refuses("offsets and weights begin at multiples of 4 bytes",
          [](auto&, auto& tables) { tables[0].weights = reinterpret_cast<const float*>(2); });
  refuses("do not fit a stride", [](auto&, auto& tables) { tables[0].stride = 15; });
  refuses("of all GPUs together", [](auto&, auto& tables) {
    tables[0].keys = INT32_MAX - 10 - tables[2].keys - tables[3].keys;
  });
  EXPECT_EQ(group->Backward(ranks.gradients(), 1).code(), StatusCode::kInvalid);

  ASSERT_TRUE(group->Forward(good).ok());
  ranks.ExpectVectors();
  std::vector<std::span<const void* const>> gradients(ranks.gradients().begin(),
                                                      ranks.gradients().end());
  EXPECT_EQ(group->Backward(ranks.gradients().first(1), 1).code(), StatusCode::kInvalid);
  EXPECT_EQ(group->Backward(gradients, 0).code(), StatusCode::kInvalid);
  const std::vector<const void*> none(spread.specs().size());
  gradients[1] = none;
  EXPECT_EQ(group->Backward(gradients, 1).code(), StatusCode::kInvalid);
  std::vector<const void*> askew(ranks.gradients()[1].begin(), ranks.gradients()[1].end());
  askew[0] = static_cast<const std::byte*>(askew[0]) + 2;
  gradients[1] = askew;
  EXPECT_EQ(group->Backward(gradients, 1).code(), StatusCode::kInvalid);
  gradients[1] = std::span(none).first(1);
  EXPECT_EQ(group->Backward(gradients, 1).code(), StatusCode::kInvalid);
  ASSERT_TRUE(group->Backward(ranks.gradients(), 1).ok());
  ranks.UpdateHost(1);
  spread.ExpectSameTables();
  EXPECT_EQ(group->Backward(ranks.gradients(), 2).code(), StatusCode::kInvalid);  // twice

  ASSERT_TRUE(group->Forward(good).ok());
  ASSERT_TRUE(spread.stores()[1]->DropTable("t1").ok());
  EXPECT_EQ(group->Backward(ranks.gradients(), 2).code(), StatusCode::kNotFound);
  TableSpec other = spread.specs()[1];
  other.dim = 16;
  ASSERT_TRUE(spread.stores()[1]->CreateTable(other).ok());
  EXPECT_EQ(group->Backward(ranks.gradients(), 2).code(), StatusCode::kInvalid);
  ASSERT_TRUE(spread.stores()[1]->DropTable("t1").ok());
  ASSERT_TRUE(spread.stores()[1]->CreateTable(spread.specs()[1]).ok());
  ASSERT_TRUE(group->Backward(ranks.gradients(), 2).ok());  // t1 has no keys
  ranks.UpdateHost(2);
  spread.ExpectSameRows();
}

}  // namespace
}  // namespace strata
