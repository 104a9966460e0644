// The fully connected layer and the rectifier against a plain reference in double precision, and
// their gradients against central differences of that reference.
#include "kernels/dense/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/dense/elementwise.h"

namespace strata {
namespace {

std::vector<float> RandomValues(size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

double At(const std::vector<float>& matrix, size_t rows, size_t columns, bool transposed,
          size_t row, size_t column) {
  return transposed ? matrix[column * rows + row] : matrix[row * columns + column];
}

TEST(MatMul, AgreesWithDoubleReferenceForEveryLayout) {
  std::mt19937_64 random(1);
  MatMul matmul;
  const size_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {64, 33, 17}, {257, 64, 1}, {5, 1, 300}};
  for (const auto& [m, k, n] : sizes) {
    for (int form = 0; form < 8; ++form) {
      const MatMulShape shape{m, k, n, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0};
      const auto a = RandomValues(m * k, random);
      const auto b = RandomValues(k * n, random);
      const auto bias = RandomValues(shape.bias ? n : 0, random);
      std::vector<float> c(m * n, -1.0F);
      ASSERT_TRUE(matmul.Run({}, shape, a, b, bias, c).ok());
      for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
          double expected = shape.bias ? bias[j] : 0.0F;
          for (size_t p = 0; p < k; ++p) {
            expected +=
                At(a, m, k, shape.a_transposed, i, p) * At(b, k, n, shape.b_transposed, p, j);
          }
          ASSERT_NEAR(c[i * n + j], expected, 1e-5 * std::sqrt(static_cast<double>(k)))
              << m << "x" << k << "x" << n << " form " << form;
        }
      }
    }
  }
}

// Matrices whose rows have gaps give what those without give, and nothing in the gaps changes.
TEST(MatMul, RowsMayHaveGaps) {
  std::mt19937_64 random(7);
  MatMul matmul;
  constexpr size_t kM = 9;
  constexpr size_t kK = 6;
  constexpr size_t kN = 5;
  constexpr size_t kGap = 3;
  const auto with_gaps = [&](const std::vector<float>& dense, size_t width) {
    std::vector<float> wide = RandomValues(dense.size() / width * (width + kGap) - kGap, random);
    for (size_t i = 0; i < dense.size(); ++i) {
      wide[i / width * (width + kGap) + i % width] = dense[i];
    }
    return wide;
  };
  for (const bool transposed : {false, true}) {
    const size_t a_width = transposed ? kM : kK;
    const size_t b_width = transposed ? kK : kN;
    const auto a = RandomValues(kM * kK, random);
    const auto b = RandomValues(kK * kN, random);
    std::vector<float> expected(kM * kN);
    MatMulShape shape{
        .m = kM, .k = kK, .n = kN, .a_transposed = transposed, .b_transposed = transposed};
    ASSERT_TRUE(matmul.Run({}, shape, a, b, {}, expected).ok());
    shape.a_stride = a_width + kGap;
    shape.b_stride = b_width + kGap;
    shape.c_stride = kN + kGap;
    const std::vector<float> before = RandomValues(kM * (kN + kGap) - kGap, random);
    std::vector<float> c = before;
    ASSERT_TRUE(matmul.Run({}, shape, with_gaps(a, a_width), with_gaps(b, b_width), {}, c).ok());
    for (size_t i = 0; i < c.size(); ++i) {
      const size_t column = i % (kN + kGap);
      if (column < kN) {
        EXPECT_NEAR(c[i], expected[i / (kN + kGap) * kN + column], 1e-6) << i;
      } else {
        EXPECT_EQ(c[i], before[i]) << i;
      }
    }
  }
}

TEST(MatMul, SameInputsGiveTheSameBitsAfterOtherShapes) {
  std::mt19937_64 random(2);
  MatMul matmul;
  const MatMulShape shape{.m = 37, .k = 19, .n = 23};
  const auto a = RandomValues(37 * 19, random);
  const auto b = RandomValues(19 * 23, random);
  std::vector<float> first(37 * 23);
  std::vector<float> again(37 * 23);
  ASSERT_TRUE(matmul.Run({}, shape, a, b, {}, first).ok());
  for (size_t m = 1; m <= 70; ++m) {  // more shapes than are kept
    std::vector<float> c(m * 23);
    const auto other = RandomValues(m * 19, random);
    ASSERT_TRUE(matmul.Run({}, {.m = m, .k = 19, .n = 23}, other, b, {}, c).ok());
  }
  ASSERT_TRUE(matmul.Run({}, shape, a, b, {}, again).ok());
  EXPECT_EQ(first, again);
}

// Rows of C, and chunks of k where A is transposed, are what threads divide.
TEST(MatMul, ThreadsChangeNoBits) {
  if (__builtin_cpu_supports("avx512f") == 0) {
    GTEST_SKIP() << "oneDNN's sums depend on threads without AVX-512 (kernels/dense/matmul.h)";
  }
  std::mt19937_64 random(8);
  const auto pool = WorkPool::Start("test", 2);
  ASSERT_TRUE(pool.ok());
  MatMul alone;
  MatMul helped(pool->get());
  for (const size_t samples : {256UL, 257UL, 1024UL, 2600UL}) {
    for (const size_t gap : {0UL, 3UL}) {
      constexpr size_t kIn = 33;
      constexpr size_t kOut = 21;
      const size_t stride = kIn + gap;
      const auto x = RandomValues((samples - 1) * stride + kIn, random);
      const auto w = RandomValues(kIn * kOut, random);
      const auto b = RandomValues(kOut, random);
      const auto dy = RandomValues(samples * kOut, random);
      const LinearShape shape{samples, kIn, kOut, stride, 0};
      const auto run = [&](MatMul& matmul) {
        std::vector<std::vector<float>> all = {
            std::vector<float>(samples * kOut), std::vector<float>(x.size()),
            std::vector<float>(w.size()), std::vector<float>(kOut)};
        EXPECT_TRUE(LinearForward({}, matmul, shape, x, w, b, all[0]).ok());
        EXPECT_TRUE(LinearBackward({}, matmul, shape, x, w, dy, all[1], all[2], all[3]).ok());
        return all;
      };
      EXPECT_EQ(run(alone), run(helped)) << samples << " samples, gaps of " << gap;
    }
  }
}

TEST(MatMul, EmptyOperands) {
  MatMul matmul;
  std::vector<float> c(6, 5.0F);
  const std::vector<float> bias = {1, 2, 3};
  ASSERT_TRUE(matmul.Run({}, {.m = 2, .k = 0, .n = 3, .bias = true}, {}, {}, bias, c).ok());
  EXPECT_EQ(c, (std::vector<float>{1, 2, 3, 1, 2, 3}));
  ASSERT_TRUE(matmul.Run({}, {.m = 2, .k = 0, .n = 3}, {}, {}, {}, c).ok());
  EXPECT_EQ(c, std::vector<float>(6, 0.0F));
  EXPECT_TRUE(matmul.Run({}, {.m = 0, .k = 2, .n = 3}, {}, c, {}, {}).ok());
}

TEST(MatMul, RefusesADeviceItHasNoKernelFor) {
  MatMul matmul;
  std::vector<float> one(1);
  EXPECT_EQ(matmul.Run({.device = DeviceKind::kCuda}, {1, 1, 1}, one, one, {}, one).code(),
            StatusCode::kRefused);
}

// A two-layer net in double: L = sum over r * (relu(x w1 + b1) w2 + b2), with r given.
struct TwoLayers {
  size_t batch = 6, in = 5, hidden = 4, out = 3;
  std::vector<float> x, w1, b1, w2, b2, r;

  double Loss() const {
    double loss = 0;
    for (size_t i = 0; i < batch; ++i) {
      std::vector<double> h(hidden);
      for (size_t j = 0; j < hidden; ++j) {
        double sum = b1[j];
        for (size_t p = 0; p < in; ++p) sum += double{x[i * in + p]} * w1[p * hidden + j];
        h[j] = std::max(sum, 0.0);
      }
      for (size_t j = 0; j < out; ++j) {
        double sum = b2[j];
        for (size_t p = 0; p < hidden; ++p) sum += h[p] * w2[p * out + j];
        loss += sum * r[i * out + j];
      }
    }
    return loss;
  }
};

TEST(Linear, GradientsAgreeWithCentralDifferences) {
  std::mt19937_64 random(3);
  TwoLayers net;
  net.x = RandomValues(net.batch * net.in, random);
  net.w1 = RandomValues(net.in * net.hidden, random);
  net.b1 = RandomValues(net.hidden, random);
  net.w2 = RandomValues(net.hidden * net.out, random);
  net.b2 = RandomValues(net.out, random);
  net.r = RandomValues(net.batch * net.out, random);

  MatMul matmul;
  const LinearShape first{net.batch, net.in, net.hidden};
  const LinearShape second{net.batch, net.hidden, net.out};
  std::vector<float> h(net.batch * net.hidden);
  std::vector<float> y(net.batch * net.out);
  ASSERT_TRUE(LinearForward({}, matmul, first, net.x, net.w1, net.b1, h).ok());
  const PairShape hidden{net.batch, net.hidden, net.hidden, net.hidden};
  Activate({}, hidden, Activation::kRelu, h, h);
  ASSERT_TRUE(LinearForward({}, matmul, second, h, net.w2, net.b2, y).ok());
  double loss = 0;
  for (size_t i = 0; i < y.size(); ++i) loss += double{y[i]} * net.r[i];
  ASSERT_NEAR(loss, net.Loss(), 1e-4);

  std::vector<float> dh(h.size());
  std::vector<float> dw2(net.w2.size());
  std::vector<float> db2(net.b2.size());
  std::vector<float> dx(net.x.size());
  std::vector<float> dw1(net.w1.size());
  std::vector<float> db1(net.b1.size());
  ASSERT_TRUE(LinearBackward({}, matmul, second, h, net.w2, net.r, dh, dw2, db2).ok());
  ActivateBack({}, hidden, Activation::kRelu, h, dh, dh, /*adds=*/false);
  ASSERT_TRUE(LinearBackward({}, matmul, first, net.x, net.w1, dh, dx, dw1, db1).ok());

  const std::pair<std::vector<float>*, const std::vector<float>*> checked[] = {
      {&net.x, &dx}, {&net.w1, &dw1}, {&net.b1, &db1}, {&net.w2, &dw2}, {&net.b2, &db2}};
  for (size_t which = 0; which < std::size(checked); ++which) {
    for (size_t i = 0; i < checked[which].first->size(); ++i) {
      float& value = (*checked[which].first)[i];
      const float kept = value;
      constexpr float kStep = 1.0F / 1024;
      value = kept + kStep;
      const double above = net.Loss();
      value = kept - kStep;
      const double below = net.Loss();
      value = kept;
      ASSERT_NEAR((*checked[which].second)[i], (above - below) / (2 * double{kStep}), 2e-3)
          << "parameter set " << which << ", element " << i;
    }
  }
}

RowShape Row(const std::vector<float>& of) { return {1, of.size(), of.size()}; }

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  std::vector<float> y(100'000, 1.0F);
  DropoutForward({}, Row(y), 0.3F, 11, y);
  size_t dropped = 0;
  for (const float value : y) {
    dropped += value == 0.0F ? 1 : 0;
    ASSERT_TRUE(value == 0.0F || value == 1.0F / (1.0F - 0.3F));
  }
  EXPECT_NEAR(static_cast<double>(dropped), 30'000, 1'000);  // 7 deviations

  std::vector<float> again(y.size(), 1.0F);
  DropoutForward({}, Row(again), 0.3F, 11, again);
  EXPECT_EQ(y, again);
  std::vector<float> other(y.size(), 1.0F);
  DropoutForward({}, Row(other), 0.3F, 12, other);
  EXPECT_NE(y, other);
  std::vector<float> none(16, 2.0F);
  DropoutForward({}, Row(none), 0.0F, 11, none);
  EXPECT_EQ(none, std::vector<float>(16, 2.0F));

  std::vector<float> dy = {1.0F, -2.0F};
  DropoutBackward({}, Row(dy), 0.5F, dy);
  EXPECT_EQ(dy, (std::vector<float>{2.0F, -4.0F}));
}

// Else a network that diverged would go on as if nothing were.
TEST(Linear, ReluKeepsWhatIsNoNumber) {
  std::vector<float> y = {-1, NAN, 2, -INFINITY, INFINITY, -0.0F};
  Activate({}, {2, 3, 3, 3}, Activation::kRelu, y, y);
  EXPECT_TRUE(std::isnan(y[1]));
  y[1] = 7;
  EXPECT_EQ(y, (std::vector<float>{0, 7, 2, 0, INFINITY, 0}));
  EXPECT_FALSE(std::signbit(y[5]));
}

}  // namespace
}  // namespace strata
