// A life of a collection that is a function of its log: what record n changes, and what the
// collection is after it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "proto/format/item_change.h"
#include "storage/log/log.h"
#include "tests/storage/itemset/item_set_model.h"

namespace strata::test {

inline void ApplyTo(ItemSetModel& model, const std::vector<format::ItemChange>& changes) {
  for (const format::ItemChange& change : changes) {
    if (change.is_upsert) {
      model.Upsert({change.id, change.tokens, change.attributes});
    } else {
      model.Delete(change.id);
    }
  }
}

// Some changes of few ids.
class LoggedChanges {
 public:
  explicit LoggedChanges(uint64_t ids, uint64_t seed = 0) : ids_(ids), seed_(seed) {}

  DocumentId IdOf(uint64_t i) const { return Mix64(i); }  // of ids

  std::vector<format::ItemChange> Of(Lsn lsn) const {
    Random random(Mix64(seed_) + lsn);
    std::vector<format::ItemChange> changes(1 + random.Below(3));
    for (format::ItemChange& change : changes) {
      change.id = IdOf(random.Below(ids_));
      change.is_upsert = random.Below(3) != 0;
      if (!change.is_upsert) continue;
      Token token = 0;
      for (uint64_t i = random.Below(12); i > 0; --i) {
        token += 1 + static_cast<Token>(random.Below(20));
        change.tokens.push_back(token);
      }
      change.attributes = {static_cast<int64_t>(random.Next())};
    }
    return changes;
  }

  // From the last record backwards, until each id was met: what came before does not matter.
  ItemSetModel ModelOf(Lsn last) const {
    ItemSetModel model;
    std::set<DocumentId> met;
    for (Lsn lsn = last; lsn > 0 && met.size() < ids_; --lsn) {
      const auto changes = Of(lsn);
      for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
        if (!met.insert(change->id).second || !change->is_upsert) continue;
        model.Upsert({change->id, change->tokens, change->attributes});
      }
    }
    return model;
  }

 private:
  const uint64_t ids_;
  const uint64_t seed_;
};

}  // namespace strata::test
