#include "worker/gbdt/grower/group_exchange.h"

namespace strata {
namespace {

class NoExchange : public Exchange {};

class FeatureParallel : public GroupExchange {
 public:
  using GroupExchange::GroupExchange;
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
  own_ = owners_.Flags(rank(), used.size());
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
