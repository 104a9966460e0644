#include "ps/client/collections.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/seeded_hash.h"
#include "kernels/setops/merge_answers.h"
#include "proto/format/item_change.h"

namespace strata {
namespace {

using wire::Command;

// A lane handles one message at a time: small enough that others need not wait for it.
constexpr size_t kChangeBytes = size_t{256} << 10;
constexpr size_t kReadIds = 4096;
constexpr size_t kSearchQueries = 256;
constexpr size_t kSearchTokens = size_t{256} << 10;
constexpr size_t kSearchReplyBytes = size_t{4} << 20;
constexpr size_t kPageBytes = size_t{1} << 20;
// Until copies that were not to be searched are tried again.
constexpr uint32_t kSearchesAtHomes = 16;
constexpr size_t kUnknownReplyBytes = size_t{64} << 10;  // of a query for all that are alike enough

std::string Named(const std::string& name) { return fmt::format("collection '{}'", name); }

format::ItemChange Putting(const Document& document) {
  return {.is_upsert = true,
          .id = document.id,
          .tokens = document.tokens,
          .attributes = document.attributes};
}

// Changes as messages: those of a lane in order, cut where a message is full.
class ChangeMessages {
 public:
  explicit ChangeMessages(const wire::ShardMap& map) : map_(map), open_(map.lanes.size()) {}

  void Add(const format::ItemChange& change) {
    const uint16_t lane = map_.LaneOf(change.id);
    Open& open = open_[lane];
    format::AppendItemChange(change, &open.bytes);
    ++open.count;
    if (open.bytes.size() >= kChangeBytes) Close(lane);
  }
  std::vector<LaneMessages::Part> Take() {
    for (size_t lane = 0; lane < open_.size(); ++lane) Close(static_cast<uint16_t>(lane));
    return std::move(parts_);
  }

 private:
  struct Open {
    std::vector<std::byte> bytes;
    uint32_t count = 0;
  };
  void Close(uint16_t lane) {
    Open open = std::exchange(open_[lane], {});
    if (open.count == 0) return;
    parts_.push_back(
        {.lane = lane, .count = open.count, .payload = {Frame::Own(std::move(open.bytes))}});
  }

  const wire::ShardMap& map_;
  std::vector<Open> open_;  // by lane
  std::vector<LaneMessages::Part> parts_;
};

wire::SearchTerms TermsOf(const SearchGoal& goal, const ItemFilter& filter, uint32_t servers) {
  wire::SearchTerms terms;
  terms.servers = servers;
  terms.metric = static_cast<uint8_t>(goal.metric);
  terms.k = goal.k == SearchGoal::kAll ? wire::SearchTerms::kAll : static_cast<uint32_t>(goal.k);
  terms.least_num = goal.at_least.num;
  terms.least_den = goal.at_least.den;
  for (const ItemFilter::Range& range : filter.ranges) {
    terms.ranges.push_back({static_cast<uint32_t>(range.attribute), range.low, range.high});
  }
  terms.has_ids = filter.has_ids;
  if (filter.has_ids) {
    terms.ids_first = filter.ids.first;
    terms.ids = filter.ids.bits;
  }
  return terms;
}

Status CheckGoal(const SearchGoal& goal) {
  if (goal.at_least.den == 0) return Invalid("search: a least similarity of x / 0");
  if (goal.k < wire::SearchTerms::kAll || goal.k == SearchGoal::kAll) return {};
  return Invalid(
      fmt::format("search: expected a K below {}, found {}", wire::SearchTerms::kAll, goal.k));
}

// Where one message's queries end that begin at `begin`.
size_t EndOfMessage(const SetList& queries, size_t begin, const SearchGoal& goal) {
  const size_t reply = goal.k == SearchGoal::kAll
                           ? kUnknownReplyBytes
                           : std::max<size_t>(1, goal.k) * wire::kSearchHitBytes;
  const size_t most = std::clamp<size_t>(kSearchReplyBytes / reply, 1, kSearchQueries);
  size_t end = begin + 1;
  while (end < queries.size() && end - begin < most &&
         queries.offsets[end + 1] - queries.offsets[begin] <= kSearchTokens) {
    ++end;
  }
  return end;
}

// Behind those that there are.
Status TakeDocuments(const wire::Received& reply, std::vector<Document>* documents) {
  if (reply.payload[0].size() == 0) return {};
  auto items = format::DecodeItemChanges(reply.payload[0].bytes());
  if (!items.ok()) return items.status().Prefixed("documents in a reply");
  for (format::ItemChange& item : *items) {
    documents->push_back({item.id, std::move(item.tokens), std::move(item.attributes)});
  }
  return {};
}

}  // namespace

Status ValidateCollectionSpec(const CollectionSpec& spec) {
  STRATA_TRY(ValidateName("collection name", spec.name));
  if (spec.name.find_first_not_of('.') == std::string::npos) {
    return Invalid(fmt::format("collection name: expected more than dots, found '{}'", spec.name));
  }
  if (spec.attributes.size() > wire::kCollectionAttributesMax) {
    return Invalid(fmt::format("{}: expected at most {} attributes, found {}", Named(spec.name),
                               wire::kCollectionAttributesMax, spec.attributes.size()));
  }
  if (spec.copies < 1 || spec.copies > wire::kCollectionCopiesMax) {
    return Invalid(fmt::format("{}: expected 1 to {} copies, found {}", Named(spec.name),
                               wire::kCollectionCopiesMax, spec.copies));
  }
  std::set<std::string> known;
  for (const std::string& attribute : spec.attributes) {
    STRATA_TRY(ValidateName("attribute", attribute).Prefixed(Named(spec.name)));
    if (known.insert(attribute).second) continue;
    return Invalid(fmt::format("{}: there are two attributes '{}'; give one another name",
                               Named(spec.name), attribute));
  }
  return {};
}

Collections::Collections(LaneExchange& caller) : caller_(caller), map_(caller.Map()) {}

Result<std::vector<wire::Received>> Collections::AskAll(Command command, const std::string& name,
                                                        Message payload, TimeNs deadline) {
  LaneMessages messages{
      .command = command, .collection = wire::CollectionIdOf(name), .deadline = deadline};
  const auto lanes = static_cast<uint16_t>(map_.lanes.size());
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    messages.parts.push_back({.lane = lane, .payload = payload});
  }
  return caller_.Exchange(std::move(messages));
}

Status Collections::Create(const CollectionSpec& spec, TimeNs deadline) {
  STRATA_TRY(ValidateCollectionSpec(spec));
  const wire::CollectionDefinition definition{spec.name, spec.attributes, spec.copies};
  const Frame payload = wire::EncodeCollections(std::span(&definition, 1));
  return AskAll(Command::kCreateCollection, spec.name, {payload}, deadline)
      .status()
      .Prefixed(Named(spec.name));
}

// Lanes one by one: some may not have it, after an earlier attempt that went half way, and it is
// dropped all the same.
Status Collections::Drop(const std::string& name, TimeNs deadline) {
  size_t dropped = 0;
  const auto lanes = static_cast<uint16_t>(map_.lanes.size());
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    const Status status = caller_
                              .Exchange({.command = Command::kDropCollection,
                                         .collection = wire::CollectionIdOf(name),
                                         .parts = {{.lane = lane}},
                                         .deadline = deadline})
                              .status();
    if (status.code() == StatusCode::kNotFound) {
      continue;
    }
    STRATA_TRY(status.Prefixed(Named(name)));
    ++dropped;
  }
  {
    const MutexLock lock(mutex_);
    copies_.erase(name);
  }
  return dropped > 0 ? Status() : NotFound(fmt::format("there is no {}", Named(name)));
}

Result<std::vector<CollectionSpec>> Collections::List(TimeNs deadline) {
  STRATA_ASSIGN(const auto of_lanes, ListByLane(deadline));
  std::vector<CollectionSpec> all;
  for (const std::vector<CollectionSpec>& of_lane : of_lanes) {
    for (const CollectionSpec& spec : of_lane) {
      const auto at = std::ranges::lower_bound(all, spec.name, {}, &CollectionSpec::name);
      if (at == all.end() || at->name != spec.name) all.insert(at, spec);
    }
  }
  return all;
}

Result<std::vector<wire::LaneName>> Collections::LanesWithout(const std::string& name,
                                                              TimeNs deadline) {
  STRATA_ASSIGN(const auto of_lanes, ListByLane(deadline));
  std::vector<wire::LaneName> without;
  for (size_t lane = 0; lane < of_lanes.size(); ++lane) {
    if (std::ranges::find(of_lanes[lane], name, &CollectionSpec::name) == of_lanes[lane].end()) {
      without.push_back(map_.lanes[lane]);
    }
  }
  return without;
}

Result<std::vector<std::vector<CollectionSpec>>> Collections::ListByLane(TimeNs deadline) {
  STRATA_ASSIGN(const std::vector<wire::Received> replies,
                AskAll(Command::kListCollections, "", {}, deadline));
  std::vector<std::vector<CollectionSpec>> of_lanes;
  for (const wire::Received& reply : replies) {
    STRATA_ASSIGN(const auto definitions, wire::DecodeCollections(reply.payload[0].bytes()));
    auto& of_lane = of_lanes.emplace_back();
    for (const wire::CollectionDefinition& definition : definitions) {
      of_lane.push_back({definition.name, definition.attributes, definition.copies});
    }
  }
  return of_lanes;
}

Status Collections::Change(const std::string& name, std::vector<LaneMessages::Part> parts,
                           AckLevel ack, TimeNs deadline) {
  return caller_
      .Exchange({.command = Command::kChangeItems,
                 .collection = wire::CollectionIdOf(name),
                 .ack = static_cast<uint8_t>(ack),
                 .parts = std::move(parts),
                 .deadline = deadline})
      .status()
      .Prefixed(Named(name));
}

Status Collections::Upsert(const std::string& name, std::span<const Document> documents,
                           AckLevel ack, TimeNs deadline) {
  // The messages of one call pass each other: an id is in one of them only.
  SeededMap<size_t> last;
  for (size_t i = 0; i < documents.size(); ++i) last[documents[i].id] = i;
  ChangeMessages messages(map_);
  for (size_t i = 0; i < documents.size(); ++i) {
    if (documents[i].tokens.size() > ItemSetSpec::kMostTokens) {
      return Invalid(fmt::format("{}: document {} has {} tokens; at most {} are taken", Named(name),
                                 documents[i].id, documents[i].tokens.size(),
                                 ItemSetSpec::kMostTokens));
    }
    if (last[documents[i].id] == i) messages.Add(Putting(documents[i]));
  }
  return Change(name, messages.Take(), ack, deadline);
}

Status Collections::Delete(const std::string& name, std::span<const DocumentId> ids, AckLevel ack,
                           TimeNs deadline) {
  ChangeMessages messages(map_);
  for (const DocumentId id : std::set<DocumentId>(ids.begin(), ids.end())) {
    messages.Add({.is_upsert = false, .id = id, .tokens = {}, .attributes = {}});
  }
  return Change(name, messages.Take(), ack, deadline);
}

Result<std::vector<Document>> Collections::Get(const std::string& name,
                                               std::span<const DocumentId> ids, TimeNs deadline) {
  std::vector<std::vector<DocumentId>> of_lane(map_.lanes.size());
  LaneMessages messages{.command = Command::kReadItems,
                        .collection = wire::CollectionIdOf(name),
                        .deadline = deadline};
  const auto close = [&](uint16_t lane) {
    const auto count = static_cast<uint32_t>(of_lane[lane].size());
    if (count == 0) return;
    messages.parts.push_back({.lane = lane,
                              .count = count,
                              .reply_bytes = count * kUnknownReplyBytes / 64,
                              .payload = {Frame::Own(std::exchange(of_lane[lane], {}))}});
  };
  for (const DocumentId id : std::set<DocumentId>(ids.begin(), ids.end())) {
    const uint16_t lane = map_.LaneOf(id);
    of_lane[lane].push_back(id);
    if (of_lane[lane].size() == kReadIds) close(lane);
  }
  for (size_t lane = 0; lane < of_lane.size(); ++lane) close(static_cast<uint16_t>(lane));
  Result<std::vector<wire::Received>> replies = caller_.Exchange(std::move(messages));
  if (!replies.ok()) return replies.status().Prefixed(Named(name));
  std::vector<Document> found;
  for (const wire::Received& reply : *replies) {
    STRATA_TRY(TakeDocuments(reply, &found).Prefixed(Named(name)));
  }
  std::ranges::sort(found, {}, &Document::id);
  return found;
}

Result<DocumentPage> Collections::ScanLane(const std::string& name, uint16_t lane, uint64_t cursor,
                                           TimeNs deadline) {
  Result<std::vector<wire::Received>> replies =
      caller_.Exchange({.command = Command::kScanItems,
                        .collection = wire::CollectionIdOf(name),
                        .parts = {{.lane = lane, .cursor = cursor, .reply_bytes = kPageBytes}},
                        .deadline = deadline});
  if (!replies.ok()) return replies.status().Prefixed(Named(name));
  const wire::Received& reply = replies->front();
  DocumentPage page{.cursor = reply.header.cursor, .done = reply.header.is(wire::kFlagDone)};
  STRATA_TRY(TakeDocuments(reply, &page.documents).Prefixed(Named(name)));
  if (page.done || page.cursor > cursor) return page;
  return Failed(fmt::format(
      "{}: server {} lane {} answered a page from {} on with one that ends at "
      "{}, and says that there are more",
      Named(name), map_.lanes[lane].server, map_.lanes[lane].lane, cursor, page.cursor));
}

std::vector<Collections::Asked> Collections::AllServers() const {
  std::vector<Asked> all;
  for (const wire::LaneName& lane : map_.lanes) {
    if (all.empty() || all.back().server != lane.server) all.push_back({.server = lane.server});
  }
  return all;
}

// Each server has the documents of those before it, too, round the machine list: as few servers as
// have all, beginning at another one each time.
std::vector<Collections::Asked> Collections::ChooseServers(const std::string& name) {
  const MutexLock lock(mutex_);
  Copies& of = copies_[name];
  if (of.copies == 1) return AllServers();
  if (of.at_homes > 0) {
    --of.at_homes;
    return AllServers();
  }
  const uint32_t servers = map_.lanes.back().server + uint32_t{1};
  const uint32_t begin = of.turn++ % servers;
  std::vector<Asked> chosen;
  for (uint32_t covered = 0; covered < servers;) {
    const uint32_t more = std::min(of.copies, servers - covered);
    chosen.push_back(
        {.server = static_cast<uint16_t>((begin + servers - covered) % servers), .servers = more});
    covered += more;
  }
  return chosen;
}

void Collections::NoteCopies(const std::string& name, std::span<const wire::Received> replies) {
  if (replies.empty()) return;
  uint32_t copies = UINT32_MAX;
  for (const wire::Received& reply : replies) copies = std::min(copies, reply.header.width);
  const MutexLock lock(mutex_);
  copies_[name].copies = std::clamp<uint32_t>(copies, 1, map_.lanes.back().server + uint32_t{1});
}

void Collections::NoteNoCopies(const std::string& name) {
  const MutexLock lock(mutex_);
  copies_[name].at_homes = kSearchesAtHomes;
}

bool Collections::AsksCopies(const std::string& name) {
  const MutexLock lock(mutex_);
  const Copies& of = copies_[name];
  return of.copies > 1 && of.at_homes == 0;
}

Result<std::vector<std::vector<Hit>>> Collections::SearchExplained(
    const std::string& name, const SetList& queries, const SearchGoal& goal,
    const ItemFilter& filter, TimeNs deadline, std::vector<LaneExplanation>* explained) {
  STRATA_TRY(CheckGoal(goal).Prefixed(Named(name)));
  SetLists sets;
  for (size_t i = 0; i < queries.size(); ++i) sets.Add(queries[i]);
  const std::vector<Asked> chosen = ChooseServers(name);
  auto found = SearchAt(chosen, name, sets.view(), goal, filter, deadline, explained);
  const bool used_copies =
      std::ranges::any_of(chosen, [](const Asked& asked) { return asked.servers > 1; });
  if (found.status().code() != StatusCode::kRefused || !used_copies) return found;
  NoteNoCopies(name);
  return SearchAt(AllServers(), name, sets.view(), goal, filter, deadline, explained);
}

Result<std::vector<std::vector<Hit>>> Collections::SearchAt(
    std::span<const Asked> asked, const std::string& name, const SetList& queries,
    const SearchGoal& goal, const ItemFilter& filter, TimeNs deadline,
    std::vector<LaneExplanation>* explained) {
  LaneMessages messages{
      .command = Command::kSearch, .collection = wire::CollectionIdOf(name), .deadline = deadline};
  std::vector<Frame> terms;  // of each that is asked
  for (const Asked& of : asked) {
    terms.push_back(wire::EncodeSearchTerms(TermsOf(goal, filter, of.servers)));
  }
  std::vector<size_t> begins;         // of each part's queries,
  std::vector<wire::LaneName> lanes;  // and who is asked
  for (size_t begin = 0; begin < queries.size();) {
    const size_t end = EndOfMessage(queries, begin, goal);
    std::vector<uint64_t> offsets(queries.offsets.begin() + static_cast<ptrdiff_t>(begin),
                                  queries.offsets.begin() + static_cast<ptrdiff_t>(end) + 1);
    const uint64_t first = offsets.front();
    for (uint64_t& offset : offsets) offset -= first;
    const Frame ends = wire::EncodeOffsets(offsets);
    const Frame tokens = wire::EncodeTokens(queries.tokens.subspan(first, offsets.back()));
    const size_t reply =
        (end - begin) *
        (goal.k == SearchGoal::kAll ? kUnknownReplyBytes : goal.k * wire::kSearchHitBytes);
    for (size_t i = 0; i < asked.size(); ++i) {
      for (size_t lane = 0; lane < map_.lanes.size(); ++lane) {
        if (map_.lanes[lane].server != asked[i].server) continue;
        messages.parts.push_back({.lane = static_cast<uint16_t>(lane),
                                  .flags = explained != nullptr ? uint32_t{wire::kFlagFull} : 0,
                                  .count = static_cast<uint32_t>(end - begin),
                                  .reply_bytes = reply,
                                  .payload = {terms[i], ends, tokens}});
        begins.push_back(begin);
        lanes.push_back(map_.lanes[lane]);
      }
    }
    begin = end;
  }
  Result<std::vector<wire::Received>> replies = caller_.Exchange(std::move(messages));
  if (!replies.ok()) return replies.status().Prefixed(Named(name));
  NoteCopies(name, *replies);

  std::vector<std::vector<std::vector<Hit>>> answers(queries.size());  // by query, then lane
  for (size_t part = 0; part < replies->size(); ++part) {
    const wire::Received& reply = (*replies)[part];
    const auto answer = wire::DecodeAnswer(reply.payload[0], reply.payload[1], reply.header.count);
    if (!answer.ok()) return answer.status().Prefixed(Named(name) + ": the answer to a search");
    if (explained != nullptr) {
      auto& of_lane =
          explained->emplace_back(LaneExplanation{lanes[part], reply.header.count, std::nullopt});
      if (reply.payload.size() > 2) {
        STRATA_ASSIGN(of_lane.explanation, wire::DecodeExplanation(reply.payload[2].bytes()));
      }
    }
    for (uint32_t i = 0; i < reply.header.count; ++i) {
      auto& of_query = answers[begins[part] + i].emplace_back();
      for (uint64_t at = answer->offsets[i]; at < answer->offsets[i + 1]; ++at) {
        const wire::SearchHit& hit = answer->hits[at];
        of_query.push_back({hit.id, hit.overlap, hit.length});
      }
    }
  }
  std::vector<std::vector<Hit>> merged(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    merged[i] = MergeAnswers(answers[i], goal, static_cast<uint32_t>(queries[i].size()));
  }
  return merged;
}

Result<std::vector<wire::CollectionStatsReply>> Collections::StatsByLane(const std::string& name,
                                                                         TimeNs deadline) {
  Result<std::vector<wire::Received>> replies =
      AskAll(Command::kCollectionStats, name, {}, deadline);
  if (!replies.ok()) return replies.status().Prefixed(Named(name));
  std::vector<wire::CollectionStatsReply> by_lane;
  for (const wire::Received& reply : *replies) {
    STRATA_ASSIGN(by_lane.emplace_back(), wire::DecodeCollectionStats(reply.payload[0].bytes()));
  }
  return by_lane;
}

Result<std::vector<Collections::LaneMark>> Collections::MarksByLane(const std::string& name,
                                                                    TimeNs deadline) {
  Result<std::vector<wire::Received>> replies =
      AskAll(Command::kCollectionStats, name, {}, deadline);
  if (!replies.ok()) return replies.status().Prefixed(Named(name));
  std::vector<LaneMark> marks;
  for (const wire::Received& reply : *replies) {
    STRATA_ASSIGN(const auto stats, wire::DecodeCollectionStats(reply.payload[0].bytes()));
    marks.push_back({reply.header.incarnation, stats.upserts + stats.deletes, stats.documents});
  }
  return marks;
}

Result<wire::CollectionStatsReply> Collections::Stats(const std::string& name, TimeNs deadline) {
  STRATA_ASSIGN(const auto by_lane, StatsByLane(name, deadline));
  wire::CollectionStatsReply sum;
  for (const wire::CollectionStatsReply& lane : by_lane) sum += lane;
  return sum;
}

}  // namespace strata
