// Discounted cumulative gain (K. Jarvelin and J. Kekalainen, "Cumulated gain-based evaluation of IR
// techniques", ACM TOIS 2002), with LightGBM's gains and discounts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/gradient/ranking_losses.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {

// Gain of each label: label_gain, or 2^label - 1 up to 31.
class LabelGains {
 public:
  // kInvalid: a label of the data has no gain, or the data has no queries.
  static Result<LabelGains> Make(std::span<const double> label_gain, const TreeDataset& data);
  double Of(float label) const { return gains_[static_cast<size_t>(label)]; }
  std::span<const double> all() const { return gains_; }

 private:
  std::vector<double> gains_;
};

using loss::DiscountOf;

// The largest DCG that these labels can have in the first k places.
double MaxDcg(std::span<const float> labels, const LabelGains& gains, size_t k);

// Places of the documents by score, the highest first; equal ones in their order.
std::vector<uint32_t> OrderByScore(std::span<const double> scores);

}  // namespace strata
