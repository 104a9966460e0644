#include "worker/gbdt/boost/early_stopping.h"

namespace strata {

std::optional<size_t> EarlyStopping::Add(size_t round, const std::vector<Evaluation>& evaluations) {
  if (rounds_ == 0) return std::nullopt;
  size_t number = 0;
  for (const Evaluation& evaluation : evaluations) {
    if (evaluation.data == "training") continue;
    bool is_first = true;
    for (const MetricValue& metric : evaluation.metrics) {
      if (!metric.decides) continue;
      if (first_metric_only_ && !is_first) break;
      is_first = false;
      const double value = metric.higher_is_better ? metric.value : -metric.value;
      if (number == best_.size()) {
        best_.push_back({value, round});
      } else if (value > best_[number].value + min_delta_) {
        best_[number] = {value, round};
      } else if (round - best_[number].round >= rounds_) {
        return best_[number].round;
      }
      ++number;
    }
  }
  return std::nullopt;
}

}  // namespace strata
