// Everything that answers searches in blocks of documents, to be compared with a reference.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"

namespace strata::soak {

using Answers = std::vector<std::vector<Hit>>;
// By block, the bits of its places; no blocks, or a block without bits: all documents.
using Filter = std::vector<std::vector<uint64_t>>;

// Thread-safe. What it has of the blocks lives as long as it.
struct SetSearcher {
  std::string name;
  std::function<Result<Answers>(const SetList& queries, const SearchGoal& goal,
                                const Filter& filter)>
      search;
};

// Both engines. The blocks outlive them.
std::vector<SetSearcher> CpuSearchers(std::span<const SetBlock> blocks);
// Both engines, of which counting answers few queries in another way than many: these are two.
Result<std::vector<SetSearcher>> GpuSearchers(const std::shared_ptr<GpuSearchRoom>& room,
                                              std::span<const SetBlock> blocks, WorkPool& pool);

}  // namespace strata::soak
