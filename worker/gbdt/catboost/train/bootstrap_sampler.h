// BootstrapSampler: with which factors the rows of a training take part in the search for splits,
// as CatBoost's bootstraps draw them (private/libs/algo/tensor_search_helpers.cpp and mvs.cpp of
// its sources). Leaves are always estimated from all rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/tree/oblivious/row_draw.h"
#include "strata/status.h"

namespace strata {

enum class BootstrapType : uint8_t {
  kNo,         // all rows, with the factor 1
  kBayesian,   // all rows, with (-ln u)^bagging_temperature, u uniform
  kBernoulli,  // each row with probability `subsample`, with the factor 1
  kPoisson,    // Poisson numbers, which are 0 with probability 1 - subsample
  // "Minimal variance sampling in stochastic gradient boosting", B. Ibragimov and G. Gusev, NeurIPS
  // 2019. A row is kept with a probability p that grows with its gradient, and has the factor 1/p.
  kMvs,
};

struct BootstrapParameters {
  BootstrapType type = BootstrapType::kMvs;
  std::optional<double> subsample = {};  // expected share of rows; nothing: CatBoost's choice
  double bagging_temperature = 1;        // of kBayesian
  // Of kMvs, what is added to squared gradients; nothing: the squared mean size of the last leaves.
  std::optional<double> mvs_reg = {};
  bool is_per_level = false;  // each level of a tree has a sample of its own
};

// Immutable; any number of threads.
class BootstrapSampler {
 public:
  // Without `subsample` it is 1 for fewer than 100 rows, else 0.8 of kMvs and 0.66 of the others.
  BootstrapSampler(const BootstrapParameters& parameters, uint64_t seed, size_t rows);

  // False: all factors are 1, and nobody needs to draw them.
  bool is_active() const { return is_active_; }

  // What a draw depends on, besides the rows.
  uint64_t DrawSeed(uint64_t tree, uint64_t level) const;
  // How rows are drawn, where they are sampled.
  RowDraw SampleOf(uint64_t draw_seed, double mvs_reg) const;
  // Of kMvs, what is added to squared gradients: 0 of the other types. Nothing: there are no leaves
  // of a tree before, so that it is MvsRegOfMean of the mean size of the gradients.
  std::optional<double> MvsReg(std::span<const double> last_leaves, size_t outputs) const;
  static double MvsRegOfMean(double mean) { return mean * mean; }
  // The error where a draw leaves no row.
  Status NoRows(size_t rows) const;

  // Writes the factor of each row, which does not depend on the pool. It depends on the seed, on
  // tree and level, and on the row. Those of kMvs also depend on the lengths of gradients and of
  // leaves as vectors of outputs. `gradients` are those of all rows, times their weights: output *
  // rows + row. `last_leaves` are the values of the last tree, with the learning rate: leaf *
  // outputs + output. They are empty where there is none. kInvalid: no row is left.
  Status Draw(uint64_t tree, uint64_t level, std::span<const double> gradients,
              std::span<const double> last_leaves, WorkPool& pool, std::span<float> factors) const;

 private:
  struct RowGradients;

  // Writes the factors of rows from begin on. False: all are 0.
  bool DrawPiece(const RowDraw& sample, const RowGradients& gradients, size_t begin,
                 std::span<float> factors) const;

  const BootstrapParameters p_;
  const uint64_t seed_;
  const double share_;
  const bool is_active_;
};

}  // namespace strata
