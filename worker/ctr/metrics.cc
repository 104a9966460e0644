#include "worker/ctr/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "kernels/core/math.h"
#include "kernels/dense/loss.h"

namespace strata {
namespace {

// Pairs (positive, negative) in the right order, ties half, over all pairs: the statistic of Mann
// and Whitney (1947). Samples are sorted by logit.
double AreaUnderCurve(const std::vector<ScoredSample>& samples) {
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

// In nats, of an event of this probability.
double Entropy(double share) {
  const auto part = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  return part(share) + part(1 - share);
}

}  // namespace

Metrics ComputeMetrics(std::vector<ScoredSample>* samples) {
  std::sort(samples->begin(), samples->end(), [](const ScoredSample& a, const ScoredSample& b) {
    return std::tie(a.logit, a.label, a.weight) < std::tie(b.logit, b.label, b.weight);
  });
  Metrics metrics{.samples = samples->size(), .auc = AreaUnderCurve(*samples)};
  double weights = 0;
  double loss = 0;
  double predictions = 0;
  double labels = 0;
  for (const ScoredSample& sample : *samples) {
    const double weight = sample.weight;
    weights += weight;
    loss += weight * CrossEntropy(sample.logit, sample.label);
    predictions += weight * math::Sigmoid(double{sample.logit});
    labels += weight * sample.label;
  }
  const double none = std::numeric_limits<double>::quiet_NaN();
  metrics.logloss = weights > 0 ? loss / weights : none;
  metrics.base_logloss = weights > 0 ? Entropy(labels / weights) : none;
  metrics.calibration = labels > 0 ? predictions / labels : none;
  return metrics;
}

Result<Metrics> ComputeMetrics(Group& group, std::span<const ScoredSample> mine) {
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(mine), &all));
  std::vector<ScoredSample> samples;
  for (const std::vector<std::byte>& bytes : all) {
    if (bytes.size() % sizeof(ScoredSample) != 0) {
      return Internal("a rank's evaluated samples have an odd size");
    }
    const size_t begin = samples.size();
    samples.resize(begin + bytes.size() / sizeof(ScoredSample));
    if (!bytes.empty()) std::memcpy(samples.data() + begin, bytes.data(), bytes.size());
  }
  return ComputeMetrics(&samples);
}

}  // namespace strata
