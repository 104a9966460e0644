// The model of a collection: a std::map, and a search that judges every document. Slow and plainly
// right.
#pragma once

#include <map>
#include <vector>

#include "storage/itemset/item_filter.h"
#include "strata/document.h"
#include "tests/kernels/setops/random_sets.h"

namespace strata::test {

class ItemSetModel {
 public:
  void Upsert(const Document& document) { documents_[document.id] = document; }
  bool Delete(DocumentId id) { return documents_.erase(id) > 0; }
  const std::map<DocumentId, Document>& documents() const { return documents_; }

  std::vector<Hit> Search(const Tokens& query, const SearchGoal& goal,
                          const ItemFilter& filter) const {
    Documents found;
    for (const auto& [id, document] : documents_) {
      bool is_in = !filter.has_ids || filter.ids.Has(id);
      for (const auto& range : filter.ranges) {
        const int64_t value = document.attributes[range.attribute];
        is_in = is_in && range.low <= value && value <= range.high;
      }
      if (!is_in) continue;
      found.ids.push_back(id);
      found.sets.push_back(document.tokens);
    }
    return PlainSearch(found, {}, query, goal);
  }

 private:
  std::map<DocumentId, Document> documents_;
};

}  // namespace strata::test
