#include "worker/gbdt/catboost/train/auto_learning_rate.h"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

// ln(rate) = rows * ln(n) + rows_start at 1000 iterations, and changes by `iterations` times the
// change of ln(iterations).
struct RateLine {
  double rows = 0;
  double rows_start = 0;
  double iterations = 0;
};

constexpr RateLine kLoglossAverageBest = {
    .rows = 0.246, .rows_start = -5.127, .iterations = -0.451};
constexpr RateLine kLoglossAverageAll = {.rows = 0.408, .rows_start = -7.299, .iterations = -0.928};
constexpr RateLine kLoglossBest = {.rows = 0.247, .rows_start = -5.158, .iterations = -0.435};
constexpr RateLine kLoglossAll = {.rows = 0.427, .rows_start = -7.525, .iterations = -0.917};
constexpr RateLine kMultiClassBest = {.rows = 0.02, .rows_start = -2.364, .iterations = -0.382};
constexpr RateLine kMultiClassAll = {.rows = 0.051, .rows_start = -2.889, .iterations = -0.845};
constexpr RateLine kRmseAverageBest = {.rows = 0.157, .rows_start = -4.062, .iterations = -0.61};
constexpr RateLine kRmseAverageAll = {.rows = 0.158, .rows_start = -4.287, .iterations = -0.813};
constexpr RateLine kRmseBest = {.rows = 0.189, .rows_start = -4.383, .iterations = -0.623};
constexpr RateLine kRmseAll = {.rows = 0.178, .rows_start = -4.473, .iterations = -0.76};

const RateLine& LineOf(const FitParameters& p) {
  if (p.loss.type == FitLoss::kMultiClass) {
    return p.use_best_model ? kMultiClassBest : kMultiClassAll;
  }
  if (p.loss.type == FitLoss::kLogloss) {
    if (p.boost_from_average) return p.use_best_model ? kLoglossAverageBest : kLoglossAverageAll;
    return p.use_best_model ? kLoglossBest : kLoglossAll;
  }
  if (p.boost_from_average) return p.use_best_model ? kRmseAverageBest : kRmseAverageAll;
  return p.use_best_model ? kRmseBest : kRmseAll;
}

}  // namespace

double AutoLearningRate(const FitParameters& parameters, size_t rows) {
  const FitLoss loss = parameters.loss.type;
  if (loss != FitLoss::kRmse && loss != FitLoss::kLogloss && loss != FitLoss::kMultiClass) {
    return kDefaultLearningRate;
  }
  const RateLine& line = LineOf(parameters);
  const double of_rows =
      std::exp(line.rows * std::log(static_cast<double>(rows)) + line.rows_start);
  const double of_iterations =
      std::exp(line.iterations * std::log(static_cast<double>(parameters.iterations) / 1000));
  const double rate = std::min(0.5, of_rows * of_iterations);
  return static_cast<float>(std::round(rate * 1e6) / 1e6);
}

}  // namespace strata
