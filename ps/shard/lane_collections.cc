#include "ps/shard/lane_collections.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/file/replaceable_file.h"
#include "base/little_endian.h"
#include "base/thread/mutex.h"
#include "proto/format/collection_file.h"
#include "storage/log/segment_files.h"

namespace strata {
namespace {

// Collections are many, and each has its own: less room than a lane's log takes ahead.
constexpr uint64_t kSegmentBytes = uint64_t{16} << 20;
constexpr size_t kNoteBytes = wire::kHeaderBytes + 16;
// Some seconds of changes: a copy that is farther behind is made anew.
constexpr size_t kFeedBytes = size_t{16} << 20;

LogOptions LogOf(const LogOptions& of_all, const std::string& name, bool made) {
  LogOptions log = of_all;
  log.folder = fmt::format("{}/{}", of_all.folder, name);
  log.segment_bytes = std::min(log.segment_bytes, kSegmentBytes);
  log.made = made;
  return log;
}

std::string ImagesFolder(const std::string& folder) { return folder + "/images"; }

ItemImages ImagesOf(const LogOptions& log) {
  return {.open = RocksRecords(ImagesFolder(log.folder))};
}

std::string DefinitionPath(const LogOptions& log) {
  return fmt::format("{}/{}", log.folder, format::kCollectionFileName);
}

// Its definition lies here before it is published and when it was dropped: nobody needs what else
// the folder has.
std::string UnpublishedPath(const LogOptions& log) {
  return fmt::format("{}/{}", log.folder, format::kUnpublishedFileName);
}

ItemSetOptions OptionsOf(const CollectionsConfig& config,
                         const wire::CollectionDefinition& definition) {
  return {.spec = {.attributes = definition.attributes}, .means = config.means()};
}

Document DocumentOf(const format::ItemChange& change) {
  return {.id = change.id, .tokens = change.tokens, .attributes = change.attributes};
}

// Of a folder without a definition. kCorrupt: neither creating nor dropping leaves it so.
Status CheckNotNeeded(const LogOptions& log) {
  if (log.disk->OpenToRead(UnpublishedPath(log)).ok()) return {};
  STRATA_ASSIGN(const LogFolder files, ListLogFolder(log));
  const Result<std::vector<std::string>> images = log.disk->List(ImagesFolder(log.folder));
  if (files.segments.empty() && (!images.ok() || images->empty())) return {};
  return Corrupt(fmt::format(
      "{}: expected the definition of the collection whose log or images are there, found nothing: "
      "bring the file back from a copy, or remove the folder, if its documents are to be gone",
      DefinitionPath(log)));
}

// What cannot be removed stays: it takes room, and no more. What says that it is not needed goes
// last.
void Clear(const LogOptions& log) {
  Disk& disk = *log.disk;
  const std::string images = ImagesFolder(log.folder);
  for (const std::string& of : {images, log.folder}) {
    const Result<std::vector<std::string>> names = disk.List(of);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (name == format::kUnpublishedFileName) continue;
      static_cast<void>(disk.Remove(fmt::format("{}/{}", of, name)));
    }
  }
  static_cast<void>(disk.SyncFolder(log.folder));
  const Result<std::vector<std::string>> left = disk.List(log.folder);
  if (!left.ok() || left->size() > 1) return;
  static_cast<void>(disk.Remove(UnpublishedPath(log)));
  static_cast<void>(disk.Remove(log.folder));
}

// Whoever uses it last clears its folder, if it was dropped or never published: until then it may
// write there.
Result<std::shared_ptr<LoggedItemSet>> OpenSet(const LogOptions& log,
                                               const ItemSetOptions& options) {
  STRATA_ASSIGN(std::unique_ptr<LoggedItemSet> set,
                LoggedItemSet::Open(log, options, ImagesOf(log)));
  return std::shared_ptr<LoggedItemSet>(set.release(), [log](LoggedItemSet* last) {
    delete last;
    if (log.disk->OpenToRead(UnpublishedPath(log)).ok()) Clear(log);
  });
}

class JoinedLog final : public WriteAheadLog {
 public:
  JoinedLog(std::unique_ptr<WriteAheadLog> lane, std::shared_ptr<CollectionLogs> collections)
      : lane_(std::move(lane)), collections_(std::move(collections)) {}

  // A note can be written, and synced, by the records behind it: from before that until its record
  // is, too, it does not count as synced.
  Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body) override {
    if (kind == RecordKind::kItemsNote) {
      const MutexLock lock(mutex_);
      ++noted_;
      bound_ = std::min<Lsn>(bound_, lane_->appended());
    }
    return lane_->Append(kind, body);
  }
  bool Fits(size_t body_bytes) const override { return lane_->Fits(body_bytes); }
  // Notes first: a record of a collection has one, whenever the process dies.
  Status Write() override {
    STRATA_TRY(lane_->Write());
    STRATA_TRY(collections_->Write());
    const MutexLock lock(mutex_);
    ended_ = noted_;
    target_ = lane_->written();
    return {};
  }
  Status Sync() override {
    MutexLock lock(mutex_);
    const uint64_t ended = ended_;
    const Lsn target = target_;
    lock.Unlock();
    STRATA_TRY(collections_->Sync());
    STRATA_TRY(lane_->Sync());
    lock.Lock();
    if (bound_ != kNone) bound_ = noted_ == ended ? kNone : std::max<Lsn>(bound_, target);
    return {};
  }
  std::function<Status()> TakeBelow(Lsn lsn) override { return lane_->TakeBelow(lsn); }
  Status LookForRoom() override { return lane_->LookForRoom(); }
  Lsn appended() const override { return lane_->appended(); }
  Lsn written() const override { return lane_->written(); }
  Lsn synced() const override { return std::min<Lsn>(lane_->synced(), bound_); }
  size_t buffered() const override { return lane_->buffered(); }
  uint64_t bytes_on_disk() const override { return lane_->bytes_on_disk(); }

 private:
  static constexpr Lsn kNone = UINT64_MAX;

  const std::unique_ptr<WriteAheadLog> lane_;
  const std::shared_ptr<CollectionLogs> collections_;
  Mutex mutex_;
  uint64_t noted_ STRATA_GUARDED_BY(mutex_) = 0;  // notes that were appended,
  uint64_t ended_ STRATA_GUARDED_BY(mutex_) = 0;  // and those whose records are written;
  Lsn target_ STRATA_GUARDED_BY(mutex_) = 0;      // the lane's log was written up to here by then
  std::atomic<Lsn> bound_ = kNone;  // changed with mutex_: notes from here on need not be synced
};

}  // namespace

Result<std::shared_ptr<Collection>> Collection::Make(const CollectionsConfig& config,
                                                     const wire::CollectionDefinition& definition,
                                                     uint64_t instance) {
  auto made = std::make_shared<Collection>();
  made->definition_ = definition;
  made->instance_ = instance;
  made->BeginFeed();
  const ItemSetOptions options = OptionsOf(config, definition);
  if (!config.logs) {
    STRATA_ASSIGN(made->plain_, ItemSet::Make(options));
    return made;
  }
  made->log_ = LogOf(*config.logs, fmt::format("{:016x}", instance), false);
  const LogOptions& log = *made->log_;
  Clear(log);
  STRATA_TRY(log.disk->MakeFolder(log.folder));
  const format::CollectionFile file{
      .definition = definition, .lineage = log.lineage, .lane = log.lane, .instance = instance};
  STRATA_TRY(WriteFileAtomically(*log.disk, UnpublishedPath(log), EncodeCollectionFile(file)));
  STRATA_ASSIGN(made->logged_, OpenSet(log, options));
  return made;
}

Result<std::vector<std::shared_ptr<Collection>>> Collection::OpenAll(
    const CollectionsConfig& config) {
  std::vector<std::shared_ptr<Collection>> all;
  if (!config.logs) return all;
  Disk& disk = *config.logs->disk;
  STRATA_TRY(MakeDurableFolder(disk, config.logs->folder));
  STRATA_ASSIGN(const std::vector<std::string> names, disk.List(config.logs->folder));
  for (const std::string& name : names) {
    const LogOptions log = LogOf(*config.logs, name, true);
    const std::string path = DefinitionPath(log);
    const Result<std::string> bytes = ReadFile(disk, path, format::kCollectionFileBytesMax);
    if (bytes.status().code() == StatusCode::kNotFound) {
      STRATA_TRY(CheckNotNeeded(log));
      Clear(log);
      continue;
    }
    STRATA_TRY(bytes.status());
    STRATA_ASSIGN(format::CollectionFile file, format::DecodeCollectionFile(*bytes, path));
    if (file.lineage != log.lineage || file.lane != log.lane) {
      return Corrupt(fmt::format(
          "{}: expected a collection of lane {} of lineage {:012x}, found one of lane {} of "
          "lineage {:012x}; put the lane's own folder back",
          path, log.lane, log.lineage, file.lane, file.lineage));
    }
    auto opened = std::make_shared<Collection>();
    opened->definition_ = std::move(file.definition);
    opened->instance_ = file.instance;
    opened->log_ = log;
    Result<std::shared_ptr<LoggedItemSet>> set =
        OpenSet(log, OptionsOf(config, opened->definition_));
    if (!set.ok()) {
      return set.status().Prefixed(fmt::format("collection '{}'", opened->definition_.name));
    }
    opened->logged_ = std::move(*set);
    opened->opened_at_ = opened->logged_->log().appended();
    opened->BeginFeed();
    all.push_back(std::move(opened));
  }
  return all;
}

void Collection::BeginFeed() {
  if (definition_.copies > 1) feed_.emplace(kFeedBytes);
}

Status Collection::Publish() {
  if (!log_) return {};
  STRATA_TRY(log_->disk->Rename(UnpublishedPath(*log_), DefinitionPath(*log_)));
  STRATA_TRY(log_->disk->SyncFolder(log_->folder));
  return log_->disk->SyncFolder(log_->folder.substr(0, log_->folder.rfind('/')));
}

Status Collection::Remove() {
  if (!log_) return {};
  const Status removed = log_->disk->Rename(DefinitionPath(*log_), UnpublishedPath(*log_));
  if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
  return log_->disk->SyncFolder(log_->folder);
}

Status Collection::Check(std::span<const format::ItemChange> changes) const {
  if (changes.empty()) return Invalid("there is no change to make");
  for (const format::ItemChange& change : changes) {
    if (change.is_upsert) STRATA_TRY(set().Check(DocumentOf(change)));
  }
  return {};
}

Status Collection::Apply(std::span<const format::ItemChange> changes, const Frame& body) {
  if (logged_ != nullptr) {
    const Lsn expected = NextLsn();
    STRATA_ASSIGN(const Lsn lsn, logged_->Apply(changes));
    STRATA_CHECK(lsn == expected);
  } else {
    for (const format::ItemChange& change : changes) {
      if (change.is_upsert) {
        STRATA_TRY(plain_->Upsert(DocumentOf(change)));
      } else {
        plain_->Delete(change.id);
      }
    }
  }
  for (const format::ItemChange& change : changes) {
    ++(change.is_upsert ? counts_.upserts : counts_.deletes);
  }
  if (feed_) feed_->Add(body);
  return {};
}

wire::CollectionStatsReply Collection::Stats() const {
  wire::CollectionStatsReply stats = counts_;
  const ItemSetStats of_set = set().Stats();
  stats.documents = of_set.documents;
  stats.segments = of_set.segments;
  stats.dead = of_set.dead;
  stats.bytes = of_set.bytes;
  stats.merges = of_set.merges;
  stats.gpu_segments = of_set.on_gpu.segments;
  stats.gpu_lacking = of_set.on_gpu.lacking;
  stats.gpu_bytes = of_set.on_gpu.bytes;
  const auto by = [&](SearchEngine engine) {
    return of_set.queries_by.at(static_cast<size_t>(engine));
  };
  stats.counted = by(SearchEngine::kCounting);
  stats.scanned = by(SearchEngine::kScanning);
  stats.gpu_counted = by(SearchEngine::kGpuCounting);
  stats.gpu_scanned = by(SearchEngine::kGpuScanning);
  stats.gpu_streamed = of_set.streamed;
  if (logged_ != nullptr) stats.log_bytes = logged_->log().bytes_on_disk();
  return stats;
}

void Collection::CountSearch(uint64_t queries, uint64_t ns, bool with_copies) {
  if (with_copies) counts_.copy_queries += queries;
  counts_.queries += queries;
  counts_.batches += 1;
  counts_.search_ns += ns;
}

void CollectionLogs::Add(const std::shared_ptr<LoggedItemSet>& set) {
  const MutexLock lock(mutex_);
  sets_.push_back(set);
}

void CollectionLogs::Remove(const std::shared_ptr<LoggedItemSet>& set) {
  const MutexLock lock(mutex_);
  std::erase(sets_, set);
}

Status CollectionLogs::Write() {
  for (const auto& set : sets_) {
    if (set->log().written() != set->log().appended()) STRATA_TRY(set->Write());
  }
  return {};
}

Status CollectionLogs::Sync() {
  std::vector<std::shared_ptr<LoggedItemSet>> sets;
  {
    const MutexLock lock(mutex_);
    sets = sets_;
  }
  for (const auto& set : sets) STRATA_TRY(set->Sync());
  return {};
}

std::unique_ptr<WriteAheadLog> JoinLogs(std::unique_ptr<WriteAheadLog> lane,
                                        std::shared_ptr<CollectionLogs> collections) {
  return std::make_unique<JoinedLog>(std::move(lane), std::move(collections));
}

std::vector<std::byte> EncodeItemsNote(const ItemsNote& note) {
  std::vector<std::byte> body(kNoteBytes);
  const auto header = wire::EncodeHeader(note.header);
  std::memcpy(body.data(), header.data(), header.size());
  StoreLittle(note.instance, body.data() + header.size());
  StoreLittle(note.lsn, body.data() + header.size() + 8);
  return body;
}

Result<ItemsNote> DecodeItemsNote(std::span<const std::byte> body) {
  if (body.size() != kNoteBytes) {
    return Corrupt(fmt::format("note of a change of a collection: expected {} bytes, found {}",
                               kNoteBytes, body.size()));
  }
  ItemsNote note;
  STRATA_ASSIGN(note.header, wire::DecodeHeader(body.first(wire::kHeaderBytes)));
  if (note.header.command != wire::Command::kChangeItems) {
    return Corrupt(fmt::format("note of a change of a collection: found command {}",
                               static_cast<uint16_t>(note.header.command)));
  }
  note.instance = LoadLittle<uint64_t>(body.data() + wire::kHeaderBytes);
  note.lsn = LoadLittle<uint64_t>(body.data() + wire::kHeaderBytes + 8);
  return note;
}

void LaneCollections::Put(const std::shared_ptr<Collection>& collection) {
  of_id[wire::ShortCollectionId(collection->definition().name)] = collection;
  if (collection->logged() != nullptr) logs->Add(collection->logged());
  if (copies != nullptr) copies->Keep(collection->definition());
}

void LaneCollections::Erase(uint32_t id) {
  const auto found = of_id.find(id);
  if (found == of_id.end()) return;
  if (found->second->logged() != nullptr) logs->Remove(found->second->logged());
  if (copies != nullptr) copies->Drop(id);
  of_id.erase(found);
}

const Collection* LaneCollections::OfInstance(uint64_t instance) const {
  for (const auto& [id, collection] : of_id) {
    if (collection->instance() == instance) return collection.get();
  }
  return nullptr;
}

wire::CollectionStatsReply LaneCollections::StatsOf(const Collection& collection) const {
  wire::CollectionStatsReply stats = collection.Stats();
  if (copies != nullptr) {
    copies->AddStats(wire::ShortCollectionId(collection.definition().name), &stats);
  }
  return stats;
}

}  // namespace strata
