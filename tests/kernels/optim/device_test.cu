// Arithmetic on one element gives the same bits on the host and on every GPU present.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/core/initializer.h"
#include "kernels/optim/gradient_shape.h"
#include "kernels/optim/rules.h"

namespace strata {
namespace {

constexpr uint32_t kCases = 1U << 18;
constexpr uint32_t kWords = 16;  // results of a case

struct MathCase {
  STRATA_HD void operator()(uint64_t n, float* out) const {
    const uint64_t a = Mix64(n), b = Mix64(a);
    const float x = static_cast<float>(static_cast<double>(a) * 0x1p-64 * 180.0 - 90.0);
    const auto element = static_cast<uint32_t>(b & 1023);
    out[0] = math::Exp(x);
    out[1] = math::Log(x * x);
    out[2] = math::Sigmoid(x);
    out[3] = math::Softplus(x);
    out[4] = math::Sqrt(x * x + 0.1F);
    out[5] = InitialElement({InitializerKind::kNormal, 0.3F}, 7, a, element);
    out[6] = InitialElement({InitializerKind::kUniform, 0.3F}, 7, a, element);
    const math::NormalPair normals = math::NormalsFromBits(a, b);
    const double wide[] = {math::Exp(x * 7.0), math::Log(static_cast<double>(a)), normals.first,
                           normals.second};
    memcpy(out + 8, wide, sizeof wide);
  }
};

// What a rule is on the elements of a row.
template <typename Rule>
STRATA_HD auto OfSomeRow(const Rule& rule, uint64_t n) {
  if constexpr (Rule::kNeeds == RowNeed::kLastStep) {
    return rule.ForRow(n % 1000);
  } else if constexpr (Rule::kNeeds == RowNeed::kMeanSquare) {
    return rule.ForRow(static_cast<double>(n) * 0.1, 0.1F);
  } else {
    return rule;
  }
}

template <typename Rule>
struct RuleCase {
  Rule rule;
  ShapedGradient shape;

  STRATA_HD void operator()(uint64_t n, float* out) const {
    constexpr InitializerSpec kNormal{InitializerKind::kNormal, 1.0F};
    out[0] = InitialElement(kNormal, 1, n, 0);
    out[1] = 0.1F;
    out[2] = 0.2F;
    ShapedGradient of_row = shape;
    of_row.ScaleTo(static_cast<double>(n) * 0.01);
    const auto on_elements = OfSomeRow(rule, n);
    for (uint32_t i = 0; i < 5; ++i) {
      on_elements(of_row(InitialElement(kNormal, 2, n, i), out[0]), out[0], out + 1, 1);
    }
  }
};

template <typename Case>
__global__ void RunCases(Case run, float* out) {
  const uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < kCases) run(n, out + size_t{n} * kWords);
}

template <typename Case>
void ExpectSameBits(const Case& run) {
  std::vector<float> host(size_t{kCases} * kWords), device(host.size());
  for (uint32_t n = 0; n < kCases; ++n) run(n, &host[size_t{n} * kWords]);
  const size_t bytes = host.size() * sizeof(float);
  float* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory, 0, bytes), cudaSuccess);
  RunCases<<<(kCases + 255) / 256, 256>>>(run, memory);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device.data(), memory, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  for (size_t n = 0; n < kCases; ++n) {
    ASSERT_EQ(memcmp(&host[n * kWords], &device[n * kWords], kWords * sizeof(float)), 0)
        << "case " << n;
  }
}

TEST(DeviceTest, HostAndEveryGpuAgreeToTheBit) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << "no GPU on this machine";
  }
  for (int device = 0; device < devices; ++device) {
    SCOPED_TRACE("GPU " + std::to_string(device));
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    ExpectSameBits(MathCase{});
    for (uint8_t kind = 1; kind <= static_cast<uint8_t>(OptimizerKind::kLazyAdam); ++kind) {
      OptimizerSpec spec;
      spec.kind = static_cast<OptimizerKind>(kind);
      spec.l1 = 0.1F;
      spec.beta = 0.5F;
      WithRule(spec, 1000, [](const auto& rule) {
        ExpectSameBits(RuleCase<std::decay_t<decltype(rule)>>{rule, {1.5F, 1.0F, 0.01F}});
      });
    }
  }
}

}  // namespace
}  // namespace strata
