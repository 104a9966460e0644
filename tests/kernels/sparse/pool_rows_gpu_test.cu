// Pooled lookups on a GPU beside sums in key order on the host.
#include "kernels/sparse/pool_rows.h"
#include "tests/kernels/sparse/bags.cuh"
#include "tests/kernels/sparse/group_user.cuh"

namespace strata {
namespace {

class PoolRowsOnGpu : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  // Table t pools `bags[t]`; samples of `slots[t]` vectors each.
  template <typename T>
  static void Check(PooledType type, bool one_hot, bool weighted, Combiner combiner,
                    ElementType stored = ElementType::kFp32, bool in_fours = false) {
    GroupUser user({16, 3, 128, 1, 20, 1024, 200}, {.kind = OptimizerKind::kAdaGrad}, stored);
    const uint32_t slots[] = {2, 1, 3, 4, 1, 1, 2};
    std::mt19937_64 random(7);
    std::vector<Bags> bags;
    std::vector<std::vector<T>> expected;
    struct OnDevice {
      OnDevice(const Bags& of_table, size_t elements)
          : keys(of_table.keys),
            offsets(of_table.offsets),
            weights(of_table.weights),
            out(elements) {}
      DeviceArray<uint64_t> keys;
      DeviceArray<uint32_t> offsets;
      DeviceArray<float> weights;
      DeviceArray<T> out;
    };
    std::vector<std::unique_ptr<OnDevice>> on_device;
    std::vector<PooledTable> tables;
    for (size_t t = 0; t < user.tables(); ++t) {
      const uint32_t dim = user.dim(t);
      const uint64_t samples = t == 4 ? 1 : 61;
      bags.push_back(DrawBags(random, samples * slots[t], one_hot));
      const Bags& of_table = bags.back();
      // Vectors of a sample lie side by side, and other things behind them.
      const uint64_t vector_stride = in_fours ? (dim + 3) / 4 * 4 : dim;
      const uint64_t stride = slots[t] * vector_stride + (in_fours || t % 2 == 0 ? 4 : 3);
      on_device.push_back(std::make_unique<OnDevice>(of_table, samples * stride));
      on_device.back()->out.Poison();
      expected.push_back(on_device.back()->out.Get());
      for (uint64_t bag = 0; bag < of_table.count(); ++bag) {
        std::vector<float> sum(dim);
        const uint32_t begin = of_table.offsets[bag], end = of_table.offsets[bag + 1];
        for (uint32_t i = begin; i < end; ++i) {
          const std::vector<float> row = user.RowOf(t, of_table.keys[i]);
          for (uint32_t e = 0; e < dim; ++e) {
            sum[e] += weighted ? of_table.weights[i] * row[e] : row[e];
          }
        }
        for (uint32_t e = 0; e < dim; ++e) {
          if (combiner == Combiner::kMean && end - begin > 1) {
            sum[e] /= static_cast<float>(end - begin);
          }
          expected.back()[bag / slots[t] * stride + bag % slots[t] * vector_stride + e] =
              OnHost<T>::Rounded(sum[e]);
        }
      }
      tables.push_back({.map = user.table(t).map().ref(),
                        .start = user.table(t).start,
                        .keys = on_device.back()->keys.data(),
                        .offsets = one_hot ? nullptr : on_device.back()->offsets.data(),
                        .weights = weighted ? on_device.back()->weights.data() : nullptr,
                        .bags = of_table.count(),
                        .out = on_device.back()->out.data(),
                        .stride = stride,
                        .vector_stride = vector_stride,
                        .slots = slots[t],
                        .combiner = combiner});
    }
    PoolRows(user.exec(), tables, type);
    user.Sync();
    for (size_t t = 0; t < user.tables(); ++t) {
      SCOPED_TRACE(testing::Message() << "table " << t);
      const PooledTable& table = tables[t];
      const std::vector<T> out = on_device[t]->out.Get();
      for (uint64_t bag = 0; bag < table.bags; ++bag) {  // what is between them may be anything
        for (uint64_t e = user.dim(t); e < table.vector_stride; ++e) {
          expected[t][table.ElementOf(bag) + e] = out[table.ElementOf(bag) + e];
        }
      }
      ExpectSame(out, expected[t]);
    }
  }
};

TEST_F(PoolRowsOnGpu, SumsBagsOfAnyLength) {
  Check<float>(PooledType::kFloat32, false, false, Combiner::kSum);
}
TEST_F(PoolRowsOnGpu, TakesOneKeyABagWithoutOffsets) {
  Check<float>(PooledType::kFloat32, true, false, Combiner::kSum);
}
TEST_F(PoolRowsOnGpu, WritesVectorsThatBeginAtMultiplesOfFour) {
  for (const ElementType stored : {ElementType::kFp32, ElementType::kBf16}) {
    Check<float>(PooledType::kFloat32, false, false, Combiner::kMean, stored, true);
    Check<__nv_bfloat16>(PooledType::kBFloat16, true, false, Combiner::kSum, stored, true);
    Check<float>(PooledType::kFloat32, true, true, Combiner::kSum, stored, true);
  }
}
TEST_F(PoolRowsOnGpu, WeighsRows) {
  Check<float>(PooledType::kFloat32, false, true, Combiner::kSum);
}
TEST_F(PoolRowsOnGpu, DividesByTheNumberOfKeys) {
  Check<float>(PooledType::kFloat32, false, false, Combiner::kMean);
}
TEST_F(PoolRowsOnGpu, RoundsToBFloat16) {
  Check<__nv_bfloat16>(PooledType::kBFloat16, false, true, Combiner::kMean);
}
TEST_F(PoolRowsOnGpu, ReadsRowsOfNarrowTypes) {
  for (const ElementType stored : {ElementType::kBf16, ElementType::kFp16}) {
    Check<float>(PooledType::kFloat32, false, true, Combiner::kMean, stored);
    Check<__nv_bfloat16>(PooledType::kBFloat16, true, false, Combiner::kSum, stored);
  }
}
TEST_F(PoolRowsOnGpu, RoundsToHalf) {
  Check<__half>(PooledType::kFloat16, true, false, Combiner::kSum);
}

}  // namespace
}  // namespace strata
