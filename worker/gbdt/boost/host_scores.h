// HostScores: training scores in the host's memory. It makes the gradients, samples rows and rounds
// for the engine, which grows trees of them.
#pragma once

#include "worker/gbdt/boost/training_scores.h"

namespace strata {

class HostScores : public TrainingScores {
 public:
  HostScores(const RoundParts& parts, DataScores start, DataMetrics metrics);

  Status StartRound(uint64_t round) override;
  Result<EngineTree> Grow(size_t k, uint64_t tree_number) override;
  Result<std::vector<double>> RenewedOutputs(size_t k, const GrownTree& tree) override;
  Result<std::vector<ExactSlopes>> SumsOfLeaves(size_t k, const GrownTree& tree) override;
  Status AddGrown(size_t k, const GrownTree& tree, std::span<const double> values) override;
  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) override;
  Result<std::span<const double>> Fetch(std::vector<double>* made) const override;
  Result<std::vector<MetricValue>> Measure(double divisor) const override;

 private:
  std::span<const double> GradientScores() const;
  std::span<const float> OfClass(std::span<const float> numbers, size_t k) const {
    return numbers.subspan(k * parts_.data.rows(), parts_.data.rows());
  }
  // Returns how many gradients are not finite.
  uint64_t Quantise(size_t k, uint64_t tree_number);
  bool has_all_rows() const { return bag_.size() == parts_.data.rows(); }

  const RoundParts parts_;
  DataScores scores_;
  const DataMetrics metrics_;
  std::vector<double> fixed_of_rows_;  // RoundParts::fixed_scores of each row
  std::vector<float> gradients_;
  std::vector<float> hessians_;
  std::vector<uint32_t> bag_;
  QuantisedGradients quantised_;
};

}  // namespace strata
