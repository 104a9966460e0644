// What a lane needs of whoever keeps copies of other servers' documents for it (ps/follow).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "proto/wire/collection_payload.h"
#include "storage/itemset/item_set.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class CollectionCopies {
 public:
  using Sets = std::vector<std::shared_ptr<const ItemSet>>;

  virtual ~CollectionCopies() = default;

  // From now on, until Drop, copies of the collection's documents are kept as its definition says.
  virtual void Keep(const wire::CollectionDefinition& definition) = 0;
  virtual void Drop(uint32_t collection) = 0;
  // Does `work` on the thread that keeps the copies, in turn. It may be dropped when the server
  // ends.
  virtual void Run(std::function<void()> work) = 0;
  // Within Run: the documents of this many servers before this one, as far as this lane keeps
  // them, with all changes that were acknowledged when it was called. kRefused: there is no such
  // copy (yet), or its home does not answer.
  virtual Result<Sets> CatchUp(uint32_t collection, size_t servers) = 0;
  // Adds what the copies are to the lane's own stats.
  virtual void AddStats(uint32_t collection, wire::CollectionStatsReply* stats) const = 0;
};

}  // namespace strata
