// A collection that is saved beside its changes: what of it comes back after losses of power and
// failures, that its log stays short, and that damage is named.
#include "storage/itemset/image_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "storage/itemset/logged_item_set.h"
#include "storage/log/segment_files.h"
#include "tests/storage/itemset/expect_model.h"
#include "tests/storage/itemset/logged_changes.h"
#include "tests/storage/itemset/sim_records.h"
#include "tests/support/sanitizers.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

using test::ItemSetModel;
using test::SimRecords;
using testing::HasSubstr;

const test::LoggedChanges kChanges(1'500);

class ImageStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pool = WorkPool::Start("search", 1);
    ASSERT_TRUE(pool.ok());
    pool_ = std::move(*pool);
  }
  ItemSetOptions Options() const {
    ItemSetOptions options;
    options.spec.attributes = {"price"};
    options.means = {SearchRates(), pool_.get(), 1, &RealClock(), nullptr};
    options.tail = 2;  // segments of the last level have up to 512 documents
    return options;
  }
  Result<std::unique_ptr<LoggedItemSet>> Open() {
    return LoggedItemSet::Open(log_, Options(), {.open = records_.Opener()});
  }
  // Goes on by as many records, written.
  void Change(LoggedItemSet& set, Lsn records) {
    for (Lsn i = 0; i < records; ++i) {
      const auto lsn = set.Apply(kChanges.Of(set.log().appended() + 1));
      ASSERT_TRUE(lsn.ok()) << lsn.status().ToString();
      ASSERT_TRUE(set.Write().ok());
    }
  }
  // Saves and trims what is due now.
  static void Settle(LoggedItemSet& set) {
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(set.Write().ok());
      set.WaitForSave();
    }
  }
  void ExpectModelOf(Lsn last, const ItemSet& set) {
    test::ExpectModel(kChanges.ModelOf(last), set);
  }
  // A collection with images and records of all kinds, closed.
  void MakeOne() {
    auto set = Open();
    ASSERT_TRUE(set.ok()) << set.status().ToString();
    do {
      Change(**set, 2'000);
      ASSERT_TRUE((*set)->Save().ok());
      Change(**set, 100);
      Settle(**set);
    } while (!HasKey("live/"));
    ASSERT_TRUE((*set)->Sync().ok());
  }
  bool HasKey(const std::string& prefix) {
    const auto found = records_.kept().lower_bound(prefix);
    return found != records_.kept().end() && found->first.starts_with(prefix);
  }
  std::string FirstKey(const std::string& prefix) {
    EXPECT_TRUE(HasKey(prefix));
    return records_.kept().lower_bound(prefix)->first;
  }

  std::unique_ptr<WorkPool> pool_;
  SimDisk disk_;
  SimRecords records_{1};
  LogOptions log_{.disk = &disk_, .folder = "items", .boot_id = "", .segment_bytes = 16 << 10};
};

TEST_F(ImageStoreTest, TheLogIsTrimmedAndAStartReplaysItsEnd) {
  {
    auto set = Open();
    ASSERT_TRUE(set.ok()) << set.status().ToString();
    uint64_t most = 0;
    for (int i = 0; i < 40; ++i) {
      Change(**set, 500);
      Settle(**set);
      most = std::max(most, (*set)->log().bytes_on_disk());
    }
    (*set)->WaitForSave();
    const ImageStats stats = (*set)->Stats();
    EXPECT_GT(stats.saves, 10U);
    EXPECT_EQ(stats.failures, 0U);
    EXPECT_EQ(stats.error, "");
    // A record takes some 100 bytes; all of them would be 2 MB.
    EXPECT_LT(most, 400'000U);
    EXPECT_GT(stats.from, 15'000U);
  }
  disk_.Crash();
  log_.made = true;
  const auto set = Open();
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_LT((*set)->replayed().records, 5'000U);
  ExpectModelOf((*set)->replayed().last, (*set)->set());
}

TEST_F(ImageStoreTest, WhatIsSavedNeedsNoLog) {
  Lsn last = 0;
  {
    auto set = Open();
    ASSERT_TRUE(set.ok());
    Change(**set, 3'000);
    ASSERT_TRUE((*set)->Save().ok());
    EXPECT_LT((*set)->log().bytes_on_disk(), 50'000U);
    last = (*set)->log().appended();
    EXPECT_EQ((*set)->Stats().from, last + 1);
  }
  const auto set = Open();
  ASSERT_TRUE(set.ok()) << set.status().ToString();
  EXPECT_EQ((*set)->replayed().records, 0U);
  ExpectModelOf(last, (*set)->set());
  // Small segments that only images have stay in them until others take their documents.
  Change(**set, 200);
  ASSERT_TRUE((*set)->Save().ok());
  Change(**set, 4'000);
  (*set)->WaitForSave();
  ExpectModelOf(last + 4'200, (*set)->set());
}

// Saves of everything and of large segments, losses of power, and stores that fail, in any order.
TEST_F(ImageStoreTest, WhatWasSyncedSurvivesALossOfPower) {
  uint64_t saves = 0, failures = 0, replayed = 0;
  constexpr uint64_t kSeeds = kSanitized ? 4 : 40;
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimDisk disk({.seed = seed});
    SimRecords records(seed);
    LogOptions log{.disk = &disk, .folder = "items", .boot_id = "", .segment_bytes = 16 << 10};
    const ItemImages images{.open = records.Opener(),
                            .log_bytes_max = seed % 3 == 0 ? 100'000U : 1U << 30};
    Random random(seed);
    Lsn synced = 0;
    for (int life = 0; life < 6; ++life) {
      const auto opened = LoggedItemSet::Open(log, Options(), images);
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      LoggedItemSet& set = **opened;
      ASSERT_GE(set.replayed().last, synced);
      ExpectModelOf(set.replayed().last, set.set());
      replayed += set.replayed().records;
      if (random.Below(2) == 0) records.FailFrom(1 + random.Below(60));
      for (uint64_t i = random.Below(4'000); i > 0; --i) {
        const auto lsn = set.Apply(kChanges.Of(set.log().appended() + 1));
        ASSERT_TRUE(lsn.ok()) << lsn.status().ToString();
        ASSERT_TRUE(random.Below(4) != 0 || set.Write().ok());
        if (random.Below(900) == 0) static_cast<void>(set.Save());
        if (random.Below(500) == 0) records.FailFrom(0);
        if (random.Below(100) == 0) std::this_thread::yield();
        if (random.Below(60) != 0) continue;
        ASSERT_TRUE(set.Write().ok() && set.Sync().ok());
        synced = *lsn;
      }
      // In the middle of what is being saved, or behind it.
      if (random.Below(2) == 0) records.FailFrom(1);
      set.WaitForSave();
      saves += set.Stats().saves;
      failures += set.Stats().failures;
      disk.Crash();
      records.Crash();
      log.made = true;
    }
  }
  EXPECT_GT(saves, 7 * kSeeds);
  EXPECT_GT(failures, kSeeds);
  EXPECT_LT(replayed, 6 * kSeeds * 3'000);
}

// Documents that are replaced again and again, or that only go, make no large segments.
TEST_F(ImageStoreTest, TheLogStaysShortWithoutLargeSegments) {
  const auto opened =
      LoggedItemSet::Open(log_, Options(), {.open = records_.Opener(), .log_bytes_max = 200'000});
  ASSERT_TRUE(opened.ok());
  LoggedItemSet& set = **opened;
  const std::vector<format::ItemChange> first{{true, 1, {5}, {0}}};
  ASSERT_TRUE(set.Apply(first).ok());
  for (int i = 0; i < 30'000; ++i) {
    const std::vector<format::ItemChange> gone{{false, 2, {}, {}}};
    ASSERT_TRUE(set.Apply(gone).ok() && set.Write().ok());
  }
  Settle(set);
  EXPECT_GT(set.Stats().saves, 2U);
  EXPECT_LT(set.log().bytes_on_disk(), 300'000U);
  EXPECT_EQ(set.set().Stats().documents, 1U);
}

TEST_F(ImageStoreTest, AFullLogIsSavedAndTrimmed) {
  log_.bytes_max = 100'000;
  const auto opened = Open();
  ASSERT_TRUE(opened.ok());
  LoggedItemSet& set = **opened;
  records_.FailFrom(1);
  const std::vector<format::ItemChange> change{{true, 1, {5}, {0}}};
  Status full;
  for (int i = 0; i < 10'000 && full.ok(); ++i) full = set.Apply(change).status();
  EXPECT_EQ(full.code(), StatusCode::kDiskFull) << full.ToString();
  set.WaitForSave();
  EXPECT_THAT(set.Stats().error, HasSubstr("sim: no room"));
  const Lsn last = set.log().appended();
  EXPECT_EQ(set.Apply(change).status().code(), StatusCode::kDiskFull);
  EXPECT_EQ(set.log().appended(), last);  // what is refused changes nothing
  set.WaitForSave();
  records_.FailFrom(0);
  EXPECT_EQ(set.Apply(change).status().code(), StatusCode::kDiskFull);
  Settle(set);
  EXPECT_TRUE(set.Apply(change).ok());
  EXPECT_EQ(set.Stats().error, "");
}

TEST_F(ImageStoreTest, DamageIsNamed) {
  MakeOne();
  log_.made = true;
  auto& kept = records_.kept();
  const auto good = kept;
  const auto error_of = [&](const std::string& key, const std::function<void(std::string&)>& harm) {
    kept = good;
    harm(kept[key]);
    return Open().status().ToString();
  };
  const std::string image = FirstKey("image/"), live = FirstKey("live/"),
                    order = FirstKey("order/");
  const auto flip = [](std::string& text) { text[text.size() / 2] ^= 4; };
  const auto cut = [](std::string& text) { text.resize(text.size() / 2); };
  for (const std::string& key : {image, live, order, std::string("manifest")}) {
    SCOPED_TRACE(key);
    for (const auto& harm : {std::function<void(std::string&)>(flip), {cut}}) {
      const std::string error = error_of(key, harm);
      EXPECT_THAT(error, HasSubstr("CORRUPT"));
      EXPECT_THAT(error, HasSubstr("sim: " + key));
      EXPECT_THAT(error, HasSubstr("expected"));
      EXPECT_THAT(error, HasSubstr("found"));
    }
    kept = good;
    kept.erase(key);
    const Status gone = Open().status();
    if (key == "manifest") {
      EXPECT_THAT(gone.ToString(), HasSubstr("expected a segment with LSN 1, found the first at"));
    } else {
      EXPECT_EQ(gone.code(), StatusCode::kCorrupt);
      EXPECT_THAT(gone.ToString(), HasSubstr("under " + key + ", found nothing"));
    }
  }
  // The image of another segment under its name.
  const std::string other = kept.upper_bound(image)->first;
  EXPECT_THAT(error_of(image, [&](std::string& text) { text = good.at(other); }),
              HasSubstr("expected the image of segment "));
  kept = good;
  log_.lineage = 9;
  EXPECT_THAT(Open().status().ToString(), HasSubstr("they are of another log"));
  log_.lineage = 0;
  EXPECT_TRUE(Open().ok());
}

// Each bit of the first bytes, and some of the others, of every kind of record.
TEST_F(ImageStoreTest, NoFlippedBitIsServed) {
  MakeOne();
  log_.made = true;
  auto& kept = records_.kept();
  const auto good = kept;
  Random random(7);
  for (const char* const kind : {"image/", "live/", "order/", "manifest"}) {
    const std::string key = FirstKey(kind);
    for (int i = 0; i < 200; ++i) {
      const std::string& bytes = good.at(key);
      const uint64_t bit = i < 100 ? static_cast<uint64_t>(i) : random.Below(8 * bytes.size());
      if (bit / 8 >= bytes.size()) continue;
      kept[key][bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      ASSERT_FALSE(Open().ok()) << key << " bit " << bit;
      kept[key] = bytes;
    }
  }
}

TEST_F(ImageStoreTest, ALogThatWasShortenedIsNoCollection) {
  MakeOne();
  log_.made = true;
  const auto names = disk_.List("items");
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) ASSERT_TRUE(disk_.Remove("items/" + name).ok());
  EXPECT_THAT(Open().status().ToString(), HasSubstr("expected a segment with LSN"));
}

// Segments of the log that the images are ahead of are gone, but not the first.
TEST_F(ImageStoreTest, ALogThatEndsBeforeItsImagesWasShortened) {
  log_.segment_bytes = 4096;
  std::vector<SegmentFile> segments;
  {
    auto set = Open();
    ASSERT_TRUE(set.ok());
    Lsn covered = 0;
    while (segments.size() < 2 || covered < segments[1].first) {
      Change(**set, 500);
      Settle(**set);
      const auto folder = ListLogFolder(log_);
      ASSERT_TRUE(folder.ok());
      segments = folder->segments;
      if (!HasKey("manifest")) continue;
      const auto manifest = format::DecodeItemManifest(records_.kept().at("manifest"), "m");
      ASSERT_TRUE(manifest.ok());
      covered = manifest->covered;
    }
  }
  log_.made = true;
  for (size_t i = 1; i < segments.size(); ++i) ASSERT_TRUE(disk_.Remove(segments[i].path).ok());
  EXPECT_THAT(Open().status().ToString(), HasSubstr("which the images have something of, found"));
}

TEST_F(ImageStoreTest, ImagesOfOtherAttributesAreRefused) {
  MakeOne();
  ItemSetOptions options = Options();
  options.spec.attributes = {};
  EXPECT_THAT(LoggedItemSet::Open(log_, options, {.open = records_.Opener()}).status().ToString(),
              HasSubstr("expected documents of 0 attributes, found 1"));
}

// What a try that failed has left goes with the next.
TEST_F(ImageStoreTest, NothingStaysThatNoManifestNames) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok());
  LoggedItemSet& set = **opened;
  for (uint64_t n = 1; n < 30; ++n) {
    records_.FailFrom(n);
    Change(set, 300);
    static_cast<void>(set.Save());
    set.WaitForSave();
    records_.FailFrom(0);
  }
  EXPECT_GT(set.Stats().failures, 5U);
  ASSERT_TRUE(set.Save().ok());
  const auto manifest = format::DecodeItemManifest(records_.kept().at("manifest"), "m");
  ASSERT_TRUE(manifest.ok());
  size_t expected = 2;  // the manifest and what was put last
  std::set<uint64_t> orders;
  for (const auto& row : manifest->segments) {
    expected += row.parts + (row.dead > 0 ? 1 : 0);
    orders.insert(row.order);
  }
  EXPECT_EQ(records_.kept().size(), expected + orders.size());
}

}  // namespace
}  // namespace strata
