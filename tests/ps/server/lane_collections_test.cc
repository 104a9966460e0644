// A lane's collections, message by message: which writes are done once whatever is lost between the
// lane's log and theirs, when replies leave, and what is refused.
#include "ps/shard/lane_collections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "base/thread/work_pool.h"
#include "proto/format/collection_file.h"
#include "proto/format/item_change.h"
#include "tests/ps/server/durable_lane.h"
#include "tests/sim/watched_disk.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using wire::Command;

constexpr const char* kName = "c";
const uint64_t kId = wire::CollectionIdOf(kName);
constexpr size_t kQueueBytes = size_t{1} << 20;

Frame Terms(uint8_t metric, uint32_t k) {
  wire::SearchTerms terms;
  terms.metric = metric;
  terms.k = k;
  return wire::EncodeSearchTerms(terms);
}

CollectionsConfig ConfigOf(WorkPool& pool, Disk& disk, std::string folder) {
  CollectionsConfig config;
  config.means = [&pool] {
    return SearchMeans{.rates = {}, .pool = &pool, .threads = 1, .clock = &RealClock()};
  };
  config.logs = LogOptions{.disk = &disk,
                           .folder = std::move(folder),
                           .lineage = 0x11fe,
                           .boot_id = &disk == &RealDisk() ? "boot" : "",
                           .segment_bytes = 1 << 20};
  return config;
}

class LaneCollectionsTest : public ::testing::Test {
 protected:
  LaneCollectionsTest() { Start(0); }

  CollectionsConfig Collections() {
    return ConfigOf(*pool_, RealDisk(), folder_.File("collections"));
  }
  // A process that finds `records` of the lane's log, and of the collections' what is on disk.
  void Start(size_t records) {
    LaneConfig config = DurableConfig();
    config.queue_bytes_max = kQueueBytes;
    config.collections = Collections();
    const auto opened = Collection::OpenAll(*config.collections);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    lane_ = std::make_unique<TestLane>(config);
    lane_->lane.LoadCollections(*opened);
    for (size_t i = 0; i < records; ++i) {
      const FakeLogState::Record& record = log_->records[i];
      const Status replayed =
          lane_->lane.Replay({.kind = record.kind, .lsn = i + 1, .body = record.body}, lane_->now);
      ASSERT_TRUE(replayed.ok()) << replayed.ToString();
    }
    log_->records.resize(records);
    log_->written = log_->synced = records;
    lane_->lane.Serve(std::make_unique<FakeLog>(log_));
  }
  void Kill() { lane_.reset(); }

  std::vector<std::pair<std::string, wire::Received>> Commit() {
    std::vector<Envelope> out;
    const Status status = lane_->lane.Commit(&out);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return TestLane::Opened(std::move(out));
  }
  Status Ask(const wire::Header& header, Message payload) {
    auto replies = lane_->Handle("peer", wire::Seal(header, std::move(payload)));
    for (auto& reply : Commit()) replies.push_back(std::move(reply));
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? Internal("no reply") : wire::StatusOfReply(replies[0].second);
  }
  static Message Changes(std::vector<format::ItemChange> changes) {
    std::vector<std::byte> bytes;
    for (const format::ItemChange& change : changes) format::AppendItemChange(change, &bytes);
    return {Frame::Own(std::move(bytes))};
  }
  static Message Put(DocumentId id) {
    return Changes({{.is_upsert = true, .id = id, .tokens = {1, 2}, .attributes = {}}});
  }
  static Message Gone(DocumentId id) {
    return Changes({{.is_upsert = false, .id = id, .tokens = {}, .attributes = {}}});
  }
  Status Create(const char* name) {
    const Frame definition =
        wire::EncodeCollections(std::vector<wire::CollectionDefinition>{{name, {}}});
    return Ask(client_.Write(Command::kCreateCollection, wire::CollectionIdOf(name)), {definition});
  }
  void Create() { ASSERT_TRUE(Create(kName).ok()); }
  bool Has(DocumentId id) {
    const auto found = lane_->Ask(client_.Read(Command::kReadItems, kId, 1), {Keys({id})});
    return found.header.count == 1;
  }
  wire::Header Again(wire::Header write) {
    write.request_id = client_.next_request++;
    return write;
  }

  TempFolder folder_;
  std::unique_ptr<WorkPool> pool_ = WorkPool::Start("test", 0).value();
  std::shared_ptr<FakeLogState> log_ = std::make_shared<FakeLogState>();
  TestClient client_;
  TestClient other_{.id = 2};
  std::unique_ptr<TestLane> lane_;
};

TEST_F(LaneCollectionsTest, ARepeatBehindARestartIsNotDoneAgain) {
  Create();
  const wire::Header put = client_.Write(Command::kChangeItems, kId, 1);
  ASSERT_TRUE(Ask(put, Put(7)).ok());
  ASSERT_TRUE(Ask(other_.Write(Command::kChangeItems, kId, 1), Gone(7)).ok());
  Kill();
  Start(log_->records.size());
  EXPECT_FALSE(Has(7));
  EXPECT_TRUE(Ask(Again(put), Put(7)).ok());
  EXPECT_FALSE(Has(7));
}

// The process died between the write of the lane's log and that of the collection's.
TEST_F(LaneCollectionsTest, ANoteWithoutItsRecordIsAWriteThatWasNotDone) {
  Create();
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(1)).ok());
  wire::Header lost = client_.Write(Command::kChangeItems, kId, 1);
  lost.ack = static_cast<uint8_t>(AckLevel::kLogged);
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(lost, Put(7))).empty());
  Kill();
  Start(log_->records.size());
  EXPECT_TRUE(Has(1));
  EXPECT_FALSE(Has(7));
  EXPECT_TRUE(Ask(Again(lost), Put(7)).ok());
  EXPECT_TRUE(Has(7));
}

// Its LSN is given to another write then, which must not be taken for it.
TEST_F(LaneCollectionsTest, ALostRecordsNumberIsAnotherWritesLater) {
  Create();
  wire::Header lost = client_.Write(Command::kChangeItems, kId, 1);
  lost.ack = static_cast<uint8_t>(AckLevel::kLogged);
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(lost, Put(7))).empty());
  Kill();
  Start(log_->records.size());
  const wire::Header put = other_.Write(Command::kChangeItems, kId, 1);
  ASSERT_TRUE(Ask(put, Put(8)).ok());
  Kill();
  Start(log_->records.size());
  EXPECT_TRUE(Has(8));
  EXPECT_TRUE(Ask(Again(lost), Put(7)).ok());
  EXPECT_TRUE(Has(7));
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Gone(8)).ok());
  EXPECT_TRUE(Ask(Again(put), Put(8)).ok());
  EXPECT_FALSE(Has(8));
}

TEST_F(LaneCollectionsTest, ADropIsDoneOnceAndAnotherOfTheNameIsEmpty) {
  Create();
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(7)).ok());
  const wire::Header drop = client_.Write(Command::kDropCollection, kId);
  ASSERT_TRUE(Ask(drop, {}).ok());
  Create();
  EXPECT_FALSE(Has(7));
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(9)).ok());
  Kill();
  Start(log_->records.size());
  EXPECT_TRUE(Ask(Again(drop), {}).ok());
  EXPECT_TRUE(Has(9));
}

TEST_F(LaneCollectionsTest, ARequestHasSoManyChangesThatOthersNeedNotWait) {
  Create();
  std::vector<format::ItemChange> changes(wire::kItemChangesMax);
  for (size_t i = 0; i < changes.size(); ++i) changes[i].id = i;
  const auto count = static_cast<uint32_t>(changes.size());
  EXPECT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, count), Changes(changes)).ok());
  changes.push_back({});
  const Status many =
      Ask(client_.Write(Command::kChangeItems, kId, count + 1), Changes(std::move(changes)));
  EXPECT_EQ(many.code(), StatusCode::kInvalid);
  EXPECT_THAT(many.message(), ::testing::HasSubstr("32768"));
  format::ItemChange large{.is_upsert = true, .id = 1, .tokens = {}, .attributes = {}};
  large.tokens.resize(wire::kItemChangeBytesMax / 4);
  const Status bytes = Ask(client_.Write(Command::kChangeItems, kId, 1), Changes({large}));
  EXPECT_EQ(bytes.code(), StatusCode::kInvalid);
  EXPECT_THAT(bytes.message(), ::testing::HasSubstr("send several"));
}

// Threads that end and files that go keep nobody waiting.
TEST_F(LaneCollectionsTest, ADroppedCollectionEndsInTheBackground) {
  Kill();
  const std::string all = folder_.File("collections");
  std::deque<std::function<void()>> background;
  LaneConfig config = TestLaneConfig();
  config.collections = Collections();
  config.background = [&](std::function<void()> work) { background.push_back(std::move(work)); };
  TestLane lane(config);
  const Frame definition =
      wire::EncodeCollections(std::vector<wire::CollectionDefinition>{{kName, {}}});
  ASSERT_TRUE(lane.AskStatus(client_.Write(Command::kCreateCollection, kId), {definition}).ok());
  ASSERT_EQ(RealDisk().List(all)->size(), 1U);
  ASSERT_TRUE(lane.AskStatus(client_.Write(Command::kDropCollection, kId)).ok());
  EXPECT_EQ(RealDisk().List(all)->size(), 1U);
  ASSERT_EQ(background.size(), 1U);
  background.front()();
  background.pop_front();
  EXPECT_TRUE(RealDisk().List(all)->empty());
}

TEST_F(LaneCollectionsTest, OfADroppedCollectionNothingIsLeftOnDisk) {
  const std::string all = folder_.File("collections");
  Create();
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(7)).ok());
  const std::vector<std::string> folders = *RealDisk().List(all);
  ASSERT_EQ(folders.size(), 1U);
  const std::string own = all + "/" + folders[0];
  // A search that waits still looks into it.
  const Message search = {Terms(0, 5), wire::EncodeOffsets(std::vector<uint64_t>{0, 1}),
                          wire::EncodeTokens(std::vector<uint32_t>{2})};
  EXPECT_TRUE(
      lane_->Handle("peer", wire::Seal(client_.Read(Command::kSearch, kId, 1), search)).empty());
  ASSERT_TRUE(Ask(client_.Write(Command::kDropCollection, kId), {}).ok());
  EXPECT_EQ(*RealDisk().List(all), folders);
  EXPECT_EQ(RealDisk().OpenToRead(own + "/" + format::kCollectionFileName).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(lane_->Tick().size(), 1U);
  EXPECT_TRUE(RealDisk().List(all)->empty());
  // What a process that was killed could not remove.
  Kill();
  ASSERT_TRUE(RealDisk().MakeFolder(own + "/images").ok());
  WriteWholeFile(own + "/images/000007.sst", "left");
  WriteWholeFile(own + "/left.log", "left");
  WriteWholeFile(own + "/" + format::kUnpublishedFileName, "");
  Start(log_->records.size());
  EXPECT_TRUE(RealDisk().List(all)->empty());
}

TEST_F(LaneCollectionsTest, WithoutItsDefinitionACollectionIsRefusedAndKept) {
  Create();
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(7)).ok());
  const std::string all = folder_.File("collections");
  const std::string own = all + "/" + RealDisk().List(all)->at(0);
  const std::string definition = own + "/" + format::kCollectionFileName;
  const std::string elsewhere = folder_.File("elsewhere");
  ASSERT_TRUE(RealDisk().Rename(definition, elsewhere).ok());
  Kill();  // nor is it cleared by whoever uses it last
  for (const bool has_log : {true, false}) {
    const auto names = RealDisk().List(own);
    ASSERT_TRUE(names.ok() && !names->empty());
    EXPECT_EQ(Collection::OpenAll(Collections()).status().ToString(),
              fmt::format("CORRUPT: {}: expected the definition of the collection whose log or "
                          "images are there, found nothing: bring the file back from a copy, or "
                          "remove the folder, if its documents are to be gone",
                          definition));
    const auto left = RealDisk().List(own);
    ASSERT_TRUE(left.ok());
    EXPECT_EQ(*left, *names);
    if (!has_log) break;
    ASSERT_TRUE(RealDisk().Rename(elsewhere, definition).ok());
    Start(log_->records.size());
    EXPECT_TRUE(Has(7));
    Kill();
    for (const std::string& name : *names) ASSERT_TRUE(RealDisk().Remove(own + "/" + name).ok());
    ASSERT_TRUE(RealDisk().Remove(definition).ok());
    ASSERT_TRUE(RealDisk().MakeFolder(own + "/images").ok());
    WriteWholeFile(own + "/images/CURRENT", "image");
  }
}

// The process died when the files were made, and the record of it not written.
TEST_F(LaneCollectionsTest, ACollectionThatTheLogDoesNotKnowIsNotWrittenOver) {
  Create();
  Kill();
  Start(0);
  const Status refused = Create("other");
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("collection 'c' was made"));
  Create();
  EXPECT_TRUE(Create("other").ok());
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(7)).ok());
  Kill();
  Start(log_->records.size());
  EXPECT_TRUE(Has(7));
  EXPECT_EQ(RealDisk().List(folder_.File("collections"))->size(), 2U);
}

// The process, or the machine, ends before the n-th change of the disk, for each n.
TEST(CollectionFolder, IsOfACollectionOrGoesWhereverCreateOrDropEnds) {
  const std::unique_ptr<WorkPool> pool = WorkPool::Start("test", 0).value();
  const wire::CollectionDefinition definition{kName, {}};
  const std::vector<format::ItemChange> changes{{true, 7, {1, 2}, {}}};
  for (const bool loses_power : {false, true}) {
    bool was_cut = true;
    size_t kept = 0, gone = 0;
    for (size_t last = 0; was_cut; ++last) {
      SCOPED_TRACE(fmt::format("{} before change {}", loses_power ? "power" : "kill", last));
      SimDisk disk({.seed = last});
      size_t made = 0;
      was_cut = false;
      sim::WatchedDisk dying(disk, [&](sim::DiskChange, const std::string&) -> Result<bool> {
        was_cut = was_cut || made++ == last;
        return was_cut ? Result<bool>(Failed("the process is dead")) : true;
      });
      ASSERT_TRUE(disk.MakeFolder("collections").ok());
      bool is_there = false, has_document = false, is_dropped = false;
      const auto live = [&]() -> Status {
        STRATA_ASSIGN(const auto collection,
                      Collection::Make(ConfigOf(*pool, dying, "collections"), definition, 1));
        STRATA_TRY(collection->Publish());
        is_there = true;
        std::vector<std::byte> body;
        format::AppendItemChange(changes[0], &body);
        STRATA_TRY(collection->Apply(changes, Frame::Own(std::move(body))));
        STRATA_TRY(collection->logged()->Write());
        STRATA_TRY(collection->logged()->Sync());
        has_document = true;
        is_there = false;  // or not: the drop has begun
        STRATA_TRY(collection->Remove());
        is_dropped = true;
        return {};
      };
      EXPECT_EQ(live().ok(), is_dropped);
      if (loses_power) disk.Crash();
      const auto opened = Collection::OpenAll(ConfigOf(*pool, disk, "collections"));
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      EXPECT_FALSE(is_there && opened->empty());
      EXPECT_FALSE(is_dropped && !opened->empty());
      if (opened->empty()) {
        ++gone;
        EXPECT_TRUE(disk.List("collections")->empty());
      } else {
        ++kept;
        EXPECT_FALSE(has_document && opened->front()->set().Stats().documents == 0);
      }
    }
    EXPECT_GT(kept, 2U);
    EXPECT_GT(gone, 5U);
  }
}

TEST_F(LaneCollectionsTest, RepliesWaitForBothLogs) {
  Create();
  wire::Header put = client_.Write(Command::kChangeItems, kId, 1);
  put.ack = static_cast<uint8_t>(AckLevel::kSynced);
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(put, Put(7))).empty());
  EXPECT_TRUE(Commit().empty());
  // The lane's log alone is synced.
  log_->synced = log_->written;
  EXPECT_TRUE(Commit().empty());
  ASSERT_TRUE(lane_->lane.log()->Sync().ok());
  EXPECT_EQ(Commit().size(), 1U);
}

// A segment of the lane's log was full, so that the next record had the note written, and it was
// synced before the round's end.
TEST_F(LaneCollectionsTest, ANoteThatIsSyncedEarlyWaitsForItsRecord) {
  Create();
  wire::Header put = client_.Write(Command::kChangeItems, kId, 1);
  put.ack = static_cast<uint8_t>(AckLevel::kSynced);
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(put, Put(7))).empty());
  log_->written = log_->synced = log_->records.size();
  wire::Header next = other_.Write(Command::kChangeItems, kId, 1);
  next.ack = static_cast<uint8_t>(AckLevel::kLogged);
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(next, Put(8))).empty());
  EXPECT_EQ(Commit().size(), 1U);
  ASSERT_TRUE(lane_->lane.log()->Sync().ok());
  EXPECT_EQ(Commit().size(), 1U);
}

// Segments of the collection's log fill up in the middle of a round: what that writes has notes.
TEST_F(LaneCollectionsTest, ARecordIsNeverWrittenBeforeItsNote) {
  constexpr DocumentId kWrites = 300;
  Create();
  const std::vector<Token> tokens(2'000, 5);
  const auto large = [&](DocumentId id) {
    return Changes({{.is_upsert = true, .id = id, .tokens = tokens, .attributes = {}}});
  };
  std::vector<wire::Header> puts;
  for (DocumentId id = 0; id < kWrites; ++id) {
    puts.push_back(client_.Write(Command::kChangeItems, kId, 1));
    puts.back().ack = static_cast<uint8_t>(AckLevel::kLogged);
    EXPECT_TRUE(lane_->Handle("peer", wire::Seal(puts.back(), large(id))).empty());
  }
  Kill();
  Start(log_->written);
  size_t survived = 0;
  for (DocumentId id = 0; id < kWrites; ++id) {
    if (!Has(id)) continue;
    ++survived;
    ASSERT_TRUE(Ask(other_.Write(Command::kChangeItems, kId, 1), Gone(id)).ok());
    ASSERT_TRUE(Ask(Again(puts[id]), large(id)).ok());
    EXPECT_FALSE(Has(id)) << id;
  }
  EXPECT_GT(survived, kWrites / 3);
  EXPECT_LT(survived, kWrites);
}

TEST_F(LaneCollectionsTest, ASearchIsAnsweredInTheTickBehindItsRound) {
  Create();
  ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(7)).ok());
  const std::vector<uint64_t> offsets = {0, 1};
  const std::vector<uint32_t> tokens = {2};
  const Message search = {Terms(0, 5), wire::EncodeOffsets(offsets), wire::EncodeTokens(tokens)};
  EXPECT_TRUE(
      lane_->Handle("peer", wire::Seal(client_.Read(Command::kSearch, kId, 1), search)).empty());
  EXPECT_TRUE(Commit().empty());
  const auto replies = lane_->Tick();
  ASSERT_EQ(replies.size(), 1U);
  const wire::Received& reply = replies[0].second;
  ASSERT_EQ(reply.header.status, 0);
  const auto answer = wire::DecodeAnswer(reply.payload[0], reply.payload[1], 1);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->hits, (std::vector<wire::SearchHit>{{.id = 7, .overlap = 1, .length = 2}}));

  // With the flag full it says how, too.
  wire::Header explained = client_.Read(Command::kSearch, kId, 1);
  explained.flags |= wire::kFlagFull;
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(explained, search)).empty());
  EXPECT_TRUE(
      lane_->Handle("peer", wire::Seal(client_.Read(Command::kSearch, kId, 1), search)).empty());
  EXPECT_TRUE(Commit().empty());
  const auto both = lane_->Tick();
  ASSERT_EQ(both.size(), 2U);
  ASSERT_EQ(both[0].second.payload.size(), 3U);
  EXPECT_EQ(both[1].second.payload.size(), 2U);
  const auto explanation = wire::DecodeExplanation(both[0].second.payload[2].bytes());
  ASSERT_TRUE(explanation.ok()) << explanation.status().ToString();
  EXPECT_EQ(explanation->queries, 2U);
  ASSERT_EQ(explanation->parts.size(), 1U);
  const wire::SearchExplanation::Part& part = explanation->parts[0];
  EXPECT_EQ(part.documents, 1U);
  EXPECT_EQ(part.threads, 1U);
  EXPECT_EQ(part.gpu_ns, wire::SearchExplanation::kNone);
  ASSERT_EQ(part.engines.size(), 1U);
  EXPECT_EQ(part.engines[0].queries, 2U);
  EXPECT_EQ(part.engines[0].candidates, 2U);

  // One whose time is over when its turn comes.
  wire::Header late = client_.Read(Command::kSearch, kId, 1);
  late.timeout_ms = 1;
  EXPECT_TRUE(lane_->Handle("peer", wire::Seal(late, search)).empty());
  lane_->now += kSecond;
  const auto tick = lane_->Tick();
  EXPECT_TRUE(tick.empty());
  const auto refused = Commit();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(refused[0].second).code(), StatusCode::kDeadlineExceeded);
}

TEST_F(LaneCollectionsTest, DocumentsComePageByPage) {
  Create();
  std::set<DocumentId> expected;
  for (DocumentId id = 0; id < 300; ++id) {
    ASSERT_TRUE(Ask(client_.Write(Command::kChangeItems, kId, 1), Put(id)).ok());
    expected.insert(id);
  }
  std::set<DocumentId> found;
  size_t pages = 0;
  wire::Header scan = client_.Read(Command::kScanItems, kId, 7);
  for (bool done = false; !done; ++pages) {
    const wire::Received page = lane_->Ask(scan, {});
    ASSERT_EQ(page.header.status, 0);
    const auto items = format::DecodeItemChanges(page.payload[0].bytes());
    ASSERT_TRUE(items.ok()) << items.status().ToString();
    ASSERT_EQ(items->size(), page.header.count);
    for (const format::ItemChange& item : *items) EXPECT_TRUE(found.insert(item.id).second);
    done = page.header.is(wire::kFlagDone);
    scan = Again(scan);
    scan.cursor = page.header.cursor;
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(pages, 300U / 7 + 1);
  EXPECT_EQ(Ask(client_.Read(Command::kScanItems, 5, 0), {}).code(), StatusCode::kNotFound);
}

TEST_F(LaneCollectionsTest, BadRequestsAreRefusedWithWhatIsWrong) {
  Create();
  const auto refused = [&](const wire::Header& header, Message payload, const char* part) {
    const Status status = Ask(header, std::move(payload));
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << status.ToString();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
  };
  refused(client_.Write(Command::kChangeItems, kId, 2), Put(7), "announces 2 changes, found 1");
  refused(client_.Write(Command::kChangeItems, kId, 1), {Keys({1})},
          "expected the 24 bytes that begin a change, found 8");
  const Frame offsets = wire::EncodeOffsets(std::vector<uint64_t>{0, 1});
  const Frame tokens = wire::EncodeTokens(std::vector<uint32_t>{2});
  refused(client_.Read(Command::kSearch, kId, 1), {Terms(7, 1), offsets, tokens},
          "expected a metric of 0 to 6, found 7");
  refused(client_.Read(Command::kSearch, kId, 1), {Terms(0, 1 << 23), offsets, tokens},
          "ask for fewer");
  refused(client_.Read(Command::kSearch, kId, 2), {Terms(0, 1), offsets, tokens},
          "2 queries have 24 bytes");
  EXPECT_EQ(Ask(client_.Read(Command::kSearch, 5, 1), {Terms(0, 1), offsets, tokens}).code(),
            StatusCode::kNotFound);
}

// More documents than merges keep up with.
class LaggingLaneTest : public LaneCollectionsTest {
 protected:
  // Changes until one waits: that one, of the documents before put_.
  void FillUntilOneWaits() {
    constexpr DocumentId kMostDocuments = 20'000'000;
    Create();
    while (put_ < kMostDocuments) {
      std::vector<format::ItemChange> changes(1024);
      for (format::ItemChange& change : changes) {
        change = {.is_upsert = true, .id = put_++, .tokens = {1}, .attributes = {}};
      }
      waiting_ = client_.Write(Command::kChangeItems, kId, static_cast<uint32_t>(changes.size()));
      waiting_.settled_below = waiting_.sequence;  // all before it are answered
      payload_ = Changes(changes);
      const Replies replies = Send(waiting_, payload_);
      if (replies.empty()) return;
      const Status changed = wire::StatusOfReply(replies[0]);
      ASSERT_TRUE(changed.ok()) << changed.ToString() << " at " << put_;
    }
    FAIL() << "merges kept up with " << put_ << " documents";
  }
  using Replies = std::vector<wire::Received>;
  Replies Send(const wire::Header& header, Message payload) {
    return WithCommitted(lane_->Handle("peer", wire::Seal(header, std::move(payload))));
  }
  Replies Tick() { return WithCommitted(lane_->Tick()); }

  DocumentId put_ = 0;
  wire::Header waiting_;
  Message payload_;

 private:
  Replies WithCommitted(std::vector<std::pair<std::string, wire::Received>> of) {
    for (auto& reply : Commit()) of.push_back(std::move(reply));
    Replies all;
    for (auto& [peer, reply] : of) all.push_back(std::move(reply));
    return all;
  }
};

TEST_F(LaggingLaneTest, ChangesWaitInOrderAndNothingElseDoes) {
  ASSERT_NO_FATAL_FAILURE(FillUntilOneWaits());
  EXPECT_TRUE(Has(0));
  EXPECT_FALSE(Has(put_ - 1));
  const wire::Header gone = other_.Write(Command::kChangeItems, kId, 1);
  EXPECT_TRUE(Send(gone, Gone(put_ - 1)).empty());
  const wire::Header repeat = Again(waiting_);
  EXPECT_TRUE(Send(repeat, payload_).empty());
  EXPECT_EQ(lane_->lane.Report().parked_requests, 3U);
  EXPECT_GT(lane_->lane.Report().parked_bytes, 2 * payload_[0].size());
  EXPECT_FALSE(lane_->lane.Idle());

  std::vector<uint64_t> answered;
  const TimeNs ahead = lane_->now - RealClock().Now();
  while (answered.size() < 3) {
    lane_->now = RealClock().Now() + ahead;
    for (const wire::Received& reply : Tick()) {
      EXPECT_TRUE(wire::StatusOfReply(reply).ok()) << wire::StatusOfReply(reply).ToString();
      answered.push_back(reply.header.request_id);
    }
  }
  EXPECT_EQ(answered, (std::vector{waiting_.request_id, gone.request_id, repeat.request_id}));
  EXPECT_TRUE(Has(put_ - 2));
  EXPECT_FALSE(Has(put_ - 1));
  EXPECT_EQ(lane_->lane.Report().parked_bytes, 0U);
  EXPECT_TRUE(lane_->lane.Idle());
}

TEST_F(LaggingLaneTest, WhatWaitsForTooLongIsNotMade) {
  ASSERT_NO_FATAL_FAILURE(FillUntilOneWaits());
  wire::Header hasty = other_.Write(Command::kChangeItems, kId, 1);
  hasty.timeout_ms = 10;
  ASSERT_TRUE(Send(hasty, Gone(0)).empty());
  lane_->now += 10 * kMillisecond;
  const Replies replies = Tick();
  ASSERT_FALSE(replies.empty());
  const wire::Received& reply = replies.back();
  EXPECT_EQ(reply.header.request_id, hasty.request_id);
  EXPECT_EQ(wire::StatusOfReply(reply).code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(wire::StatusOfReply(reply).message(), ::testing::HasSubstr("waited for 10 ms"));
  EXPECT_TRUE(Has(0));
}

TEST_F(LaggingLaneTest, MoreThanTheLaneHoldsIsToComeAgain) {
  ASSERT_NO_FATAL_FAILURE(FillUntilOneWaits());
  Status last;
  for (size_t held = 0; last.ok() && held < 2 * kQueueBytes; held += payload_[0].size()) {
    const Replies replies = Send(Again(waiting_), payload_);
    if (!replies.empty()) last = wire::StatusOfReply(replies[0]);
  }
  EXPECT_EQ(last.code(), StatusCode::kUnavailable) << last.ToString();
  EXPECT_LE(lane_->lane.Report().parked_bytes, kQueueBytes);
}

TEST_F(LaggingLaneTest, WhoWaitsIsToldThatTheLaneDrains) {
  ASSERT_NO_FATAL_FAILURE(FillUntilOneWaits());
  lane_->Drain();
  lane_->now += 2 * kMillisecond;
  const Replies replies = Tick();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(replies[0]).code(), StatusCode::kRefused);
  EXPECT_TRUE(lane_->lane.Idle());
}

TEST_F(LaggingLaneTest, WhoWaitsIsToldThatTheServerEnds) {
  ASSERT_NO_FATAL_FAILURE(FillUntilOneWaits());
  std::vector<Envelope> out;
  lane_->lane.EndAll(&out);
  const auto replies = TestLane::Opened(std::move(out));
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(replies[0].second).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(lane_->lane.Idle());
}

}  // namespace
}  // namespace strata
