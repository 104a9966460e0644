// What a collection of item sets holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "strata/set_list.h"

namespace strata {

struct Document {
  DocumentId id = 0;
  std::vector<Token> tokens = {};  // any order on the way in, repeats count once; ascending later
  std::vector<int64_t> attributes = {};  // as many as the collection has, for filters

  friend bool operator==(const Document&, const Document&) = default;
};

// Some of a collection's documents, in an order that is the collection's own and never changes.
struct DocumentPage {
  std::vector<Document> documents = {};  // tokens ascend
  uint64_t cursor = 0;                   // where the next page begins
  bool done = false;                     // there is none
};

struct ItemSetSpec {
  static constexpr size_t kMostAttributes = 64;
  static constexpr size_t kMostTokens = 1 << 20;  // of a document or a query

  std::vector<std::string> attributes = {};  // their names, each once
};

}  // namespace strata
