// Collections: item sets in a cluster of servers, changed and searched (docs/search.md). A document
// is on the lane that holds its id's shard; a search goes to all lanes at once, or to those that
// together have all documents, and their answers are merged exactly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "proto/wire/collection_payload.h"
#include "ps/client/lane_exchange.h"
#include "strata/collection_store.h"

namespace strata {

// How a lane came to a part of a search's answers.
struct LaneExplanation {
  wire::LaneName lane;
  uint32_t queries = 0;                                // that it was asked
  std::optional<wire::SearchExplanation> explanation;  // none: its server is too old to say
};

// Collections over `caller`, which outlives this. Thread-safe when the caller is; one caller serves
// any number of threads at a time.
class Collections final : public CollectionStore {
 public:
  explicit Collections(LaneExchange& caller);

  Status Create(const CollectionSpec& spec, TimeNs deadline = kNever) override;
  Status Drop(const std::string& name, TimeNs deadline = kNever) override;
  Result<std::vector<CollectionSpec>> List(TimeNs deadline = kNever) override;
  Status Upsert(const std::string& name, std::span<const Document> documents,
                AckLevel ack = AckLevel::kDefault, TimeNs deadline = kNever) override;
  Status Delete(const std::string& name, std::span<const DocumentId> ids,
                AckLevel ack = AckLevel::kDefault, TimeNs deadline = kNever) override;
  Result<std::vector<Document>> Get(const std::string& name, std::span<const DocumentId> ids,
                                    TimeNs deadline = kNever) override;
  Result<std::vector<std::vector<Hit>>> Search(const std::string& name, const SetList& queries,
                                               const SearchGoal& goal,
                                               const ItemFilter& filter = {},
                                               TimeNs deadline = kNever) override {
    return SearchExplained(name, queries, goal, filter, deadline, nullptr);
  }

  // Lanes that do not have the collection: all where there is none, some where a server came back
  // without its data or Create ended half way. Create gives it to them, empty.
  Result<std::vector<wire::LaneName>> LanesWithout(const std::string& name,
                                                   TimeNs deadline = kNever);

  // The documents of a lane, by its place in the shard map, page by page: from `cursor` on, 0 at
  // first. Over all pages one that is there all the time comes just once, whatever becomes of
  // others.
  Result<DocumentPage> ScanLane(const std::string& name, uint16_t lane, uint64_t cursor,
                                TimeNs deadline = kNever);

  // Search, and how each lane came to its part: `explained` may be null; one for each message to a
  // lane.
  Result<std::vector<std::vector<Hit>>> SearchExplained(const std::string& name,
                                                        const SetList& queries,
                                                        const SearchGoal& goal,
                                                        const ItemFilter& filter, TimeNs deadline,
                                                        std::vector<LaneExplanation>* explained);

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
  Mutex mutex_;
  std::map<std::string, Copies> copies_ STRATA_GUARDED_BY(mutex_);  // by name
};

}  // namespace strata
