// StreamedSets: documents that have no place in a GPU's memory, brought there for one search, as
// many at a time as may pass through (ItemGpu), searched and dropped.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/strangers.h"
#include "storage/itemset/item_gpu.h"

namespace strata {

// One thread. The blocks outlive it.
class StreamedSets final : public GpuSets {
 public:
  StreamedSets(ItemGpu& gpu, std::span<const AllowedBlock> blocks, WorkPool& pool,
               const Clock& clock);

  // How often something is brought there; 0: a block is larger than what may pass, and there can be
  // no search.
  size_t pieces() const { return pieces_.size(); }

  // Waits while another one has documents pass.
  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const GpuSearchMeans& means) override;
  bool scans() const override;
  Counts counts() const override { return counts_; }
  size_t bytes() const override { return 0; }

 private:
  ItemGpu& gpu_;
  WorkPool& pool_;
  const Clock& clock_;
  std::vector<const SetBlock*> blocks_;
  std::vector<size_t> pieces_;  // where they end, by block
  Counts counts_;
};

}  // namespace strata
