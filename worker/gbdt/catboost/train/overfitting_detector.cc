#include "worker/gbdt/catboost/train/overfitting_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

// CatBoost's constants.
constexpr double kForget = 0.99;
constexpr size_t kLosses = 2000;
constexpr double kScale = 0.5;
constexpr double kTiny = 1e-10;

// The probability that changes which are as likely up as down have ranks as far apart as these: by
// the normal distribution, corrected for equal ranks. Changes of 0 do not count.
double SignedRankPValue(std::vector<double> changes) {
  std::erase(changes, 0.0);
  if (changes.empty()) return kScale;
  std::ranges::sort(changes, {}, [](double change) { return std::abs(change); });
  const auto count = static_cast<double>(changes.size());
  double rises = 0;  // sum of their ranks
  double spread = count * (count + 1) * (2 * count + 1);
  for (size_t begin = 0; begin < changes.size();) {
    size_t end = begin + 1;
    while (end < changes.size() && std::abs(changes[end]) == std::abs(changes[begin])) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;
    for (size_t i = begin; i < end; ++i) rises += changes[i] > 0 ? rank : 0;
    const auto ties = static_cast<double>(end - begin);
    spread -= ties * (ties - 1) * (ties + 1) / 2;
    begin = end;
  }
  const double deviations = (rises - count * (count + 1) / 4) / std::sqrt(spread / 24);
  return std::erfc(std::abs(deviations) / std::sqrt(2.0));
}

}  // namespace

bool OverfittingDetector::Add(double loss) {
  if (is_first_ || loss < best_) {
    best_ = loss;
    since_best_ = 0;
    changes_.clear();
  } else {
    ++since_best_;
    changes_.push_back(loss - last_);
  }
  is_first_ = false;
  last_ = loss;
  if (p_.type == DetectorType::kIter) return since_best_ >= p_.wait;
  if (p_.type == DetectorType::kIncToDec) {
    losses_.push_front(loss);
    if (losses_.size() > kLosses) losses_.pop_back();
    expected_fall_ *= kForget;
    double weight = 1;
    for (const double earlier : losses_) {
      expected_fall_ = std::max(expected_fall_, weight * (earlier - loss));
      weight *= kForget;
    }
  }
  return since_best_ >= p_.wait && PValue(loss) < p_.p_value;
}

double OverfittingDetector::PValue(double loss) const {
  if (p_.type == DetectorType::kWilcoxon) return SignedRankPValue(changes_);
  const double ratio = expected_fall_ / std::max(loss - best_, kTiny);
  return std::exp(-kScale / std::max(ratio, kTiny));
}

std::string OverfittingDetector::Reason() const {
  if (p_.type == DetectorType::kIter) {
    return fmt::format("no improvement on test rows in {} rounds (od_type = Iter)", since_best_);
  }
  return fmt::format("no improvement on test rows in {} rounds, p-value {:.2g} (od_type = {})",
                     since_best_, PValue(last_),
                     p_.type == DetectorType::kIncToDec ? "IncToDec" : "Wilcoxon");
}

}  // namespace strata
