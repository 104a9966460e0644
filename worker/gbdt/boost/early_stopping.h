// EarlyStopping: ends training as soon as one metric of one validation set has not become better
// for some rounds. Of metrics with several values (ndcg@1, ndcg@3), the last one counts (LightGBM's
// GBDT::OutputMetric).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "worker/gbdt/metric/metric.h"

namespace strata {

class EarlyStopping {
 public:
  EarlyStopping(size_t rounds, double min_delta, bool first_metric_only)
      : rounds_(rounds), min_delta_(min_delta), first_metric_only_(first_metric_only) {}

  // The metrics after `round` rounds. Returns the best round once one metric has not become better
  // for long enough.
  std::optional<size_t> Add(size_t round, const std::vector<Evaluation>& evaluations);

 private:
  struct Best {
    double value = 0;
    size_t round = 0;
  };
  const size_t rounds_;  // 0: never
  const double min_delta_;
  const bool first_metric_only_;
  std::vector<Best> best_;  // of each metric of each validation set
};

}  // namespace strata
