#include "worker/gbdt/mode/boosting_mode.h"

#include "worker/gbdt/mode/dart.h"

namespace strata {
namespace {

// Every tree is scaled alike, and stays as it is.
class GradientBoosting : public BoostingMode {
 public:
  explicit GradientBoosting(double shrinkage) : shrinkage_(shrinkage) {}
  RoundPlan Plan(uint64_t /*round*/) override {
    return {.dropped = {}, .dropped_factor = 1, .shrinkage = shrinkage_};
  }

 private:
  const double shrinkage_;
};

class RandomForest : public BoostingMode {
 public:
  RoundPlan Plan(uint64_t /*round*/) override { return {}; }
  bool averages() const override { return true; }
};

}  // namespace

std::unique_ptr<BoostingMode> MakeBoostingMode(const BoostingParameters& p, uint64_t first_round) {
  if (p.mode == "dart") return std::make_unique<Dart>(p, first_round);
  if (p.mode == "rf") return std::make_unique<RandomForest>();
  return std::make_unique<GradientBoosting>(p.learning_rate);
}

}  // namespace strata
