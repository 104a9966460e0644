#include "kernels/dense/batch_norm.h"

#include <algorithm>
#include <array>

#include "kernels/core/wide_vectors.h"

namespace strata {
namespace {

constexpr size_t kSumsAtOnce = 32;  // columns, by a thread

using ColumnSums = std::array<double, kSumsAtOnce>;

// Calls add(i, e, sums[e - begin]) for the columns begin to end of each sample in turn.
template <typename Add>
ColumnSums SumsOfColumns(size_t samples, size_t begin, size_t end, const Add& add) {
  ColumnSums sums = {};
  WithWideVectors([&] {
    for (size_t i = 0; i < samples; ++i) {
      for (size_t e = begin; e < end; ++e) add(i, e, sums[e - begin]);
    }
  });
  return sums;
}

}  // namespace

void BatchMoments(const Exec& /*exec*/, const BatchNormShape& shape, std::span<const float> x,
                  std::span<const float> statistics, std::span<float> moments,
                  std::span<float> sums, WorkPool* threads) {
  const size_t width = shape.width;
  const auto samples = static_cast<double>(shape.samples);
  RunPieces(threads, width, kSumsAtOnce, [&](size_t begin, size_t end) {
    ColumnSums means =
        SumsOfColumns(shape.samples, begin, end,
                      [&](size_t i, size_t e, double& sum) { sum += x[i * shape.x_stride + e]; });
    for (double& mean : means) mean /= samples;
    const ColumnSums squares =
        SumsOfColumns(shape.samples, begin, end, [&](size_t i, size_t e, double& sum) {
          const double apart = x[i * shape.x_stride + e] - means[e - begin];
          sum += apart * apart;
        });
    for (size_t e = begin; e < end; ++e) {
      const double mean = means[e - begin];
      const double moved = mean - statistics[e];
      moments[e] = static_cast<float>(mean);
      moments[width + e] = NormalScale(squares[e - begin] / samples);
      sums[e] = static_cast<float>(samples * moved);
      sums[width + e] = static_cast<float>(squares[e - begin] + samples * moved * moved);
    }
  });
}

void RunningMoments(const Exec& /*exec*/, std::span<const float> statistics,
                    std::span<float> moments) {
  const size_t width = statistics.size() / 2;
  for (size_t e = 0; e < width; ++e) {
    moments[e] = statistics[e];
    moments[width + e] = NormalScale(statistics[width + e]);
  }
}

void BatchNorm(const Exec& /*exec*/, const BatchNormShape& shape, std::span<const float> x,
               std::span<const float> moments, std::span<const float> scales,
               std::span<const float> biases, std::span<float> y) {
  const size_t width = shape.width;
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      const float* const from = x.data() + i * shape.x_stride;
      float* const to = y.data() + i * shape.y_stride;
      for (size_t e = 0; e < width; ++e) {
        to[e] = (from[e] - moments[e]) * moments[width + e] * scales[e] + biases[e];
      }
    }
  });
}

void BatchNormSums(const Exec& /*exec*/, const BatchNormShape& shape, std::span<const float> x,
                   std::span<const float> moments, std::span<const float> dy,
                   std::span<float> dscales, std::span<float> dbiases, WorkPool* threads) {
  RunPieces(threads, shape.width, kSumsAtOnce, [&](size_t begin, size_t end) {
    const ColumnSums of_biases =
        SumsOfColumns(shape.samples, begin, end,
                      [&](size_t i, size_t e, double& sum) { sum += dy[i * shape.y_stride + e]; });
    const ColumnSums of_scales =
        SumsOfColumns(shape.samples, begin, end, [&](size_t i, size_t e, double& sum) {
          sum += dy[i * shape.y_stride + e] *
                 ((x[i * shape.x_stride + e] - moments[e]) * moments[shape.width + e]);
        });
    for (size_t e = begin; e < end; ++e) {
      dbiases[e] = static_cast<float>(of_biases[e - begin]);
      dscales[e] = static_cast<float>(of_scales[e - begin]);
    }
  });
}

void BatchNormBack(const Exec& /*exec*/, const BatchNormShape& shape, size_t batch_samples,
                   std::span<const float> x, std::span<const float> moments,
                   std::span<const float> scales, std::span<const float> dscales,
                   std::span<const float> dbiases, std::span<const float> dy, std::span<float> dx,
                   bool adds) {
  const size_t width = shape.width;
  const auto samples = static_cast<float>(batch_samples);
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      const float* const from = x.data() + i * shape.x_stride;
      const float* const d = dy.data() + i * shape.y_stride;
      float* const to = dx.data() + i * shape.x_stride;
      for (size_t e = 0; e < width; ++e) {
        const float scale = moments[width + e];
        const float normal = (from[e] - moments[e]) * scale;
        const float gradient =
            scales[e] * scale * (d[e] - dbiases[e] / samples - normal * (dscales[e] / samples));
        to[e] = adds ? to[e] + gradient : gradient;
      }
    }
  });
}

void MoveStatistics(const Exec& /*exec*/, uint64_t samples, std::span<const float> sums,
                    std::span<float> statistics) {
  if (samples < 2) return;
  const size_t width = statistics.size() / 2;
  for (size_t e = 0; e < width; ++e) {
    MoveColumn(static_cast<double>(samples), sums[e], sums[width + e], &statistics[e],
               &statistics[width + e]);
  }
}

}  // namespace strata
