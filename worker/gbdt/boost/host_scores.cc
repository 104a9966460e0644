#include "worker/gbdt/boost/host_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace strata {

HostScores::HostScores(const RoundParts& parts, DataScores start, DataMetrics metrics)
    : parts_(parts),
      scores_(std::move(start)),
      metrics_(std::move(metrics)),
      gradients_(scores_.all().size()),
      hessians_(scores_.all().size()),
      bag_(parts.data.rows()) {
  for (const double score : parts.fixed_scores) {
    fixed_of_rows_.resize(fixed_of_rows_.size() + parts.data.rows(), score);
  }
  std::iota(bag_.begin(), bag_.end(), 0U);
}

std::span<const double> HostScores::GradientScores() const {
  return parts_.fixed_scores.empty() ? scores_.all() : std::span<const double>(fixed_of_rows_);
}

Status HostScores::StartRound(uint64_t round) {
  const PhaseScope scope(parts_.phases, TreePhase::kGradients);
  parts_.objective.Gradients(GradientScores(), round, parts_.pool, gradients_, hessians_);
  parts_.sampler.Sample(round, parts_.pool, gradients_, hessians_, &bag_);
  return {};
}

Result<EngineTree> HostScores::Grow(size_t k, uint64_t tree_number) {
  const uint64_t not_finite = Quantise(k, tree_number);
  if (not_finite > 0) return EngineTree{.not_finite = not_finite};
  const bool with_rows =
      parts_.objective.renews_outputs() || parts_.renews_from_gradients || has_all_rows();
  return parts_.engine.Grow(quantised_.view(), quantised_.units(), bag_, tree_number, with_rows);
}

uint64_t HostScores::Quantise(size_t k, uint64_t tree_number) {
  const PhaseScope scope(parts_.phases, TreePhase::kGradients);
  return quantised_.Quantise(OfClass(gradients_, k), OfClass(hessians_, k), parts_.quantise,
                             tree_number, parts_.data.share, parts_.pool);
}

Result<std::vector<double>> HostScores::RenewedOutputs(size_t k, const GrownTree& tree) {
  const size_t rows = parts_.data.rows();
  const std::span<const double> scores = GradientScores().subspan(k * rows, rows);
  std::vector<std::vector<Residual>> residuals(tree.leaves.size());
  parts_.pool.Run(tree.leaves.size(), [&](size_t leaf) {
    residuals[leaf] = parts_.objective.Residuals(tree.RowsOf(tree.leaves[leaf]), scores);
  });
  return parts_.data.share.Compute<Residual>(
      residuals,
      [&](size_t /*leaf*/, std::vector<Residual>& all) {
        return parts_.objective.RenewedOutput(all);
      },
      &parts_.pool);
}

Result<std::vector<ExactSlopes>> HostScores::SumsOfLeaves(size_t k, const GrownTree& tree) {
  const RowShare& share = parts_.data.share;
  const std::span<const float> gradients = OfClass(gradients_, k);
  const std::span<const float> hessians = OfClass(hessians_, k);
  const auto largest_of = [&](std::span<const float> numbers) {
    double largest = 0;
    for (const float number : numbers) largest = std::max<double>(largest, std::fabs(number));
    return share.Max(largest);
  };
  const ExactSlopes none = {ExactSum(largest_of(gradients)), ExactSum(largest_of(hessians))};
  std::vector<ExactSlopes> sums(tree.leaves.size(), none);
  std::vector<std::array<ExactSum::Parts, 2>> parts(tree.leaves.size());
  parts_.pool.Run(parts.size(), [&](size_t leaf) {
    ExactSlopes& sum = sums[leaf];
    for (const uint32_t row : tree.RowsOf(tree.leaves[leaf])) {
      sum.gradient.Add(gradients[row]);
      sum.hessian.Add(hessians[row]);
    }
    parts[leaf] = {sum.gradient.parts(), sum.hessian.parts()};
  });
  share.Sum(std::span(parts[0][0].data(), parts.size() * 6));
  for (size_t leaf = 0; leaf < parts.size(); ++leaf) {
    sums[leaf].gradient.SetParts(parts[leaf][0]);
    sums[leaf].hessian.SetParts(parts[leaf][1]);
  }
  return sums;
}

Status HostScores::AddGrown(size_t k, const GrownTree& tree, std::span<const double> values) {
  if (!has_all_rows()) return AddTree(k, tree, values);
  scores_.AddGrown(k, tree, values);
  return {};
}

Status HostScores::AddTree(size_t k, const GrownTree& tree, std::span<const double> values) {
  return scores_.AddTree(k, tree, values);
}

Result<std::span<const double>> HostScores::Fetch(std::vector<double>* made) const {
  return scores_.Fetch(made);
}

Result<std::vector<MetricValue>> HostScores::Measure(double divisor) const {
  return metrics_.Measure(scores_.all(), divisor);
}

}  // namespace strata
