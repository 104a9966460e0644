// Layers of click models on a GPU against plain loops in double precision over the same elements.
#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/core/narrow.h"
#include "kernels/dense/batch_norm.h"
#include "kernels/dense/gpu/layers.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

class LayersOnGpu : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
  Exec exec_{DeviceKind::kCuda, 0, nullptr};
};

// Columns of a matrix on the GPU, which holds other things beside them, and what they are on the
// host.
class TestColumns {
 public:
  static constexpr size_t kBefore = 8;
  static constexpr float kBeside = 77.0F;

  TestColumns(size_t samples, size_t width, GpuElement type, std::mt19937_64& random,
              size_t gap = 8)
      : samples_(samples),
        width_(width),
        stride_((kBefore + width + gap + 7) / 8 * 8),
        type_(type),
        bits16_(type == GpuElement::kBf16 ? samples * stride_ : 0),
        bits32_(type == GpuElement::kFp32 ? samples * stride_ : 0) {
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    std::vector<float> all(samples * stride_, kBeside);
    for (size_t i = 0; i < samples; ++i) {
      for (size_t e = 0; e < width; ++e) all[i * stride_ + kBefore + e] = uniform(random);
    }
    Set(all);
  }

  GpuColumns columns() {
    void* const data = type_ == GpuElement::kBf16 ? static_cast<void*>(bits16_.data())
                                                  : static_cast<void*>(bits32_.data());
    return GpuColumns{data, stride_, stride_, type_}.From(kBefore, width_);
  }
  // Samples x width; what lies beside them is as it was.
  std::vector<double> Get() const {
    std::vector<double> all;
    for (const float x : bits32_.Get()) all.push_back(x);
    for (const uint16_t x : bits16_.Get()) all.push_back(narrow::FromBits(ElementType::kBf16, x));
    std::vector<double> found;
    for (size_t n = 0; n < all.size(); ++n) {
      const size_t e = n % stride_;
      if (e >= kBefore && e < kBefore + width_) {
        found.push_back(all[n]);
      } else {
        EXPECT_EQ(all[n], kBeside) << "beside the columns";
      }
    }
    return found;
  }
  size_t width() const { return width_; }

 private:
  void Set(const std::vector<float>& all) {
    if (type_ == GpuElement::kFp32) return bits32_.Set(all);
    std::vector<uint16_t> bits;
    for (const float x : all) bits.push_back(narrow::ToBits(ElementType::kBf16, x));
    bits16_.Set(bits);
  }

  const size_t samples_;
  const size_t width_;
  const size_t stride_;
  const GpuElement type_;
  DeviceArray<uint16_t> bits16_;
  DeviceArray<float> bits32_;
};

constexpr GpuElement kTypes[] = {GpuElement::kFp32, GpuElement::kBf16};

double Tolerance(GpuElement type) { return type == GpuElement::kFp32 ? 1e-5 : 1.0 / 128; }

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected,
                double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

TEST_F(LayersOnGpu, SumsOfColumns) {
  std::mt19937_64 random(1);
  for (const GpuElement type : kTypes) {
    for (const auto& [samples, width] : {std::pair{1UL, 1UL}, {700UL, 13UL}, {2000UL, 300UL}}) {
      TestColumns x(samples, width, type, random);
      TestColumns weights(samples, 1, GpuElement::kFp32, random);
      DeviceArray<std::byte> scratch(GpuSumScratchBytes(width));
      DeviceArray<float> out(width);
      for (const bool weighted : {false, true}) {
        GpuSumColumns(exec_, samples, x.columns(), weighted ? weights.columns() : GpuColumns{},
                      out.data(), scratch.data());
        const std::vector<double> all = x.Get();
        const std::vector<double> of_samples = weights.Get();
        std::vector<double> expected(width);
        for (size_t n = 0; n < all.size(); ++n) {
          expected[n % width] += all[n] * (weighted ? of_samples[n / width] : 1.0);
        }
        const std::vector<float> found = out.Get();
        ExpectNear({found.begin(), found.begin() + static_cast<ptrdiff_t>(width)}, expected, 1e-4);
      }
    }
  }
}

TEST_F(LayersOnGpu, RectifiersStopGradientsAndSumTheRest) {
  std::mt19937_64 random(2);
  for (const GpuElement type : kTypes) {
    for (const auto& [samples, width] :
         {std::pair{1UL, 1UL}, {513UL, 7UL}, {300UL, 16UL}, {900UL, 1024UL}, {70UL, 3456UL}}) {
      for (const auto& [relu, scale] : {std::pair{true, 1.0F}, {true, 2.0F}, {false, 1.0F}}) {
        TestColumns y(samples, width, type, random);
        TestColumns dy(samples, width, type, random);
        const std::vector<double> values = y.Get();
        std::vector<double> expected = dy.Get();
        std::vector<double> sums(width);
        for (size_t n = 0; n < expected.size(); ++n) {
          expected[n] = relu && !(values[n] > 0) ? 0 : expected[n] * scale;
          sums[n % width] += expected[n];
        }
        DeviceArray<std::byte> scratch(GpuSumScratchBytes(width));
        DeviceArray<float> out(width);
        const bool in_parts = width % 2 == 0;
        GpuReluBack(exec_, samples, relu, scale, y.columns(), dy.columns(),
                    in_parts ? nullptr : out.data(), scratch.data());
        if (in_parts) GpuJoinSums(exec_, width, scratch.data(), out.data());
        ExpectNear(dy.Get(), expected, 1e-7);
        const std::vector<float> found = out.Get();
        ExpectNear({found.begin(), found.begin() + static_cast<ptrdiff_t>(width)}, sums, 1e-4);
      }
    }
  }
}

// Vectors of 16, 32, 64 and 128 elements of bf16 have a kernel of their own.
TEST_F(LayersOnGpu, InteractionsBothWays) {
  std::mt19937_64 random(3);
  const std::pair<uint32_t, size_t> shapes[] = {{2, 3},   {5, 16},   {27, 16}, {9, 32},
                                                {32, 64}, {27, 128}, {33, 16}};
  for (const GpuElement type : kTypes) {
    for (const auto& [vectors, dim] : shapes) {
      SCOPED_TRACE(testing::Message()
                   << vectors << " vectors of " << dim << ", type " << static_cast<int>(type));
      const size_t samples = kGpuIsEmulated ? 5 : 1100;
      const size_t pairs = vectors * (vectors - 1) / 2;
      const size_t width = (dim + pairs + 7) / 8 * 8;
      TestColumns x(samples, vectors * dim, type, random);
      TestColumns y(samples, width, type, random);
      TestColumns dy(samples, width, type, random);
      TestColumns dx(samples, vectors * dim, type, random);
      const std::vector<double> in = x.Get();
      const std::vector<double> gradients = dy.Get();
      const std::vector<double> before = dx.Get();
      std::vector<double> expected(samples * width);
      std::vector<double> expected_dx(in.size());
      for (size_t i = 0; i < samples; ++i) {
        const double* const of = in.data() + i * vectors * dim;
        double* const to = expected_dx.data() + i * vectors * dim;
        size_t at = i * width;
        for (size_t d = 0; d < dim; ++d, ++at) {
          expected[at] = of[d];
          to[d] += gradients[at];
        }
        for (size_t v = 1; v < vectors; ++v) {
          for (size_t u = 0; u < v; ++u, ++at) {
            for (size_t d = 0; d < dim; ++d) {
              expected[at] += of[v * dim + d] * of[u * dim + d];
              to[v * dim + d] += gradients[at] * of[u * dim + d];
              to[u * dim + d] += gradients[at] * of[v * dim + d];
            }
          }
        }
      }
      GpuInteraction(exec_, samples, vectors, x.columns(), y.columns());
      ExpectNear(y.Get(), expected, Tolerance(type));
      GpuInteractionBack(exec_, samples, vectors, x.columns(), dy.columns(), dx.columns(), false);
      ExpectNear(dx.Get(), expected_dx, 2 * Tolerance(type));
      TestColumns added(samples, vectors * dim, type, random);
      const std::vector<double> held = added.Get();
      for (size_t n = 0; n < held.size(); ++n) expected_dx[n] += held[n];
      GpuInteractionBack(exec_, samples, vectors, x.columns(), dy.columns(), added.columns(), true);
      ExpectNear(added.Get(), expected_dx, 3 * Tolerance(type));
    }
  }
}

// This is what the formulas of kernels/dense/batch_norm.h make of columns.
struct NormalColumns {
  std::vector<double> y;
  std::vector<double> dx;
  std::vector<double> sums;
  std::vector<double> gradients;  // of the scales, then of the biases
};

// The scales are the first `width` parameters, and biases the others. dx is added to.
NormalColumns Normalised(size_t width, const std::vector<double>& x, const std::vector<double>& dy,
                         const std::vector<double>& dx, const std::vector<float>& statistics,
                         const std::vector<float>& parameters) {
  NormalColumns of{std::vector<double>(x.size()), dx, std::vector<double>(2 * width),
                   std::vector<double>(2 * width)};
  const auto samples = static_cast<double>(x.size() / width);
  for (size_t e = 0; e < width; ++e) {
    double mean = 0;
    for (size_t n = e; n < x.size(); n += width) mean += x[n] / samples;
    double variance = 0;
    for (size_t n = e; n < x.size(); n += width) {
      variance += (x[n] - mean) * (x[n] - mean) / samples;
      of.sums[e] += x[n] - statistics[e];
      of.sums[width + e] += (x[n] - statistics[e]) * (x[n] - statistics[e]);
    }
    const double scale = 1 / std::sqrt(variance + 1e-5);
    for (size_t n = e; n < x.size(); n += width) {
      const double normal = (x[n] - mean) * scale;
      of.y[n] = normal * parameters[e] + parameters[width + e];
      of.gradients[e] += dy[n] * normal;
      of.gradients[width + e] += dy[n];
    }
    for (size_t n = e; n < x.size(); n += width) {
      const double normal = (x[n] - mean) * scale;
      of.dx[n] += parameters[e] * scale *
                  (dy[n] - of.gradients[width + e] / samples - normal * of.gradients[e] / samples);
    }
  }
  return of;
}

std::vector<float> First(size_t count, const DeviceArray<float>& of) {
  std::vector<float> all = of.Get();
  all.resize(count);
  return all;
}
std::vector<double> Wide(const std::vector<float>& of) { return {of.begin(), of.end()}; }

TEST_F(LayersOnGpu, ColumnsAreNormalisedByTheirBatch) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  for (const auto& [type, of_y] : {std::pair{GpuElement::kFp32, GpuElement::kFp32},
                                   {GpuElement::kBf16, GpuElement::kBf16},
                                   {GpuElement::kBf16, GpuElement::kFp32}}) {
    for (const auto& [samples, width] : {std::pair{1UL, 3UL}, {700UL, 5UL}, {900UL, 300UL}}) {
      TestColumns x(samples, width, type, random);
      TestColumns y(samples, width, of_y, random);
      TestColumns dy(samples, width, of_y, random);
      TestColumns dx(samples, width, type, random);
      std::vector<float> statistics(2 * width);
      std::vector<float> parameters(2 * width);
      for (float& value : statistics) value = uniform(random);
      for (float& value : parameters) value = uniform(random);
      for (size_t e = width; e < 2 * width; ++e) statistics[e] = 0.1F + std::abs(statistics[e]);
      const NormalColumns expected =
          Normalised(width, x.Get(), dy.Get(), dx.Get(), statistics, parameters);

      DeviceArray<float> kept(statistics);
      DeviceArray<float> scales(parameters);
      DeviceArray<float> moments(2 * width);
      DeviceArray<float> sums(2 * width);
      DeviceArray<float> gradients(2 * width);
      DeviceArray<std::byte> scratch(GpuSumScratchBytes(width));
      float* const dbiases = gradients.data() + width;
      const auto find_sums = [&] {
        GpuBatchMoments(exec_, samples, x.columns(), kept.data(), moments.data(), sums.data(),
                        scratch.data());
        GpuBatchNormSums(exec_, samples, x.columns(), moments.data(), dy.columns(),
                         gradients.data(), dbiases, scratch.data());
        return std::pair(First(2 * width, sums), First(2 * width, gradients));
      };
      const auto found = find_sums();
      EXPECT_EQ(find_sums(), found) << "the same bits";
      ExpectNear(Wide(found.first), expected.sums, 1e-4);
      ExpectNear(Wide(found.second), expected.gradients, 1e-4);
      GpuBatchNorm(exec_, samples, x.columns(), moments.data(), scales.data(),
                   scales.data() + width, y.columns());
      ExpectNear(y.Get(), expected.y, 2 * Tolerance(of_y));
      GpuBatchNormBack(exec_, samples, x.columns(), moments.data(), scales.data(), gradients.data(),
                       dbiases, dy.columns(), dx.columns(), true);
      ExpectNear(dx.Get(), expected.dx, 2 * Tolerance(type));

      // The same bits as those of the host.
      GpuMoveStatistics(exec_, width, samples, sums.data(), kept.data());
      std::vector<float> moved = statistics;
      MoveStatistics({}, samples, found.first, moved);
      EXPECT_EQ(First(2 * width, kept), moved);
      EXPECT_EQ(moved == statistics, samples == 1);
      GpuRunningMoments(exec_, width, kept.data(), moments.data());
      std::vector<float> running(2 * width);
      RunningMoments({}, moved, running);
      EXPECT_EQ(First(2 * width, moments), running);
    }
  }
}

TEST_F(LayersOnGpu, LossesAndTheirGradients) {
  std::mt19937_64 random(4);
  constexpr size_t kSamples = 3000;
  TestColumns logits(kSamples, 1, GpuElement::kFp32, random);
  TestColumns dlogits(kSamples, 1, GpuElement::kFp32, random);
  std::vector<float> labels(kSamples);
  std::vector<float> weights(kSamples);
  for (size_t i = 0; i < kSamples; ++i) {
    labels[i] = static_cast<float>(random() % 2);
    weights[i] = static_cast<float>(random() % 3);
  }
  DeviceArray<float> on_gpu(labels);
  DeviceArray<float> weights_on_gpu(weights);
  DeviceArray<double> losses(kSamples);
  DeviceArray<double> loss(1);
  GpuCrossEntropy(exec_, kSamples, logits.columns(), on_gpu.data(), weights_on_gpu.data(), 0.5F,
                  dlogits.columns(), losses.data());
  GpuSumLosses(exec_, kSamples, losses.data(), loss.data());
  double expected = 0;
  std::vector<double> gradients;
  const std::vector<double> z = logits.Get();
  for (size_t i = 0; i < kSamples; ++i) {
    expected += weights[i] * (std::log1p(std::exp(z[i])) - z[i] * labels[i]);
    gradients.push_back(0.5 * weights[i] * (1 / (1 + std::exp(-z[i])) - labels[i]));
  }
  EXPECT_NEAR(loss.Get()[0], expected, 1e-9 * expected);
  ExpectNear(dlogits.Get(), gradients, 1e-6);

  GpuSquaredErrors(exec_, kSamples, logits.columns(), on_gpu.data(), weights_on_gpu.data(), 0.5F,
                   dlogits.columns(), losses.data());
  GpuSumLosses(exec_, kSamples, losses.data(), loss.data());
  expected = 0;
  for (size_t i = 0; i < kSamples; ++i) {
    expected += weights[i] * (z[i] - labels[i]) * (z[i] - labels[i]);
    gradients[i] = weights[i] * (z[i] - labels[i]);
  }
  EXPECT_NEAR(loss.Get()[0], expected, 1e-9 * expected);
  ExpectNear(dlogits.Get(), gradients, 1e-6);
}

}  // namespace
}  // namespace strata
