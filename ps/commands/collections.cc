// CREATE_COLLECTION, DROP_COLLECTION, LIST_COLLECTIONS, CHANGE_ITEMS, READ_ITEMS, SCAN_ITEMS,
// COLLECTION_STATS and FOLLOW_ITEMS: this lane's part of each collection.
#include "ps/commands/collections.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "proto/format/item_change.h"
#include "ps/commands/dispatch.h"

namespace strata {
namespace {

constexpr size_t kReplyBytesMax = wire::kMessageBytesMax - wire::kHeaderBytes;
// Of a page: what others wait for meanwhile.
constexpr size_t kPageDocuments = 4096;
constexpr size_t kPageBytes = size_t{1} << 20;
// Likewise of records, and of documents, in a reply to a server that follows.
constexpr size_t kFollowBytes = size_t{256} << 10;

Result<wire::CollectionDefinition> DecodeDefinition(const LaneState& lane, const Request& request) {
  STRATA_ASSIGN(std::vector<wire::CollectionDefinition> definitions,
                wire::DecodeCollections(request.payload[0].bytes()));
  if (definitions.size() != 1) {
    return Invalid(
        fmt::format("CREATE_COLLECTION takes one definition, found {}", definitions.size()));
  }
  wire::CollectionDefinition& definition = definitions.front();
  STRATA_TRY(ValidateName("collection name", definition.name));
  for (const std::string& attribute : definition.attributes) {
    STRATA_TRY(ValidateName("attribute", attribute));
  }
  const uint32_t servers = lane.config.map->lanes.back().server + uint32_t{1};
  if (definition.copies > servers) {
    return Invalid(fmt::format(
        "{} copies of collection '{}' need as many servers, and there {} {}: ask for no more",
        definition.copies, definition.name, servers == 1 ? "is" : "are", servers));
  }
  return std::move(definition);
}

Status CheckSame(const wire::CollectionDefinition& present,
                 const wire::CollectionDefinition& wanted) {
  if (present == wanted) return {};
  if (present.name != wanted.name) {
    return AlreadyExists(fmt::format(
        "the names '{}' and '{}' have the same collection id {:#010x}; use another name",
        wanted.name, present.name, wire::ShortCollectionId(wanted.name)));
  }
  if (present.attributes == wanted.attributes) {
    return AlreadyExists(fmt::format(
        "collection '{}' exists with another number of copies ({}, the request has {}); "
        "drop it, or use another name",
        present.name, present.copies, wanted.copies));
  }
  return AlreadyExists(
      fmt::format("collection '{}' exists with other attributes ({} of them, the request has {}); "
                  "drop it, or use another name",
                  present.name, present.attributes.size(), wanted.attributes.size()));
}

// What a peer sends damaged is not what a file holds damaged.
Result<std::vector<format::ItemChange>> DecodeChanges(const Request& request) {
  const size_t bytes = request.payload[0].size();
  if (request.header.count > wire::kItemChangesMax || bytes > wire::kItemChangeBytesMax) {
    return Invalid(fmt::format(
        "{} changes of {} bytes; a request may have {} of {} bytes: send several requests",
        request.header.count, bytes, wire::kItemChangesMax, wire::kItemChangeBytesMax));
  }
  auto changes = format::DecodeItemChanges(request.payload[0].bytes());
  if (!changes.ok()) return Invalid("changes: " + changes.status().message());
  if (changes->size() != request.header.count) {
    return Invalid(fmt::format("the request announces {} changes, found {}", request.header.count,
                               changes->size()));
  }
  return changes;
}

void AppendDocument(Document document, std::vector<std::byte>* to) {
  format::AppendItemChange({.is_upsert = true,
                            .id = document.id,
                            .tokens = std::move(document.tokens),
                            .attributes = std::move(document.attributes)},
                           to);
}

// That one which waits holds.
size_t BytesOf(const Request& request) {
  return MessageBytes(request.payload) + sizeof(Request) + kParkedExtraBytes;
}

// Whether changes of the collection wait; one that there is not, or a lane that takes none, says so
// at once.
bool Lags(const LaneState& lane, uint32_t id) {
  const auto found = lane.collections.of_id.find(id);
  return found != lane.collections.of_id.end() && !lane.draining && found->second->set().Lags();
}

std::vector<Request> TakeWaiting(LaneState& lane) {
  // Mostly none, every kLookAtMerges: that is to take no memory, as an empty deque would.
  static_assert(std::is_nothrow_default_constructible_v<decltype(lane.waiting_changes)>);
  lane.waiting_change_bytes = 0;
  return std::exchange(lane.waiting_changes, {});
}

// The instance of a collection that is made now.
uint64_t NextInstance(LaneState& lane) {
  return lane.log != nullptr ? lane.log->appended() + 1 : ++lane.collections.last_instance;
}

}  // namespace

Status CheckKeepsCollections(const LaneState& lane) {
  if (lane.config.collections) return {};
  return Refused(fmt::format("server {} lane {} keeps no collections", lane.config.name.server,
                             lane.config.name.lane));
}

// Files first: where they are, a record of the log says nothing more about them, and a repeat finds
// them there.
Result<Applied> ApplyCreateCollection(LaneState& lane, Request& request) {
  if (lane.replayed != 0) return Applied(lane.replayed);
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_TRY(CheckKeepsCollections(lane));
  STRATA_ASSIGN(const wire::CollectionDefinition definition, DecodeDefinition(lane, request));
  const auto found = lane.collections.of_id.find(wire::ShortCollectionId(definition.name));
  if (found != lane.collections.of_id.end()) {
    STRATA_TRY(CheckSame(found->second->definition(), definition));
    STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
    return Applied(lsn);
  }
  if (lane.collections.of_id.size() >= wire::kCollectionsMax) {
    return Refused(
        fmt::format("{} collections exist, the most that a server keeps", wire::kCollectionsMax));
  }
  const uint64_t instance = NextInstance(lane);
  if (const Collection* const same = lane.collections.OfInstance(instance); same != nullptr) {
    return Refused(fmt::format(
        "the process ended when collection '{}' was made and not in the log yet: create it again, "
        "or drop it, before another one",
        same->definition().name));
  }
  STRATA_ASSIGN(const std::shared_ptr<Collection> made,
                Collection::Make(*lane.config.collections, definition, instance));
  STRATA_TRY(made->Publish());
  const Result<Lsn> lsn = lane.AppendWrite(request);
  if (!lsn.ok()) {
    static_cast<void>(made->Remove());
    return lsn.status();
  }
  lane.collections.Put(made);
  return Applied(*lsn);
}

// The record first, and on stable storage: a repeat then knows that it was this write.
Result<Applied> ApplyDropCollection(LaneState& lane, Request& request) {
  const uint32_t id = request.header.table;
  if (lane.replayed != 0) {
    const auto left = lane.collections.of_id.find(id);
    if (left != lane.collections.of_id.end() && left->second->instance() <= lane.replayed) {
      STRATA_TRY(left->second->Remove());
      lane.collections.Erase(id);
    }
    return Applied(lane.replayed);
  }
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(std::shared_ptr<Collection> dropped, lane.FindCollection(request.header));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  STRATA_TRY(lane.SyncLog());
  if (const Status removed = dropped->Remove(); !removed.ok()) {
    lane.log_failure = removed;
    return removed;
  }
  lane.collections.Erase(id);
  // Its threads end and its files go with the last who holds it, which takes a while.
  lane.InBackground([last = std::move(dropped)]() -> Finished::Then { return [](LaneState&) {}; });
  return Applied(lsn);
}

void HandleListCollections(LaneState& lane, Request request) {
  std::vector<wire::CollectionDefinition> definitions;
  for (const auto& [id, collection] : lane.collections.of_id) {
    definitions.push_back(collection->definition());
  }
  std::ranges::sort(definitions, {}, &wire::CollectionDefinition::name);
  lane.Reply(request.reply_to(), {}, {wire::EncodeCollections(definitions)});
}

void HandleChangeItems(LaneState& lane, Request request) {
  const uint32_t id = request.header.table;
  const auto is_same = [&](const Request& other) { return other.header.table == id; };
  if (!Lags(lane, id) && std::ranges::none_of(lane.waiting_changes, is_same)) {
    return HandleWrite(lane, std::move(request));
  }
  const size_t bytes = BytesOf(request);
  if (lane.waiting_change_bytes + bytes > lane.config.queue_bytes_max) {
    return lane.Reply(
        request.reply_to(),
        Unavailable(fmt::format("{} changes of {} bytes wait for merges, as many as the lane holds "
                                "(server.queue_memory)",
                                lane.waiting_changes.size(), lane.waiting_change_bytes)));
  }
  lane.waiting_change_bytes += bytes;
  lane.waiting_changes.push_back(std::move(request));
}

void HandleWaitingChanges(LaneState& lane, TimeNs now) {
  std::set<uint32_t> lagging;
  for (Request& request : TakeWaiting(lane)) {
    const uint32_t id = request.header.table;
    if (request.deadline <= now) {
      lane.metrics.expired.Add();
      lane.Reply(request.reply_to(),
                 DeadlineExceeded(fmt::format(
                     "merges of the collection lag behind its changes: this one waited for {} ms; "
                     "nothing of it was done",
                     (now - request.now) / kMillisecond)));
    } else if (lagging.contains(id) || Lags(lane, id)) {
      lagging.insert(id);
      lane.waiting_change_bytes += BytesOf(request);
      lane.waiting_changes.push_back(std::move(request));
    } else {
      request.now = now;
      ForRequest(lane, request.reply_to(), [&] { HandleWrite(lane, std::move(request)); });
    }
  }
}

void EndWaitingChanges(LaneState& lane, const Status& reason) {
  for (const Request& request : TakeWaiting(lane)) lane.Reply(request.reply_to(), reason);
}

Result<Applied> ApplyChangeItems(LaneState& lane, Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(const std::shared_ptr<Collection> collection, lane.FindCollection(request.header));
  STRATA_ASSIGN(const std::vector<format::ItemChange> changes, DecodeChanges(request));
  for (const format::ItemChange& change : changes) {
    STRATA_TRY(lane.CheckOwned(std::span(&change.id, 1)));
  }
  STRATA_TRY(collection->Check(changes));
  // A record that begins a segment writes those before it: their notes must be there by then.
  if (!collection->Fits(request.payload[0].size())) STRATA_TRY(lane.WriteLog());
  const std::vector<std::byte> note =
      EncodeItemsNote({request.header, collection->instance(), collection->NextLsn()});
  const std::span<const std::byte> pieces[] = {note};
  STRATA_ASSIGN(const Lsn lsn, lane.Append(RecordKind::kItemsNote, pieces));
  if (const Status applied = collection->Apply(changes, request.payload[0]); !applied.ok()) {
    // A note without its record says nothing.
    if (lane.config.durable && applied.code() != StatusCode::kDiskFull) lane.log_failure = applied;
    return applied;
  }
  lane.metrics.changed_items.Add(changes.size());
  return Applied(lsn);
}

Status ReplayItemsNote(LaneState& lane, const LogRecord& record, TimeNs now) {
  STRATA_ASSIGN(const ItemsNote note, DecodeItemsNote(record.body));
  const wire::Header& header = note.header;
  const ClientId client{header.client_hi, header.client_lo};
  auto& noted = lane.collections.noted[note.instance];
  while (!noted.empty() && noted.back().lsn >= note.lsn) {
    lane.dedup.Forget(noted.back().client, noted.back().sequence);
    noted.pop_back();
  }
  const Collection* const collection = lane.collections.OfInstance(note.instance);
  if (collection != nullptr && note.lsn > collection->opened_at()) return {};  // it was lost
  lane.dedup.Restore(client, header.sequence, header.settled_below, {}, record.lsn, now);
  noted.push_back({note.lsn, client, header.sequence});
  return {};
}

void HandleReadItems(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<std::shared_ptr<Collection>> collection = lane.FindCollection(request.header);
  if (!collection.ok()) return lane.Reply(to, collection.status());
  const Result<std::vector<Key>> ids = OwnedKeys(lane, request);
  if (!ids.ok()) return lane.Reply(to, ids.status());
  std::vector<std::byte> found;
  uint32_t count = 0;
  for (const DocumentId id : *ids) {
    std::optional<Document> document = (*collection)->set().Get(id);
    if (!document) continue;
    const size_t bytes = format::kItemChangeHeaderBytes + 4 * document->tokens.size() +
                         8 * document->attributes.size();
    if (found.size() + bytes > kReplyBytesMax) {
      return lane.Reply(to, Invalid(fmt::format("the documents of {} ids exceed the {} bytes of a "
                                                "reply; ask for fewer at a time",
                                                ids->size(), kReplyBytesMax)));
    }
    AppendDocument(std::move(*document), &found);
    ++count;
  }
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.count = count;
  lane.ReplyWith(to.peer, header, {Frame::Own(std::move(found))});
}

void HandleScanItems(LaneState& lane, Request request) {
  const Result<std::shared_ptr<Collection>> collection = lane.FindCollection(request.header);
  if (!collection.ok()) return lane.Reply(request.reply_to(), collection.status());
  const size_t wanted = request.header.count == 0 ? kPageDocuments : request.header.count;
  DocumentPage page =
      (*collection)
          ->set()
          .Scan(request.header.cursor, std::min(wanted, kPageDocuments), kPageBytes);
  std::vector<std::byte> found;
  wire::Header header = wire::ReplyHeader(request.header, lane.incarnation());
  header.count = static_cast<uint32_t>(page.documents.size());
  header.cursor = page.cursor;
  if (page.done) header.flags |= wire::kFlagDone;
  for (Document& document : page.documents) AppendDocument(std::move(document), &found);
  lane.ReplyWith(request.peer, header, {Frame::Own(std::move(found))});
}

void HandleCollectionStats(LaneState& lane, Request request) {
  const Result<std::shared_ptr<Collection>> collection = lane.FindCollection(request.header);
  if (!collection.ok()) return lane.Reply(request.reply_to(), collection.status());
  lane.Reply(request.reply_to(), {},
             {wire::EncodeCollectionStats(lane.collections.StatsOf(**collection))});
}

// The reply leaves behind the write of the log, as all do: a copy has nothing that kill -9 takes.
void HandleFollowItems(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<std::shared_ptr<Collection>> collection = lane.FindCollection(request.header);
  if (!collection.ok()) return lane.Reply(to, collection.status());
  const auto asked = wire::DecodeFollowRequest(request.payload[0].bytes());
  if (!asked.ok()) return lane.Reply(to, asked.status());
  const ChangeFeed* const feed = (*collection)->feed();
  if (feed == nullptr) {
    return lane.Reply(to, Refused(fmt::format("collection '{}' has no copies to be kept",
                                              (*collection)->definition().name)));
  }
  wire::FollowReply reply{.instance = (*collection)->instance(), .newest = feed->newest()};
  reply.begin_anew = asked->incarnation != lane.incarnation() ||
                     asked->instance != reply.instance || !feed->Knows(asked->position);
  std::vector<std::byte> changes;
  std::vector<std::byte> documents;
  uint32_t count = 0;
  if (reply.begin_anew) {
    reply.position = reply.newest;
  } else {
    reply.position = feed->Read(asked->position, kFollowBytes, &changes);
  }
  if (!reply.begin_anew && request.header.is(wire::kFlagFull)) {
    DocumentPage page = (*collection)->set().Scan(asked->cursor, kPageDocuments, kFollowBytes);
    count = static_cast<uint32_t>(page.documents.size());
    for (Document& document : page.documents) AppendDocument(std::move(document), &documents);
    reply.cursor = page.cursor;
    reply.no_more = page.done;
  }
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.count = count;
  lane.ReplyWith(to.peer, header,
                 {wire::EncodeFollowReply(reply), Frame::Own(std::move(changes)),
                  Frame::Own(std::move(documents))});
}

}  // namespace strata
