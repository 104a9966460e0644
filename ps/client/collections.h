// Collections: item sets in a cluster of servers, changed and searched (docs/search.md). A document
// is on the lane that holds its id's shard; a search goes to all lanes at once, or to those that
// together have all documents, and their answers are merged exactly.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "proto/wire/collection_payload.h"
#include "ps/client/lane_exchange.h"
#include "storage/itemset/item_filter.h"
#include "storage/itemset/merge_answers.h"
#include "storage/table_spec.h"
#include "strata/document.h"
#include "strata/status.h"

namespace strata {

struct CollectionSpec {
  std::string name;                     // 1 to 128 of A-Z a-z 0-9 _ . -
  std::vector<std::string> attributes;  // integers of 64 bits that each document has, by name
  // Servers that have each document, at most all. With more than one a search goes to fewer of them
  // than there are, in turn.
  uint8_t copies = 1;
};

// kInvalid says what is wrong with a name, or with the attributes' number or names.
Status ValidateCollectionSpec(const CollectionSpec& spec);

// How a lane came to a part of a search's answers.
struct LaneExplanation {
  wire::LaneName lane;
  uint32_t queries = 0;                                // that it was asked
  std::optional<wire::SearchExplanation> explanation;  // none: its server is too old to say
};

// Thread-safe when its caller is, which outlives it. Calls block, and one caller serves any number
// of threads at a time. Errors name the collection, and where a server answered, that and its lane:
// kNotFound (no such collection), kInvalid (a document or a query does not fit), kExists,
// kDeadlineExceeded, kLost, and the others of the protocol. A write is made once, however often it
// has to be sent. Of one that ends in an error some lanes may have made their part.
class Collections {
 public:
  explicit Collections(LaneExchange& caller);

  // One that exists with the same spec is fine.
  Status Create(const CollectionSpec& spec, TimeNs deadline = kNever);
  Status Drop(const std::string& name, TimeNs deadline = kNever);
  // Those that any lane has, by name.
  Result<std::vector<CollectionSpec>> List(TimeNs deadline = kNever);
  // Lanes that do not have the collection: all where there is none, some where a server came back
  // without its data or Create ended half way. Create gives it to them, empty.
  Result<std::vector<wire::LaneName>> LanesWithout(const std::string& name,
                                                   TimeNs deadline = kNever);

  // Puts documents in, each in the place of one with its id. Of several with one id the last holds.
  Status Upsert(const std::string& name, std::span<const Document> documents,
                AckLevel ack = AckLevel::kDefault, TimeNs deadline = kNever);
  // Ids that there are not are no error.
  Status Delete(const std::string& name, std::span<const DocumentId> ids,
                AckLevel ack = AckLevel::kDefault, TimeNs deadline = kNever);
  // The documents of these ids that there are, by rising id; tokens ascend.
  Result<std::vector<Document>> Get(const std::string& name, std::span<const DocumentId> ids,
                                    TimeNs deadline = kNever);

  // The documents of a lane, by its place in the shard map, page by page: from `cursor` on, 0 at
  // first. Over all pages one that is there all the time comes just once, whatever becomes of
  // others.
  Result<DocumentPage> ScanLane(const std::string& name, uint16_t lane, uint64_t cursor,
                                TimeNs deadline = kNever);

  // The answer to each query, best first, equally alike ones by smaller id: of all documents whose
  // Upsert had returned when it began. Tokens of a query in any order, repeats count once.
  // `explained` may be null; one for each message to a lane.
  Result<std::vector<std::vector<Hit>>> Search(const std::string& name, const SetList& queries,
                                               const SearchGoal& goal,
                                               const ItemFilter& filter = {},
                                               TimeNs deadline = kNever,
                                               std::vector<LaneExplanation>* explained = nullptr);

  // Of each lane, in the order of the shard map: the same as long as no document changes there.
  struct LaneMark {
    uint64_t incarnation = 0;  // of its server
    uint64_t changes = 0;      // that were asked for since its start
    uint64_t documents = 0;
    friend bool operator==(const LaneMark&, const LaneMark&) = default;
  };
  Result<std::vector<LaneMark>> MarksByLane(const std::string& name, TimeNs deadline = kNever);

  // Whether the next search of the collection is meant for copies: replies have said that there are
  // some, and none were refused of late.
  bool AsksCopies(const std::string& name);

  // Of each lane, in the order of the shard map.
  Result<std::vector<wire::CollectionStatsReply>> StatsByLane(const std::string& name,
                                                              TimeNs deadline = kNever);
  // Over all lanes; queries as clients asked them.
  Result<wire::CollectionStatsReply> Stats(const std::string& name, TimeNs deadline = kNever);

 private:
  Result<std::vector<wire::Received>> AskAll(wire::Command command, const std::string& name,
                                             Message payload, TimeNs deadline);
  Result<std::vector<std::vector<CollectionSpec>>> ListByLane(TimeNs deadline);
  Status Change(const std::string& name, std::vector<LaneMessages::Part> parts, AckLevel ack,
                TimeNs deadline);

  // A server to be asked, and whose documents for: its own and those of servers before it.
  struct Asked {
    uint16_t server = 0;
    uint32_t servers = 1;
  };
  std::vector<Asked> ChooseServers(const std::string& name);
  std::vector<Asked> AllServers() const;
  void NoteCopies(const std::string& name, std::span<const wire::Received> replies);
  // There were no copies that could be searched: for some searches to come homes are asked.
  void NoteNoCopies(const std::string& name);
  Result<std::vector<std::vector<Hit>>> SearchAt(std::span<const Asked> asked,
                                                 const std::string& name, const SetList& queries,
                                                 const SearchGoal& goal, const ItemFilter& filter,
                                                 TimeNs deadline,
                                                 std::vector<LaneExplanation>* explained);

  LaneExchange& caller_;
  const wire::ShardMap map_;

  // What replies have said of a collection.
  struct Copies {
    uint32_t copies = 1;
    uint32_t turn = 0;
    uint32_t at_homes = 0;  // searches that are still to go there
  };
  std::mutex mutex_;
  std::map<std::string, Copies> copies_;  // by name. Guarded by mutex_
};

}  // namespace strata
