#include "worker/gbdt/sampler/row_sampler.h"

#include "worker/gbdt/sampler/bagging.h"
#include "worker/gbdt/sampler/goss.h"

namespace strata {
namespace {

class AllRows : public RowSampler {
 public:
  void Sample(uint64_t /*round*/, WorkPool& /*pool*/, std::span<float> /*gradients*/,
              std::span<float> /*hessians*/, std::vector<uint32_t>* /*rows*/) override {}
  GpuSample OnGpu(uint64_t /*round*/) const override { return GpuBag{}; }
};

}  // namespace

Result<std::unique_ptr<RowSampler>> MakeRowSampler(const BoostingParameters& p,
                                                   const TreeDataset& data) {
  if (p.data_sample_strategy == "goss") {
    return std::unique_ptr<RowSampler>(std::make_unique<Goss>(p, data));
  }
  const bool some =
      p.bagging_fraction < 1 || p.pos_bagging_fraction < 1 || p.neg_bagging_fraction < 1;
  if (p.bagging_freq <= 0 || !some) {
    return std::unique_ptr<RowSampler>(std::make_unique<AllRows>());
  }
  if (p.bagging_by_query && data.query_begins.empty()) {
    return Invalid("bagging_by_query needs data with queries: a .query file or group_column");
  }
  return std::unique_ptr<RowSampler>(std::make_unique<Bagging>(p, data));
}

}  // namespace strata
