// What strata-admin collection search and explain ask, and what they are answered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ps/client/collections.h"
#include "storage/itemset/set_files.h"
#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

struct CollectionQuery {
  TokenSet tokens;
  std::string file = {};                // of a folder; "": from elsewhere
  std::optional<DocumentId> like = {};  // the document whose tokens they are
};

struct CollectionAnswers {
  std::vector<CollectionQuery> queries;
  std::vector<std::vector<Hit>> hits;  // of each, best first
  double ms = 0;                       // of the searches
  std::vector<LaneExplanation> explained;
};

// Reads the request's queries and asks the cluster. With `explain` lanes say how they found the
// answers, in `explained`. kInvalid: a query, a filter or a file is wrong; NoCollection.
Result<CollectionAnswers> AskCollection(const Request& request, bool explain);

}  // namespace strata::admin
