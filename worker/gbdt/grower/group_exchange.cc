#include "worker/gbdt/grower/group_exchange.h"

namespace strata {
namespace {

class NoExchange : public Exchange {};

// Histograms are built by blocks of columns, so ranks own whole ones.
class FeatureParallel : public GroupExchange {
 public:
  using GroupExchange::GroupExchange;

  void StartTree(std::span<const uint8_t> used, const GradientUnits& /*units*/) override {
    const size_t blocks = bins_.blocks().size();
    std::vector<uint8_t> block_used(blocks, 0);
    std::vector<uint32_t> block_bins(blocks, 0);
    for (size_t f = 0; f < used.size(); ++f) {
      block_used[bins_.block_of(f)] |= used[f];
      block_bins[bins_.block_of(f)] += bin_counts_[f];
    }
    owners_.Deal(block_used, block_bins);
    own_.assign(used.size(), 0);
    std::vector<uint8_t> is_own(blocks, 0);
    for (const size_t b : owners_.Of(rank())) is_own[b] = 1;
    for (size_t f = 0; f < used.size(); ++f) own_[f] = is_own[bins_.block_of(f)] != 0 ? used[f] : 0;
  }
};

}  // namespace

GroupExchange::GroupExchange(Group& group, const BinMatrix& bins,
                             std::span<const FeatureShape> shapes)
    : group_(group),
      bins_(bins),
      shapes_(shapes),
      owners_(static_cast<size_t>(group.world())),
      message_(shapes) {
  for (size_t f = 0; f < bins.features(); ++f) bin_counts_.push_back(bins.bins(f));
}

void GroupExchange::StartTree(std::span<const uint8_t> used, const GradientUnits& /*units*/) {
  owners_.Deal(used, bin_counts_);
  own_.assign(used.size(), 0);
  for (const size_t feature : owners_.Of(rank())) own_[feature] = 1;
}

void GroupExchange::FindBest(std::span<Split* const> splits) {
  if (Keep(status_.ok() ? message_.FindBest(group_, splits) : status_)) return;
  for (Split* const split : splits) *split = {};
}

bool GroupExchange::Keep(const Status& status) {
  if (status_.ok()) status_ = status;
  return status_.ok();
}

std::unique_ptr<Exchange> MakeFeatureParallel(Group& group, const BinMatrix& bins,
                                              std::span<const FeatureShape> shapes) {
  return std::make_unique<FeatureParallel>(group, bins, shapes);
}

std::unique_ptr<Exchange> MakeExchange(Group* group, const BinMatrix& bins,
                                       std::span<const FeatureShape> shapes,
                                       const ExchangeOptions& options) {
  if (group == nullptr || group->world() == 1) return std::make_unique<NoExchange>();
  switch (options.learner) {
    case TreeLearner::kSerial:
      break;
    case TreeLearner::kData:
      return MakeDataParallel(*group, bins, shapes, options.levels);
    case TreeLearner::kFeature:
      return MakeFeatureParallel(*group, bins, shapes);
    case TreeLearner::kVoting:
      return MakeVoting(*group, bins, shapes, options);
  }
  return std::make_unique<NoExchange>();
}

}  // namespace strata
