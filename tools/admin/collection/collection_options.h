// The options of strata-admin collection.
#pragma once

#include <string>
#include <vector>

#include "strata/status.h"
#include "tools/admin/collection/collection_request.h"

namespace strata::admin {

// As they stand on the command line, where they are no plain text.
struct CollectionWords {
  std::string copies = "1";
  std::string first_id;  // "": 0
  std::string ack = "default";
  std::vector<std::string> ids;
  std::vector<std::string> queries;  // "1,2,3"
  std::vector<std::string> like;     // ids
  std::string metric = "overlap_max";
  std::string k;                   // "": 100, or all with a threshold
  std::string threshold;           // "": none
  std::vector<std::string> where;  // NAME:LOW..HIGH
};

// Puts them into the request. kInvalid names the option.
Status ReadCollectionOptions(const CollectionWords& words, CollectionRequest* request);

// "overlap, overlap_max, ..."
std::string MetricNames();

}  // namespace strata::admin
