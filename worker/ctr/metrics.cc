#include "worker/ctr/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

#include "kernels/core/math.h"
#include "kernels/dense/loss.h"

namespace strata {
namespace {

// Pairs (positive, negative) in the right order, ties half, over all pairs: the statistic of Mann
// and Whitney (1947). Samples are sorted by logit.
double AreaUnderCurve(std::span<const ScoredSample> samples) {
  double area = 0;
  double positives = 0;
  double negatives = 0;
  for (size_t begin = 0; begin < samples.size();) {
    double positives_here = 0;
    double negatives_here = 0;
    size_t end = begin;
    for (; end < samples.size() && samples[end].logit == samples[begin].logit; ++end) {
      (samples[end].label > 0.5F ? positives_here : negatives_here) += samples[end].weight;
    }
    area += positives_here * (negatives + 0.5 * negatives_here);
    positives += positives_here;
    negatives += negatives_here;
    begin = end;
  }
  const double pairs = positives * negatives;
  return pairs > 0 ? area / pairs : std::numeric_limits<double>::quiet_NaN();
}

bool IsBefore(const ScoredSample& a, const ScoredSample& b) {
  return std::tie(a.logit, a.label, a.weight) < std::tie(b.logit, b.label, b.weight);
}

// groups[i] is that of samples[i].
void AddGroups(const std::vector<ScoredSample>& samples, const std::vector<uint64_t>& groups,
               Metrics* metrics) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return groups[a] != groups[b] ? groups[a] < groups[b] : IsBefore(samples[a], samples[b]);
  });
  double areas = 0;
  double weights = 0;
  std::vector<ScoredSample> own;
  for (size_t begin = 0; begin < order.size();) {
    const uint64_t group = groups[order[begin]];
    own.clear();
    double weight = 0;
    for (; begin < order.size() && groups[order[begin]] == group; ++begin) {
      own.push_back(samples[order[begin]]);
      weight += own.back().weight;
    }
    const double area = AreaUnderCurve(own);
    if (std::isnan(area)) {
      ++metrics->groups_left_out;
      continue;
    }
    ++metrics->groups;
    areas += weight * area;
    weights += weight;
  }
  if (weights > 0) metrics->gauc = areas / weights;
}

// Those of all ranks, one after the other.
template <typename T>
Result<std::vector<T>> GatherAll(Group& group, std::span<const T> mine) {
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(mine), &all));
  std::vector<T> values;
  for (const std::vector<std::byte>& bytes : all) {
    if (bytes.size() % sizeof(T) != 0) {
      return Internal("a rank's evaluated samples have an odd size");
    }
    const size_t begin = values.size();
    values.resize(begin + bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data() + begin, bytes.data(), bytes.size());
  }
  return values;
}

// In nats, of an event of this probability.
double Entropy(double share) {
  const auto part = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  return part(share) + part(1 - share);
}

// Samples are sorted, so that sums do not depend on their order before.
void AddSquaredErrors(std::span<const ScoredSample> samples, Metrics* metrics) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  metrics->auc = metrics->logloss = metrics->calibration = none;
  double weights = 0;
  double labels = 0;
  double squares = 0;
  for (const ScoredSample& sample : samples) {
    const double error = double{sample.logit} - sample.label;
    weights += sample.weight;
    labels += double{sample.weight} * sample.label;
    squares += sample.weight * error * error;
  }
  if (!(weights > 0)) return;
  const double mean = labels / weights;
  double deviations = 0;
  for (const ScoredSample& sample : samples) {
    deviations += sample.weight * (sample.label - mean) * (sample.label - mean);
  }
  metrics->mse = squares / weights;
  metrics->base_mse = deviations / weights;
}

void AddLogloss(std::span<const ScoredSample> samples, Metrics* metrics) {
  metrics->auc = AreaUnderCurve(samples);
  double weights = 0;
  double loss = 0;
  double predictions = 0;
  double labels = 0;
  for (const ScoredSample& sample : samples) {
    const double weight = sample.weight;
    weights += weight;
    loss += weight * CrossEntropy(sample.logit, sample.label);
    predictions += weight * math::Sigmoid(double{sample.logit});
    labels += weight * sample.label;
  }
  const double none = std::numeric_limits<double>::quiet_NaN();
  metrics->logloss = weights > 0 ? loss / weights : none;
  metrics->base_logloss = weights > 0 ? Entropy(labels / weights) : none;
  metrics->calibration = labels > 0 ? predictions / labels : none;
}

}  // namespace

std::string WhyNoAuc(const Metrics& metrics) {
  if (metrics.loss == LossKind::kMse) return "";
  if (!std::isnan(metrics.auc)) return "";
  if (std::isnan(metrics.logloss)) return "no row has a weight above 0";
  return fmt::format("all labels are {}, and an AUC compares rows of both",
                     std::isnan(metrics.calibration) ? 0 : 1);
}

std::string MetricText(double value, int digits) {
  return std::isnan(value) ? "none" : fmt::format("{:.{}f}", value, digits);
}

std::string SquaredErrorText(const Metrics& metrics) {
  if (std::isnan(metrics.mse)) return "RMSE none, MSE none";
  return fmt::format("RMSE {:.6g}, MSE {:.6g}", std::sqrt(metrics.mse), metrics.mse);
}

Metrics ComputeMetrics(std::vector<ScoredSample>* samples, LossKind loss) {
  std::ranges::sort(*samples, IsBefore);
  Metrics metrics{.samples = samples->size(), .loss = loss};
  if (loss == LossKind::kMse) {
    AddSquaredErrors(*samples, &metrics);
  } else {
    AddLogloss(*samples, &metrics);
  }
  return metrics;
}

Result<Metrics> ComputeMetrics(Group& group, std::span<const ScoredSample> mine,
                               const std::vector<uint64_t>* mine_in_groups, LossKind loss) {
  STRATA_CHECK(mine_in_groups == nullptr || loss == LossKind::kLogloss);
  STRATA_ASSIGN(std::vector<ScoredSample> samples, GatherAll(group, mine));
  Metrics of_groups;
  if (mine_in_groups != nullptr) {
    STRATA_CHECK(mine_in_groups->size() == mine.size());
    STRATA_ASSIGN(const std::vector<uint64_t> groups,
                  GatherAll(group, std::span<const uint64_t>(*mine_in_groups)));
    if (groups.size() != samples.size()) {
      return Internal("a rank's evaluated samples have more or fewer groups");
    }
    AddGroups(samples, groups, &of_groups);
  }
  Metrics metrics = ComputeMetrics(&samples, loss);
  metrics.gauc = of_groups.gauc;
  metrics.groups = of_groups.groups;
  metrics.groups_left_out = of_groups.groups_left_out;
  return metrics;
}

}  // namespace strata
