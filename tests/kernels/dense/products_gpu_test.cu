// Matrix products on a GPU against sums in double precision over the same elements.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/core/narrow.h"
#include "kernels/dense/gpu/gemm.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

// Numbers as a product takes them, on the GPU and as they are there.
class Operand {
 public:
  Operand(size_t count, GemmPrecision precision, std::mt19937_64& random)
      : is_bf16_(precision == GemmPrecision::kBf16),
        bits16_(is_bf16_ ? count : 0),
        bits32_(is_bf16_ ? 0 : count) {
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    std::vector<uint16_t> bits;
    for (size_t n = 0; n < count; ++n) {
      const float x = uniform(random);
      bits.push_back(narrow::ToBits(ElementType::kBf16, x));
      values.push_back(is_bf16_ ? narrow::FromBits(ElementType::kBf16, bits.back()) : x);
    }
    if (is_bf16_) {
      bits16_.Set(bits);
    } else {
      bits32_.Set(values);
    }
  }
  void* data() { return is_bf16_ ? static_cast<void*>(bits16_.data()) : bits32_.data(); }
  // Get reads the numbers that the GPU holds now.
  std::vector<float> Get() const {
    if (!is_bf16_) return bits32_.Get();
    std::vector<float> found;
    for (const uint16_t bits : bits16_.Get()) {
      found.push_back(narrow::FromBits(ElementType::kBf16, bits));
    }
    return found;
  }

  std::vector<float> values;

 private:
  const bool is_bf16_;
  DeviceArray<uint16_t> bits16_;
  DeviceArray<float> bits32_;
};

class ProductsOnGpu : public testing::Test {
 protected:
  static constexpr size_t kM = 192;
  static constexpr size_t kN = 64;
  static constexpr size_t kK = 136;

  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  // c as fp32, which was 0.5 before.
  std::vector<float> Run(GpuGemm& gemm, GemmCall call) {
    DeviceArray<float> c(std::vector<float>(kM * kN, 0.5F));
    call.c = c.data();
    call.c_stride = kN;
    call.c_is_fp32 = true;
    EXPECT_TRUE(gemm.Run(call).ok());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return c.Get();
  }
  std::unique_ptr<GpuGemm> Make(GemmPrecision precision) {
    auto gemm = MakeGpuGemm(exec_, precision);
    EXPECT_TRUE(gemm.ok()) << gemm.status().ToString();
    return gemm.ok() ? std::move(*gemm) : nullptr;
  }

  const Exec exec_{DeviceKind::kCuda, 0, nullptr};
};

TEST_F(ProductsOnGpu, AreSumsOfProductsWhicheverWayTheMatricesLie) {
  std::mt19937_64 random(3);
  for (const GemmPrecision precision :
       {GemmPrecision::kFp32, GemmPrecision::kTf32, GemmPrecision::kBf16}) {
    // In tf32 only 10 bits of each factor's fraction count.
    const double error = precision == GemmPrecision::kTf32 ? 2e-2 : 1e-4;
    const auto gemm = Make(precision);
    ASSERT_NE(gemm, nullptr);
    Operand a(kM * kK, precision, random);
    Operand b(kK * kN, precision, random);
    for (const bool turned_a : {false, true}) {
      for (const bool turned_b : {false, true}) {
        for (const bool adds : {false, true}) {
          SCOPED_TRACE(testing::Message() << "precision " << static_cast<int>(precision) << ", "
                                          << turned_a << turned_b << adds);
          const std::vector<float> c = Run(*gemm, {.m = kM,
                                                   .n = kN,
                                                   .k = kK,
                                                   .a = {a.data(), turned_a ? kM : kK, turned_a},
                                                   .b = {b.data(), turned_b ? kK : kN, turned_b},
                                                   .adds = adds});
          double worst = 0;
          for (size_t i = 0; i < kM; ++i) {
            for (size_t j = 0; j < kN; ++j) {
              double sum = adds ? 0.5 : 0.0;
              for (size_t e = 0; e < kK; ++e) {
                sum += static_cast<double>(a.values[turned_a ? e * kM + i : i * kK + e]) *
                       b.values[turned_b ? j * kK + e : e * kN + j];
              }
              worst = std::max(worst, std::abs(sum - c[i * kN + j]));
            }
          }
          EXPECT_LT(worst, error);
        }
      }
    }
  }
}

// Else the first number of a model that is not finite would not be found.
TEST_F(ProductsOnGpu, KeepNanThatIsRectified) {
  std::mt19937_64 random(5);
  for (const GemmPrecision precision :
       {GemmPrecision::kFp32, GemmPrecision::kTf32, GemmPrecision::kBf16}) {
    const auto gemm = Make(precision);
    ASSERT_NE(gemm, nullptr);
    Operand a(kM * kK, precision, random);
    Operand b(kK * kN, precision, random);
    Operand bias(kN, precision, random);
    const bool is_bf16 = precision == GemmPrecision::kBf16;
    const auto run = [&] {
      Operand c(kM * kN, precision, random);
      EXPECT_TRUE(gemm->Run({.m = kM,
                             .n = kN,
                             .k = kK,
                             .a = {a.data(), kK, false},
                             .b = {b.data(), kN, false},
                             .c = c.data(),
                             .c_stride = kN,
                             .relu = true,
                             .bias = bias.data()})
                      .ok());
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      return c.Get();
    };
    for (const float x : run()) EXPECT_GE(x, 0.0F);
    const uint32_t nan = is_bf16 ? 0x7fc0U : 0x7fc00000U;
    ASSERT_EQ(cudaMemcpy(bias.data(), &nan, is_bf16 ? 2 : 4, cudaMemcpyDefault), cudaSuccess);
    const std::vector<float> c = run();
    for (size_t i = 0; i < kM; ++i) {
      EXPECT_TRUE(std::isnan(c[i * kN])) << "precision " << static_cast<int>(precision);
      EXPECT_GE(c[i * kN + 1], 0.0F);
    }
  }
}

// Each object tries which way is the fastest, and may take another one.
TEST_F(ProductsOnGpu, HaveTheSameBitsInAnotherObject) {
  std::mt19937_64 random(4);
  Operand a(kM * kK, GemmPrecision::kBf16, random);
  Operand b(kK * kN, GemmPrecision::kBf16, random);
  const GemmCall call{
      .m = kM, .n = kN, .k = kK, .a = {a.data(), kK, false}, .b = {b.data(), kN, false}};
  std::vector<float> first;
  for (int object = 0; object < 4; ++object) {
    const auto gemm = Make(GemmPrecision::kBf16);
    ASSERT_NE(gemm, nullptr);
    for (int time = 0; time < 2; ++time) {
      const std::vector<float> c = Run(*gemm, call);
      if (first.empty()) first = c;
      EXPECT_EQ(c, first);
    }
  }
}

}  // namespace
}  // namespace strata
