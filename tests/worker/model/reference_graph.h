// A graph of layers in double precision, by the formulas of layer_graph.h alone: what networks are
// compared with.
#pragma once

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "worker/data/batch/batch.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

// A ragged batch with repeated keys, empty slots and sample weights, and parameters for it.
struct GraphExample {
  GraphSpec spec;
  Batch batch;
  UniqueKeys unique;
  std::vector<float> rows;
  std::vector<float> parameters;

  // Sizes are those of the spec's graph, which is valid. weighted: keys have weights.
  GraphExample(GraphSpec spec_in, size_t samples, uint64_t seed, bool weighted = false);

  NetworkInput input() const { return {batch, unique, rows, parameters}; }
  // As it is scored.
  double Logit(size_t sample) const { return ComputeAll(/*trains=*/false).logits[sample]; }
  // In training: the sum over samples, with penalties of l2 (Regularisation).
  double Loss(double l2) const;
  // What training gives as the gradients of statistics, which come after those of `learned`.
  std::vector<double> StatisticSums() const { return ComputeAll(/*trains=*/true).sums; }
  size_t learned() const;

 private:
  struct Computed {
    std::vector<double> logits;  // of each sample
    std::vector<double> sums;    // StatisticSums
  };
  Computed ComputeAll(bool trains) const;
  // By what the row of a key of the slot is multiplied.
  double KeyWeight(size_t bag, uint32_t key) const;
  std::vector<double> Embeddings(size_t sample) const;
  // `biased` is the bias, then the weights of dense features.
  double Wide(size_t sample, const std::vector<double>& biased) const;
  double Penalty(double l2) const;
  // A row, its vector and the length of that.
  struct RowOfKey {
    const float* numbers;
    const float* vector;
    size_t dim;
  };
  RowOfKey Row(size_t slot, uint32_t key) const;
  const GraphTable& TableOf(size_t slot) const;
  bool has_key_weights() const;
};

}  // namespace strata
