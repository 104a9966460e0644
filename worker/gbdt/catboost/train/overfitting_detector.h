// OverfittingDetector: whether a training should end because the loss of its test rows no longer
// falls, as CatBoost decides it (libs/overfitting_detector of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace strata {

enum class DetectorType : uint8_t {
  kIter,      // the best loss is `wait` rounds old
  kIncToDec,  // the loss rises by much more than it has fallen in the last rounds
  kWilcoxon,  // F. Wilcoxon's signed-rank test of the changes since the best loss
};

struct DetectorParameters {
  DetectorType type = DetectorType::kIter;
  size_t wait = 20;    // rounds after the best loss that are always run: at least 1
  double p_value = 0;  // below which kIncToDec and kWilcoxon end the training
};

// One thread.
class OverfittingDetector {
 public:
  explicit OverfittingDetector(const DetectorParameters& parameters) : p_(parameters) {}

  // Takes the loss after the next round. True: the training should end now.
  bool Add(double loss);
  // For people, after Add has been true.
  std::string Reason() const;

 private:
  double PValue(double loss) const;

  const DetectorParameters p_;
  bool is_first_ = true;
  double best_ = 0;
  double last_ = 0;
  size_t since_best_ = 0;        // rounds
  double expected_fall_ = 0;     // of kIncToDec
  std::deque<double> losses_;    // of kIncToDec: the newest first
  std::vector<double> changes_;  // of kWilcoxon: from round to round since the best loss
};

}  // namespace strata
