// Many documents drawn at random, and what searches must find in them, the plain way.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"
#include "strata/set_list.h"
#include "tests/soak/sets/set_searchers.h"

namespace strata::soak {

class LargeSets {
 public:
  // The same for the same arguments. Half of the time each block's ids are larger than those of the
  // blocks before.
  LargeSets(uint64_t seed, size_t documents, WorkPool& pool);

  size_t size() const { return ids_.size(); }
  std::span<const SetBlock> blocks() const { return blocks_; }
  // Of no token, of one, of many, of tokens that nobody has, and documents' own, mixed.
  SetList queries() const { return queries_.view(); }
  // A third of the documents.
  Filter filter() const;

  // The best of the documents, or of those of the filter, by a look at each: nothing that searches
  // use is used for it but the definition of similarity.
  std::vector<Hit> Best(size_t query, const SearchGoal& goal, bool has_filter) const;
  // How many of the queries would miss one of their best documents by the cut of baidu_topk's
  // version 9, which queries of mixed lengths share. `best`: of each query, by overlap / longest.
  size_t LostToSharedCut(const SearchGoal& goal, std::span<const std::vector<Hit>> best) const;

 private:
  // Of documents, by number, that are allowed.
  std::vector<Hit> Best(size_t query, const SearchGoal& goal,
                        const std::function<bool(size_t)>& is_allowed) const;

  std::vector<DocumentId> ids_;
  std::vector<uint32_t> lengths_;
  std::vector<SetLists> parts_;  // a block each
  std::vector<SetBlock> blocks_;
  SetLists queries_;
  std::vector<std::vector<uint16_t>> overlaps_;  // by query and document
};

}  // namespace strata::soak
