// A model's steps over tables on a GPU beside the same steps through a store in host memory, key by
// key: what comes out and what the tables hold is the same to the bit.
#include <numeric>

#include "tests/storage/gpu/embedding_pair.cuh"

namespace strata {
namespace {

// Updates, erases and puts these keys, by turns of steps.
void WriteTo(Pair& pair, const TableSpec& spec, const std::vector<uint64_t>& keys, uint64_t step,
             std::mt19937_64& random) {
  std::vector<float> values(keys.size() * spec.dim);
  for (float& x : values) x = DrawFloat(random);
  Operation operation = OperationOf(step % 3 == 1 ? OpKind::kUpdate : OpKind::kAssign, step);
  if (step % 3 == 2) operation.kind = OpKind::kErase;
  operation.parts.push_back({.table = spec.id(), .keys = keys});
  if (operation.kind != OpKind::kErase) operation.parts[0].in = values;
  pair.Run(operation);
}

class EmbeddingGroupTest : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  // Steps of training, with `between(step)` between forward and backward.
  template <typename T, typename Between>
  static void Train(Pair& pair, const Shape& shape, PooledType type, uint64_t steps,
                    const Between& between) {
    std::mt19937_64 random(11);
    const auto group = pair.Open();
    for (uint64_t step = 1; step <= steps; ++step) {
      BagStep<T> of_step(pair, random, shape, type);
      ASSERT_TRUE(group->Forward(of_step.batch()).ok());
      of_step.ExpectVectors();
      between(step);
      const Status status = group->Backward(of_step.gradients(), step);
      ASSERT_TRUE(status.ok()) << status.ToString();
      of_step.UpdateHost(step);
    }
    pair.ExpectSameRows();
  }
  static void CheckRows(std::unique_ptr<LocalStore> store);
  static void CheckSnapshots(std::unique_ptr<LocalStore> store);
  template <typename T>
  static void Train(Pair& pair, const Shape& shape, PooledType type) {
    Train<T>(pair, shape, type, 4, [](uint64_t) {});
    pair.ExpectSameTables();
  }
};

// Rows in steps of four elements, of one, and in several steps of a warp.
const std::vector<std::vector<uint32_t>>& Groups() {
  static const std::vector<std::vector<uint32_t>> groups = {
      {16, 8, 4, 128}, {16, 8, 3, 64, 1, 9}, {200, 8, 12}};
  return groups;
}

TEST_F(EmbeddingGroupTest, TrainsAsAStoreThatIsToldTheGradientsOfKeys) {
  for (const auto& dims : Groups()) {
    Pair pair(SpecsOf(dims));
    Train<float>(pair, {.weighted = true, .combiner = Combiner::kMean}, PooledType::kFloat32);
    EXPECT_GT(Pair::Stats(pair.gpu(), pair.specs()[0]).rejected, 0U);
  }
}

TEST_F(EmbeddingGroupTest, AFailureOfTheGpuIsFinal) {
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "only emulated GPUs can be made to fail";
  Pair pair(SpecsOf({4}), OverHost(64));  // whose lookups wait for the GPU
  std::mt19937_64 random(5);
  const auto group = pair.Open();
  BagStep<float> step(pair, random, {}, PooledType::kFloat32);
  fail("cudaStreamSynchronize", 0, 1000000);
  const Status status = group->Forward(step.batch());
  fail("cudaStreamSynchronize", 0, 0);
  EXPECT_EQ(status.code(), StatusCode::kFailed) << status.ToString();
  EXPECT_EQ(group->Backward(step.gradients(), 1).ToString(), status.ToString());
  EXPECT_EQ(group->LookUp(step.batch()).ToString(), status.ToString());
}

TEST_F(EmbeddingGroupTest, TrainsBagsOfOneKey) {
  Pair pair(SpecsOf(Groups()[0]));
  Train<float>(pair, {.one_hot = true}, PooledType::kFloat32);
}

TEST_F(EmbeddingGroupTest, TrainsVectorsOfBFloat16) {
  Pair pair(SpecsOf(Groups()[1]));
  Train<__nv_bfloat16>(pair, {.weighted = true}, PooledType::kBFloat16);
}

TEST_F(EmbeddingGroupTest, TrainsRowsOfHalf) {
  std::vector<TableSpec> specs = SpecsOf(Groups()[1]);
  for (TableSpec& spec : specs) {
    spec.value_type = ElementType::kFp16;
    spec.state_type = ElementType::kBf16;
  }
  Pair pair(specs);
  Train<__half>(pair, {.combiner = Combiner::kMean}, PooledType::kFloat16);
}

// A vector a key, gradients by position.
void EmbeddingGroupTest::CheckRows(std::unique_ptr<LocalStore> store) {
  Pair pair(SpecsOf({16, 3, 64}), std::move(store));
  const auto group = pair.Open();
  std::mt19937_64 random(5);
  for (uint64_t step = 1; step <= 4; ++step) {
    std::vector<std::vector<uint64_t>> keys;
    std::vector<uint64_t> all;
    std::vector<uint64_t> counts;
    size_t elements = 0;
    for (const TableSpec& spec : pair.specs()) {
      keys.push_back(SkewedKeys(random, 500 + 100 * keys.size()));
      all.insert(all.end(), keys.back().begin(), keys.back().end());
      counts.push_back(keys.back().size());
      elements = (elements + keys.back().size() * spec.dim + 3) / 4 * 4;
    }
    std::vector<float> gradients(elements);
    for (float& g : gradients) g = DrawFloat(random);
    gradients[7] = std::numeric_limits<float>::quiet_NaN();
    DeviceArray<uint64_t> on_gpu(all);
    DeviceArray<float> rows(elements);
    DeviceArray<float> given(gradients);
    ASSERT_TRUE(group->Forward(RowBatch{on_gpu.data(), counts, rows.data()}).ok());
    pair.Sync();
    const std::vector<float> found = rows.Get();
    std::vector<std::vector<float>> of_tables;
    size_t at = 0;
    for (size_t t = 0; t < keys.size(); ++t) {
      const std::vector<float> expected = pair.HostRows(t, keys[t]);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found[at + i], expected[i]);
      of_tables.emplace_back(gradients.begin() + static_cast<ptrdiff_t>(at),
                             gradients.begin() + static_cast<ptrdiff_t>(at + expected.size()));
      at = (at + expected.size() + 3) / 4 * 4;
    }
    ASSERT_TRUE(group->Backward(given.data(), step).ok());
    pair.UpdateHost(keys, of_tables, step);
  }
  pair.ExpectSameTables();
}

TEST_F(EmbeddingGroupTest, TrainsRowsAsTheyAre) {
  CheckRows(OnGpu());
  CheckRows(OverHost(700));
}

// The keys of the batch are given rows, lose them, and move, before its gradients come.
TEST_F(EmbeddingGroupTest, OthersMayWriteToTheTablesBetweenForwardAndBackward) {
  Pair pair(SpecsOf(Groups()[0]));
  std::mt19937_64 random(3);
  Train<float>(pair, {}, PooledType::kFloat32, 9, [&](uint64_t step) {
    const TableSpec& spec = pair.specs()[step % pair.specs().size()];
    std::vector<uint64_t> keys = SkewedKeys(random, 300);
    if (step % 3 == 0) {  // so many that pairs are split
      keys.resize(5'000);
      std::iota(keys.begin(), keys.end(), 10'000 * step);
    }
    WriteTo(pair, spec, keys, step, random);
  });
}

// Of so few that no growth has the batch searched for again.
TEST_F(EmbeddingGroupTest, RowsMayComeAndGoBetweenForwardAndBackward) {
  Pair pair({SpecOf(0, 4)});
  const auto group = pair.Open();
  const std::vector<uint64_t> keys = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> values(keys.size() * 4, 0.25F);
  const auto run = [&](OpKind kind, std::span<const uint64_t> of_keys) {
    Operation operation = OperationOf(kind);
    operation.parts.push_back({.table = pair.specs()[0].id(), .keys = of_keys});
    if (kind != OpKind::kErase) operation.parts[0].in = {values.data(), of_keys.size() * 4};
    pair.Run(operation);
  };
  run(OpKind::kUpdate, {keys.data() + 4, 4});
  DeviceArray<uint64_t> on_gpu(keys);
  DeviceArray<float> rows(values.size());
  DeviceArray<float> gradients(values);
  const std::vector<uint64_t> counts = {keys.size()};
  ASSERT_TRUE(group->Forward(RowBatch{on_gpu.data(), counts, rows.data()}).ok());
  run(OpKind::kUpdate, {keys.data(), 2});
  run(OpKind::kAssign, {keys.data() + 2, 1});
  run(OpKind::kErase, {keys.data() + 6, 2});
  ASSERT_TRUE(group->Backward(gradients.data(), 2).ok());
  pair.UpdateHost({keys}, {values}, 2);
  pair.ExpectSameRows();
}

TEST_F(EmbeddingGroupTest, SeveralGroupsMayTrainTheSameTables) {
  Pair pair(SpecsOf(Groups()[0]));
  std::mt19937_64 random(8);
  const auto first = pair.Open();
  const auto second = pair.Open();
  for (uint64_t step = 1; step <= 6; step += 2) {
    BagStep<float> one(pair, random, {}, PooledType::kFloat32);
    BagStep<float> other(pair, random, {.weighted = true}, PooledType::kFloat32);
    ASSERT_TRUE(first->Forward(one.batch()).ok());
    ASSERT_TRUE(second->Forward(other.batch()).ok());
    one.ExpectVectors();
    other.ExpectVectors();
    ASSERT_TRUE(first->Backward(one.gradients(), step).ok());
    one.UpdateHost(step);
    ASSERT_TRUE(second->Backward(other.gradients(), step + 1).ok());
    other.UpdateHost(step + 1);
  }
  pair.ExpectSameTables();
}

// What a checkpoint holds that was begun before, or between forward and backward.
void EmbeddingGroupTest::CheckSnapshots(std::unique_ptr<LocalStore> store) {
  Pair pair(SpecsOf(Groups()[0]), std::move(store));
  std::vector<LocalStore::Entries> cuts(2);
  std::vector<TableBits> expected;
  const auto cut = [&](uint32_t epoch) {
    expected.clear();
    for (const TableSpec& spec : pair.specs()) expected.push_back(BitsOf(pair.host(), spec.name));
    for (size_t s = 0; s < cuts.size(); ++s) {
      cuts[s] = pair.stores()[s]->Cut(epoch, [](LocalTable& table) { table.BeginSnapshot(0); });
    }
  };
  const auto check = [&] {
    for (const auto& entry : cuts[0]) {
      TableBits bits;
      ScanPage page;
      while (!page.done) {
        page.rows_max = 256;
        ASSERT_TRUE(entry->table->SnapshotPage(page).ok());
        AddPage(page, &bits);
      }
      const std::string& name = entry->table->spec().name;
      for (size_t t = 0; t < expected.size(); ++t) {
        if (pair.specs()[t].name == name) EXPECT_TRUE(bits == expected[t]) << name;
      }
      entry->table->EndSnapshot();
    }
    for (const auto& entry : cuts[1]) entry->table->EndSnapshot();
  };
  Train<float>(pair, {}, PooledType::kFloat32, 6, [&](uint64_t step) {
    if (step == 2) cut(1);   // between
    if (step == 4) check();  // two steps later
    if (step == 5) cut(2);
  });
  check();
}

TEST_F(EmbeddingGroupTest, SnapshotsHoldTheRowsAsTheyWereAtTheCut) {
  CheckSnapshots(OnGpu());
  CheckSnapshots(OverHost(2'000));
}

TEST_F(EmbeddingGroupTest, LooksUpWhatIsNotLearnedFrom) {
  Pair pair(SpecsOf(Groups()[1]));
  Train<float>(pair, {}, PooledType::kFloat32);
  const auto group = pair.Open();
  std::mt19937_64 random(21);
  BagStep<float> step(pair, random, {.weighted = true}, PooledType::kFloat32);
  ASSERT_TRUE(group->LookUp(step.batch()).ok());
  step.ExpectVectors();
  EXPECT_EQ(group->Backward(step.gradients(), 9).code(), StatusCode::kInvalid);
}

TEST_F(EmbeddingGroupTest, LooksUpWhatLiesBelow) {
  Pair pair(SpecsOf(Groups()[1]), OverHost(2'000));
  Train<float>(pair, {}, PooledType::kFloat32, 6, [](uint64_t) {});
  const auto group = pair.Open();
  std::mt19937_64 random(21);
  BagStep<float> step(pair, random, {.weighted = true}, PooledType::kFloat32);
  ASSERT_TRUE(group->LookUp(step.batch()).ok());
  step.ExpectVectors();
  EXPECT_EQ(group->Backward(step.gradients(), 9).code(), StatusCode::kInvalid);
  pair.ExpectSameRows();
}

// Rows of a table that grows beyond the GPU's memory go to the host's, or are refused without it.
TEST_F(EmbeddingGroupTest, AStoreMayHaveHostMemoryBelow) {
  constexpr uint64_t kKeys = 8'000;
  std::vector<uint64_t> keys(kKeys);
  DeviceArray<float> rows(kKeys * 1024);
  DeviceArray<float> gradients(std::vector<float>(kKeys * 1024, 0.5F));
  const std::vector<uint64_t> counts = {kKeys};
  for (const bool has_host : {false, true}) {
    GpuStoreOptions options{.device = 0, .memory_bytes = 6 * DevicePool::kChunkBytes};
    if (has_host) options.host_memory_bytes_max = 1ULL << 30;
    auto store = MakeLocalGpuStore(options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    Pair pair({SpecOf(0, 1024)}, std::move(*store));
    const auto group = pair.Open();
    Status status;
    uint64_t step = 0;
    for (; step < 3 && status.ok(); ++step) {
      std::iota(keys.begin(), keys.end(), step * kKeys);
      DeviceArray<uint64_t> on_gpu(keys);
      status = group->Forward(RowBatch{on_gpu.data(), counts, rows.data()});
      if (status.ok()) status = group->Backward(gradients.data(), step + 1);
    }
    EXPECT_EQ(status.code(), has_host ? StatusCode::kOk : StatusCode::kRefused)
        << status.ToString();
    EXPECT_EQ(Pair::Stats(pair.gpu(), pair.specs()[0]).rows, (has_host ? 3 : step - 1) * kKeys);
  }
}

TEST_F(EmbeddingGroupTest, RefusesTablesThatCannotBeOneGroup) {
  Pair pair(SpecsOf({4, 8}));
  TableSpec other = SpecOf(7, 4);
  other.optimizer.learning_rate = 0.5F;
  ASSERT_TRUE(pair.gpu().CreateTable(other).ok());
  const auto opened = [&](LocalStore& store, const std::vector<std::string>& names) {
    return EmbeddingGroup::Open(store, names, pair.exec()).status();
  };
  EXPECT_EQ(opened(pair.gpu(), {}).code(), StatusCode::kInvalid);
  EXPECT_EQ(opened(pair.gpu(), {"t0", "t0"}).code(), StatusCode::kInvalid);
  EXPECT_EQ(opened(pair.gpu(), {"t0", "t7"}).code(), StatusCode::kInvalid);
  EXPECT_EQ(opened(pair.gpu(), {"t0", "t9"}).code(), StatusCode::kNotFound);
  EXPECT_EQ(opened(pair.host(), {"t0", "t1"}).code(), StatusCode::kInvalid);
  EXPECT_EQ(opened(pair.gpu(), std::vector<std::string>(65, "t0")).code(), StatusCode::kInvalid);
  Exec absent = pair.exec();
  absent.ordinal = GpusHere();
  EXPECT_EQ(EmbeddingGroup::Open(pair.gpu(), NamesOf(pair.specs()), absent).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  Exec cpu = pair.exec();
  cpu.device = DeviceKind::kCpu;
  EXPECT_EQ(EmbeddingGroup::Open(pair.gpu(), NamesOf(pair.specs()), cpu).status().code(),
            StatusCode::kInvalid);
}

TEST_F(EmbeddingGroupTest, RefusesCallsThatDoNotFit) {
  Pair pair(SpecsOf({4, 8}));
  const auto group = pair.Open();
  const std::vector<const void*> none(2);
  EXPECT_EQ(group->Backward(none, 1).code(), StatusCode::kInvalid);  // of nothing
  DeviceArray<uint64_t> keys(std::vector<uint64_t>{1, 2, 3});
  DeviceArray<float> out(64);
  const std::vector<EmbeddingBags> good = {
      {.keys = 2, .bags = 2, .out = out.data(), .stride = 4},
      {.keys = 1, .bags = 1, .out = out.data() + 16, .stride = 8}};
  const auto forward = [&](const std::vector<EmbeddingBags>& bags) {
    return group->Forward(BagBatch{keys.data(), bags, PooledType::kFloat32}).code();
  };
  const auto with = [&](auto change) {
    std::vector<EmbeddingBags> bags = good;
    change(bags[1]);
    return forward(bags);
  };
  EXPECT_EQ(forward({good[0]}), StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.keys = 2; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.stride = 7; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.slots = 0; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.vector_stride = 7; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.vector_stride = 9; }), StatusCode::kInvalid);
  EXPECT_EQ(group->Forward(BagBatch{nullptr, good, PooledType::kFloat32}).code(),
            StatusCode::kInvalid);
  const std::vector<uint64_t> counts = {2, 1};
  EXPECT_EQ(group->Forward(RowBatch{keys.data(), counts, out.data() + 1}).code(),
            StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.out = nullptr; }), StatusCode::kInvalid);
  EXPECT_EQ(with([&](EmbeddingBags& bags) { bags.out = out.data() + 1; }), StatusCode::kInvalid);
  EXPECT_EQ(with([](EmbeddingBags& bags) { bags.keys = bags.bags = 1ULL << 31; }),
            StatusCode::kInvalid);
  EXPECT_EQ(group->Backward(none, 1).code(), StatusCode::kInvalid);

  EXPECT_EQ(forward(good), StatusCode::kOk);
  DeviceArray<float> gradients(std::vector<float>(64, 0.5F));
  const std::vector<const void*> given = {gradients.data(), gradients.data() + 16};
  EXPECT_EQ(group->Backward(gradients.data(), 1).code(), StatusCode::kInvalid);  // by position
  EXPECT_EQ(group->Backward({given.data(), 1}, 1).code(), StatusCode::kInvalid);
  EXPECT_EQ(group->Backward(none, 1).code(), StatusCode::kInvalid);
  EXPECT_EQ(group->Backward(given, 0).code(), StatusCode::kInvalid);
  EXPECT_EQ(group->Backward(given, 1).code(), StatusCode::kOk);
  EXPECT_EQ(group->Backward(given, 1).code(), StatusCode::kInvalid);  // twice

  ASSERT_TRUE(group->Forward(RowBatch{keys.data(), counts, out.data()}).ok());
  EXPECT_EQ(group->Backward(gradients.data() + 1, 2).code(), StatusCode::kInvalid);
  EXPECT_EQ(group->Backward(gradients.data(), 2).code(), StatusCode::kOk);

  EXPECT_EQ(forward(good), StatusCode::kOk);
  ASSERT_TRUE(pair.gpu().DropTable("t1").ok());
  EXPECT_EQ(group->Backward(given, 2).code(), StatusCode::kNotFound);
  TableSpec other = pair.specs()[1];
  other.dim = 16;
  ASSERT_TRUE(pair.gpu().CreateTable(other).ok());
  EXPECT_EQ(group->Backward(given, 2).code(), StatusCode::kInvalid);
  EXPECT_EQ(forward(good), StatusCode::kInvalid);
}

uint64_t MovedUp(LocalStore& store, const std::string& name) {
  const auto entries = store.Find({&name, 1});
  STRATA_CHECK(entries.ok());
  return dynamic_cast<HotTable&>(*(*entries)[0]->table).hot_stats().moved_up;
}

TEST_F(EmbeddingGroupTest, BringsUpRowsFromTheTierBelow) {
  for (const auto& dims : Groups()) {
    Pair pair(SpecsOf(dims), OverHost(2'000));
    Train<float>(pair, {.weighted = true}, PooledType::kFloat32, 8, [](uint64_t) {});
    pair.ExpectSameTables();
    EXPECT_GT(MovedUp(pair.gpu(), pair.specs().back().name), 100U);
  }
}

TEST_F(EmbeddingGroupTest, OthersMayMoveRowsBetweenTheTiersBetweenForwardAndBackward) {
  Pair pair(SpecsOf(Groups()[0]), OverHost(2'500));
  std::mt19937_64 random(3);
  Train<float>(pair, {}, PooledType::kFloat32, 12, [&](uint64_t step) {
    for (const TableSpec& spec : pair.specs()) {
      std::vector<uint64_t> keys = SkewedKeys(random, 1'200);
      for (uint64_t& key : keys) key += 1'000 * (step % 5);
      WriteTo(pair, spec, keys, step, random);
    }
  });
  pair.ExpectSameTables();
}

TEST_F(EmbeddingGroupTest, ABatchOfMoreRowsThanFitTheGpuIsRefused) {
  Pair pair(SpecsOf(Groups()[0]), OverHost(300));
  std::mt19937_64 random(3);
  const auto group = pair.Open();
  BagStep<float> step(pair, random, {}, PooledType::kFloat32);
  const Status status = group->Forward(step.batch());
  EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
  EXPECT_EQ(group->Backward(step.gradients(), 1).code(), StatusCode::kInvalid);
  pair.ExpectSameRows();
}

// Rows go down, without a batch that has them, between forward and backward.
TEST_F(EmbeddingGroupTest, RowsThatLeftTheGpuMeanwhileComeBack) {
  Pair pair(SpecsOf(Groups()[0]), OverHost(2'000));
  Train<float>(pair, {}, PooledType::kFloat32, 5, [&](uint64_t step) {
    if (step % 2 == 0) return;
    for (const TableSpec& spec : pair.specs()) {
      // As for a batch that the GPU's memory has no room for, even alone.
      std::vector<uint64_t> keys(2'500);
      std::iota(keys.begin(), keys.end(), 1'000'000 * step);
      const std::vector<float> values(keys.size() * spec.dim, 0.5F);
      Operation operation = OperationOf(OpKind::kAssign);
      operation.parts.push_back({.table = spec.id(), .keys = keys, .in = values});
      pair.Run(operation);
    }
  });
  EXPECT_GT(Pair::Stats(pair.gpu(), pair.specs()[0]).passed_down, 0U);
}

// The table that was dropped and made anew is empty, and the step makes its rows there.
TEST_F(EmbeddingGroupTest, ATableMadeAnewIsUpdatedAsItIsThen) {
  Pair pair(SpecsOf(Groups()[0]));
  Train<float>(pair, {}, PooledType::kFloat32, 4, [&](uint64_t step) {
    if (step != 3) return;
    for (LocalStore* store : pair.stores()) {
      for (const TableSpec& spec : pair.specs()) {
        ASSERT_TRUE(store->DropTable(spec.name).ok());
        ASSERT_TRUE(store->CreateTable(spec).ok());
      }
    }
  });
}

TEST_F(EmbeddingGroupTest, WhereNewRowsHaveNoRoomNothingIsUpdatedAndItCanBeTriedAgain) {
  // Two tables of rows so large that few fit beside each other.
  std::vector<TableSpec> specs = SpecsOf({1024, 1024});
  Pair pair(specs, OnGpu(4 * DevicePool::kChunkBytes));
  const auto group = pair.Open();
  constexpr uint64_t kKeys = 6'000;
  std::vector<uint64_t> keys(2 * kKeys);
  std::iota(keys.begin(), keys.end(), 0);
  DeviceArray<uint64_t> on_gpu(keys);
  DeviceArray<float> rows(keys.size() * 1024);
  DeviceArray<float> gradients(std::vector<float>(keys.size() * 1024, 0.5F));
  const std::vector<uint64_t> counts = {kKeys, kKeys};
  ASSERT_TRUE(group->Forward(RowBatch{on_gpu.data(), counts, rows.data()}).ok());
  const Status status = group->Backward(gradients.data(), 1);
  EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
  for (const TableSpec& spec : specs) {
    EXPECT_EQ(Pair::Stats(pair.gpu(), spec).rows, 0U);
    EXPECT_EQ(Pair::Stats(pair.gpu(), spec).steps, 0U);
  }
  EXPECT_EQ(group->Backward(gradients.data(), 1).code(), StatusCode::kRefused);
}

// The keys of the next batch are combined while this one is updated.
TEST_F(EmbeddingGroupTest, KeysThatAreReadyEarlyGiveTheSameTables) {
  constexpr size_t kKeys = size_t{1} << 17;  // from which they are
  constexpr uint32_t kDim = 4;
  const std::vector<TableSpec> specs = SpecsOf({kDim});
  const std::vector<std::string> names = NamesOf(specs);
  std::mt19937_64 random(17);
  std::vector<std::unique_ptr<DeviceArray<uint64_t>>> batches;
  for (int b = 0; b < 2; ++b) {
    std::vector<uint64_t> keys(kKeys);
    for (uint64_t& key : keys) key = random() % 2 == 0 ? random() % 40 : random() % 60'000;
    batches.push_back(std::make_unique<DeviceArray<uint64_t>>(keys));
  }
  std::vector<float> gradients(kKeys * kDim);
  for (float& x : gradients) x = DrawFloat(random);
  DeviceArray<float> on_gpu(gradients);
  DeviceArray<float> vectors(gradients.size());
  cudaStream_t stream = nullptr;
  cudaEvent_t ready = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), cudaSuccess);
  std::vector<TableBits> bits;
  std::vector<std::vector<float>> last;
  for (const bool is_early : {false, true}) {
    const auto store = OnGpu();
    ASSERT_TRUE(store->CreateTable(specs[0]).ok());
    const auto group = EmbeddingGroup::Open(*store, names, {DeviceKind::kCuda, 0, stream});
    ASSERT_TRUE(group.ok()) << group.status().ToString();
    for (uint64_t step = 1; step <= 4; ++step) {
      const EmbeddingBags bags{
          .keys = kKeys, .bags = kKeys, .out = vectors.data(), .stride = kDim, .slots = 1};
      BagBatch batch{batches[step % 2]->data(), {&bags, 1}, PooledType::kFloat32};
      if (is_early) batch.ready = ready;
      ASSERT_EQ(cudaEventRecord(ready, nullptr), cudaSuccess);
      ASSERT_TRUE((*group)->Forward(batch).ok());
      const void* const given = on_gpu.data();
      ASSERT_TRUE((*group)->Backward({&given, 1}, step).ok());
    }
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    bits.push_back(BitsOf(*store, names[0]));
    last.push_back(vectors.Get());
  }
  EXPECT_EQ(last[0], last[1]);
  EXPECT_TRUE(bits[0] == bits[1]);
  (void)cudaEventDestroy(ready);
  (void)cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace strata
