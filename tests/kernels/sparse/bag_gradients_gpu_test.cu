// Steps of training over pooled tables on a GPU beside the same on the host, which makes a gradient
// for each key. The loss is half the square of each vector, so that vectors are their gradients.
#include <memory>

#include "kernels/sparse/bag_gradients.h"
#include "tests/kernels/sparse/bags.cuh"
#include "tests/kernels/sparse/update_model.cuh"

namespace strata {
namespace {

struct Case {
  std::vector<uint32_t> dims;
  OptimizerSpec optimizer;
  bool one_hot = false;
  bool weighted = false;
  Combiner combiner = Combiner::kSum;
  uint32_t behind = 4;    // elements behind a sample's vectors
  bool of_slots = false;  // whether it is what GradientsOfSlots is for
  bool in_fours = false;  // each vector begins at a multiple of four of them
};

// What the vector of a bag holds in a step.
template <typename T>
std::vector<T> VectorOf(const UpdateModel& model, const Case& of_case, const TableBags<T>& table,
                        size_t t, uint64_t bag) {
  const Bags& bags = table.bags;
  const uint32_t begin = bags.offsets[bag], end = bags.offsets[bag + 1];
  std::vector<float> sum(of_case.dims[t]);
  for (uint32_t i = begin; i < end; ++i) {
    const std::vector<float> row = model.ValueOf(t, bags.keys[i]);
    for (size_t e = 0; e < sum.size(); ++e) {
      sum[e] += of_case.weighted ? bags.weights[i] * row[e] : row[e];
    }
  }
  std::vector<T> vector;
  for (float& element : sum) {
    if (of_case.combiner == Combiner::kMean && end > begin + 1) {
      element /= static_cast<float>(end - begin);
    }
    vector.push_back(OnHost<T>::Rounded(element));
  }
  return vector;
}

// Appends the gradients of the keys of a bag, whose vector has this one.
template <typename T>
void AddGradients(const Case& of_case, const Bags& bags, uint64_t bag, const std::vector<T>& of_bag,
                  std::vector<float>* gradients) {
  const uint32_t begin = bags.offsets[bag], end = bags.offsets[bag + 1];
  for (uint32_t i = begin; i < end; ++i) {
    float scale = of_case.weighted ? bags.weights[i] : 1.0F;
    if (of_case.combiner == Combiner::kMean) scale /= static_cast<float>(end - begin);
    for (const T element : of_bag) gradients->push_back(scale * OnHost<T>::Widened(element));
  }
}

class BagGradientsOnGpu : public testing::Test {
 protected:
  static constexpr uint64_t kSteps = 2;

  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  template <typename T>
  static void Check(PooledType type, const Case& of_case) {
    GroupUser user(of_case.dims, of_case.optimizer);
    UpdateModel model(user, of_case.optimizer);
    std::mt19937_64 random(11);
    for (uint64_t step = 1; step <= kSteps; ++step) {
      std::vector<std::unique_ptr<TableBags<T>>> tables;
      Keys keys;
      for (size_t t = 0; t < user.tables(); ++t) {
        // One table has no bags, and one a key that comes very often.
        const uint64_t often = user.tables() == 1 ? 4'500 : 1'500;
        const uint64_t samples = t == 1 ? 0 : t + 1 == user.tables() ? often : 45;
        tables.push_back(std::make_unique<TableBags<T>>(
            random, samples, of_case.one_hot, static_cast<uint32_t>(t % 3 + 1), user.dim(t),
            of_case.behind, of_case.in_fours));
        keys.push_back(tables.back()->bags.keys);
        user.table(t).start.score = 3 * step;
      }
      Run(type, of_case, step, keys, tables, user, &model);
    }
    model.ExpectTablesAreThese();
  }

 private:
  // One step, on the GPU and by the model.
  template <typename T>
  static void Run(PooledType type, const Case& of_case, uint64_t step, const Keys& keys,
                  const std::vector<std::unique_ptr<TableBags<T>>>& tables, GroupUser& user,
                  UpdateModel* model) {
    const std::vector<uint64_t> all = Joined(keys);
    const TableGroup group = user.GroupOf(keys);
    DeviceArray<uint64_t> on_device(all);
    std::vector<PooledTable> pooled;
    std::vector<const void*> vectors;
    for (size_t t = 0; t < tables.size(); ++t) {
      TableBags<T>& table = *tables[t];
      pooled.push_back({.map = user.table(t).map().ref(),
                        .start = user.table(t).start,
                        .keys = on_device.data() + group.tables[t].first_key,
                        .offsets = of_case.one_hot ? nullptr : table.offsets.data(),
                        .weights = of_case.weighted ? table.weights.data() : nullptr,
                        .bags = table.bags.count(),
                        .out = table.vectors.data(),
                        .stride = table.stride,
                        .vector_stride = table.vector_stride,
                        .slots = table.slots,
                        .combiner = of_case.combiner});
      vectors.push_back(table.vectors.data());
    }
    Combined combined(all.size());
    DeviceArray<BagGradient> bags(all.size());
    bags.Poison();
    const std::vector<uint32_t> ends = {3, static_cast<uint32_t>(all.size() / 2),
                                        static_cast<uint32_t>(all.size())};
    DeviceArray<uint32_t> on_device_ends(ends);
    const size_t bytes = UpdateScratchBytes(all.size(), group.dim_max);
    DeviceArray<std::byte> scratch(bytes);
    CombineBatch(user.exec(), group, on_device.data(), nullptr, combined.ref(),
                 {combined.scratch.data(), CombineScratchBytes(all.size())});
    PoolRows(user.exec(), pooled, type);
    const std::optional<BatchGradients> of_slots = GradientsOfSlots(pooled, vectors, type);
    EXPECT_EQ(of_slots.has_value(), of_case.of_slots);
    BatchGradients gradients = of_slots.has_value() ? *of_slots
                                                    : GradientsOfBags(user.exec(), group, pooled,
                                                                      vectors, type, bags.data());
    gradients.part_ends = {on_device_ends.data(), ends.size()};
    UpdateRows(user.exec(), group, of_case.optimizer, step, combined.ref(), gradients,
               {scratch.data(), bytes});
    user.Sync();
    EXPECT_GE(combined.counts.Get()[2], 1U) << "no key came very often";

    std::vector<float> by_key;
    for (size_t t = 0; t < tables.size(); ++t) {
      by_key.resize(group.tables[t].first_element);
      std::vector<T> expected = tables[t]->vectors.Get();
      for (uint64_t bag = 0; bag < tables[t]->bags.count(); ++bag) {
        const std::vector<T> vector = VectorOf(*model, of_case, *tables[t], t, bag);
        std::ranges::copy(vector,
                          expected.begin() + static_cast<ptrdiff_t>(tables[t]->ElementOf(bag)));
        AddGradients(of_case, tables[t]->bags, bag, vector, &by_key);
      }
      ExpectSame(tables[t]->vectors.Get(), expected);
    }
    by_key.resize(group.elements);
    model->Apply(keys, by_key, step, ends);
  }
};

constexpr OptimizerSpec kAdaGrad{.kind = OptimizerKind::kAdaGrad, .learning_rate = 0.1F};

// Rows in steps of four elements, of one, and in several steps of a warp. The last table of each
// has most of the keys, and short rows: an emulated GPU takes a minute for wide ones.
const std::vector<std::vector<uint32_t>>& Groups() {
  static const std::vector<std::vector<uint32_t>> groups = {
      {16, 8, 128, 64, 4}, {16, 8, 3, 128, 1, 9}, {200, 8, 12}};
  return groups;
}

// Rows of each kind in turn: BatchOnGpu has each rule over all of them.
TEST_F(BagGradientsOnGpu, UpdateRowsAsTheHostDoesByAnyRule) {
  const auto groups = Groups();
  size_t group = 0;
  for (const OptimizerSpec& optimizer : PlainAndShapedOptimizers()) {
    Check<float>(PooledType::kFloat32, {.dims = groups[group++ % groups.size()],
                                        .optimizer = optimizer,
                                        .weighted = true,
                                        .combiner = Combiner::kMean});
  }
}
TEST_F(BagGradientsOnGpu, AreTheirVectorsWhereBagsHaveOneKey) {
  for (const auto& dims : Groups()) {
    Check<float>(PooledType::kFloat32, {.dims = dims, .optimizer = kAdaGrad, .one_hot = true});
  }
}
TEST_F(BagGradientsOnGpu, OfSumsAreThoseOfAllTheirKeys) {
  for (const auto& dims : Groups()) {
    Check<float>(PooledType::kFloat32, {.dims = dims, .optimizer = kAdaGrad});
  }
}
// Elements between the vectors have no effect.
TEST_F(BagGradientsOnGpu, MayBeginAtMultiplesOfFour) {
  for (const auto& dims : Groups()) {
    Check<float>(PooledType::kFloat32, {.dims = dims, .optimizer = kAdaGrad, .in_fours = true});
    Check<__nv_bfloat16>(PooledType::kBFloat16,
                         {.dims = dims, .optimizer = kAdaGrad, .one_hot = true, .in_fours = true});
  }
}
// One table, and a key in each slot: no list of bags is made.
TEST_F(BagGradientsOnGpu, OfSlotsThatHaveAKeyEach) {
  for (const uint32_t dim : {16U, 17U, 3U, 128U, 200U}) {
    const Case of_case{
        .dims = {dim}, .optimizer = kAdaGrad, .one_hot = true, .of_slots = true, .in_fours = true};
    Check<float>(PooledType::kFloat32, of_case);
    Check<__nv_bfloat16>(PooledType::kBFloat16, of_case);
  }
  // Of halves, of weighted keys and of vectors side by side one is made.
  const Case of_list{.dims = {17}, .optimizer = kAdaGrad, .one_hot = true, .in_fours = true};
  Check<__half>(PooledType::kFloat16, of_list);
  Case weighted = of_list;
  weighted.weighted = true;
  Check<float>(PooledType::kFloat32, weighted);
  Check<float>(PooledType::kFloat32, {.dims = {17}, .optimizer = kAdaGrad, .one_hot = true});
}
TEST_F(BagGradientsOnGpu, OfMeansAreDividedByTheNumberOfKeys) {
  for (const auto& dims : Groups()) {
    Check<float>(PooledType::kFloat32,
                 {.dims = dims, .optimizer = kAdaGrad, .combiner = Combiner::kMean});
  }
}
TEST_F(BagGradientsOnGpu, NeedNotBeginAtMultiplesOfFourElements) {
  Check<float>(PooledType::kFloat32, {.dims = Groups()[0], .optimizer = kAdaGrad, .behind = 3});
}
TEST_F(BagGradientsOnGpu, MayBeBFloat16) {
  for (const auto& dims : Groups()) {
    Check<__nv_bfloat16>(
        PooledType::kBFloat16,
        {.dims = dims, .optimizer = kAdaGrad, .weighted = true, .combiner = Combiner::kMean});
  }
}
TEST_F(BagGradientsOnGpu, MayBeHalf) {
  for (const auto& dims : Groups()) {
    Check<__half>(PooledType::kFloat16,
                  {.dims = dims, .optimizer = kAdaGrad, .one_hot = true, .weighted = true});
  }
}

}  // namespace
}  // namespace strata
