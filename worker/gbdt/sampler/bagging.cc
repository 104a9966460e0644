#include "worker/gbdt/sampler/bagging.h"

#include <numeric>

#include "base/hash.h"
#include "kernels/tree/gradient/fixed_point.h"

namespace strata {

Bagging::Bagging(const BoostingParameters& p, const TreeDataset& data)
    : data_(data),
      by_query_(p.bagging_by_query),
      positive_fraction_(p.bagging_fraction * p.pos_bagging_fraction),
      other_fraction_(p.bagging_fraction * p.neg_bagging_fraction),
      frequency_(static_cast<uint64_t>(p.bagging_freq)),
      seed_(static_cast<uint64_t>(p.bagging_seed)) {}

void Bagging::Sample(uint64_t round, WorkPool& /*pool*/, std::span<float> /*gradients*/,
                     std::span<float> /*hessians*/, std::vector<uint32_t>* rows) {
  const uint64_t bag = round / frequency_;
  if (drawn_ == bag + 1) return;
  drawn_ = bag + 1;
  const uint64_t seed = SeedOf(bag);
  const uint64_t first_row = data_.share.first_row();
  rows->clear();
  if (by_query_) {
    for (size_t query = 0; query + 1 < data_.query_begins.size(); ++query) {
      // A query is known by its first row.
      const size_t begin = data_.query_begins[query];
      if (RowUniform(seed, first_row + begin) >= other_fraction_) continue;
      const size_t old_size = rows->size();
      rows->resize(old_size + data_.query_begins[query + 1] - begin);
      std::iota(rows->begin() + static_cast<ptrdiff_t>(old_size), rows->end(),
                static_cast<uint32_t>(begin));
    }
    return;
  }
  for (size_t row = 0; row < data_.rows(); ++row) {
    const double fraction = data_.labels[row] > 0 ? positive_fraction_ : other_fraction_;
    if (RowUniform(seed, first_row + row) < fraction) rows->push_back(static_cast<uint32_t>(row));
  }
}

uint64_t Bagging::SeedOf(uint64_t bag) const { return Mix64(Mix64(seed_) + bag * frequency_); }

GpuSample Bagging::OnGpu(uint64_t round) const {
  return GpuBag{.share = other_fraction_,
                .positive_share = by_query_ ? other_fraction_ : positive_fraction_,
                .seed = SeedOf(round / frequency_),
                .by_query = by_query_};
}

}  // namespace strata
