// Collections of item sets: documents with tokens and attributes, changed by id and searched by set
// intersection. Answers are exact. docs/search.md tells how they are found.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/document.h"
#include "strata/set_list.h"
#include "strata/set_search.h"
#include "strata/status.h"
#include "strata/table_spec.h"
#include "strata/time.h"

namespace strata {

struct CollectionSpec {
  std::string name = {};                     // 1 to 128 of A-Z a-z 0-9 _ . -
  std::vector<std::string> attributes = {};  // integers of 64 bits that each document has, by name
  // Servers that have each document, at most all. With more than one a search goes to fewer of them
  // than there are, in turn.
  uint8_t copies = 1;
};

// kInvalid says what is wrong with a name, or with the attributes' number or names.
Status ValidateCollectionSpec(const CollectionSpec& spec);

// Thread-safe; calls block. Errors name the collection, and where a server answered, that server
// and its lane: kNotFound (no such collection), kInvalid (a document or a query does not fit),
// kExists, kDeadlineExceeded, kLost, and the others of docs/protocol.md. A write is made once,
// however often it has to be sent. Of one that ends in an error some lanes may have made their
// part.
class CollectionStore {
 public:
  virtual ~CollectionStore() = default;

  // One that exists with the same spec is fine.
  virtual Status Create(const CollectionSpec& spec, TimeNs deadline = kNever) = 0;
  virtual Status Drop(const std::string& name, TimeNs deadline = kNever) = 0;
  // Those that any lane has, by name.
  virtual Result<std::vector<CollectionSpec>> List(TimeNs deadline = kNever) = 0;

  // Puts documents in, each in the place of one with its id. Of several with one id the last holds.
  virtual Status Upsert(const std::string& name, std::span<const Document> documents,
                        AckLevel ack = AckLevel::kDefault, TimeNs deadline = kNever) = 0;
  // Ids without a document are no error.
  virtual Status Delete(const std::string& name, std::span<const DocumentId> ids,
                        AckLevel ack = AckLevel::kDefault, TimeNs deadline = kNever) = 0;
  // The documents of these ids that exist, by rising id; tokens ascend.
  virtual Result<std::vector<Document>> Get(const std::string& name,
                                            std::span<const DocumentId> ids,
                                            TimeNs deadline = kNever) = 0;

  // The answer to each query, best first, equally alike ones by smaller id: of all documents whose
  // Upsert had returned when the search began. Tokens of a query come in any order, and repeats
  // count once.
  virtual Result<std::vector<std::vector<Hit>>> Search(const std::string& name,
                                                       const SetList& queries,
                                                       const SearchGoal& goal,
                                                       const ItemFilter& filter = {},
                                                       TimeNs deadline = kNever) = 0;
};

}  // namespace strata
