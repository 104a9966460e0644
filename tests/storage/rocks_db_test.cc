#include "storage/rocks/rocks_db.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include "proto/wire/shard_map.h"
#include "tests/storage/tier_parts.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

constexpr size_t kRowBytes = 64;

std::vector<std::byte> Row(uint64_t n) {
  std::vector<std::byte> row(kRowBytes);
  for (size_t i = 0; i < kRowBytes; ++i) row[i] = static_cast<std::byte>(n * 31 + i);
  return row;
}

Status WriteRows(RocksDb& cold, SpaceId space, Key first, size_t count) {
  std::vector<std::vector<std::byte>> rows;
  std::vector<ColdWrite> writes;
  for (Key key = first; key < first + count; ++key) rows.push_back(Row(key));
  for (size_t i = 0; i < count; ++i) writes.push_back({first + i, rows[i].data()});
  return cold.Write(space, writes);
}

TEST(RocksDbTest, TheHashIsTurnedBackAndItsHighBitsAreTheShard) {
  std::mt19937_64 random(1);
  for (const Key key : {Key{0}, Key{1}, UINT64_MAX, random(), random(), random()}) {
    EXPECT_EQ(KeyOfColdHash(ColdHashOf(key)), key);
    EXPECT_EQ(ColdHashOf(key) >> 54, wire::ShardOf(key));
  }
}

TEST(RocksDbTest, ReadsBatchesWithRepeatsAndMisses) {
  ColdFolder folder;
  RocksDb& cold = folder.cold();
  const SpaceId space = cold.MakeSpace(kRowBytes), other = cold.MakeSpace(kRowBytes);
  ASSERT_TRUE(WriteRows(cold, space, 0, 1000).ok());
  ASSERT_TRUE(WriteRows(cold, other, 500, 1000).ok());
  ASSERT_TRUE(cold.Flush().ok());
  std::mt19937_64 random(2);
  std::vector<Key> keys(3000);
  for (Key& key : keys) key = random() % 2000;
  std::vector<std::byte> rows(keys.size() * kRowBytes);
  std::vector<uint8_t> found(keys.size());
  ASSERT_TRUE(cold.Read(space, keys, rows, found).ok());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(found[i] != 0, keys[i] < 1000);
    if (found[i] == 0) continue;
    const std::vector<std::byte> row(rows.begin() + static_cast<ptrdiff_t>(i * kRowBytes),
                                     rows.begin() + static_cast<ptrdiff_t>((i + 1) * kRowBytes));
    ASSERT_EQ(row, Row(keys[i]));
  }
}

TEST(RocksDbTest, ACursorWalksOneSpaceInOrderAsOfItsSnapshot) {
  ColdFolder folder;
  RocksDb& cold = folder.cold();
  const SpaceId space = cold.MakeSpace(kRowBytes), other = cold.MakeSpace(kRowBytes);
  ASSERT_TRUE(WriteRows(cold, space, 0, 300).ok());
  ASSERT_TRUE(WriteRows(cold, other, 0, 50).ok());
  const auto snapshot = cold.Snapshot();
  ASSERT_TRUE(WriteRows(cold, space, 300, 100).ok());
  ASSERT_TRUE(cold.DropSpace(other).ok());
  const auto count = [&](SpaceId of, const RocksSnapshot* as_of) {
    size_t rows = 0;
    uint64_t last = 0;
    const auto cursor = cold.Cursor(of, 0, as_of);
    for (; cursor->Valid(); cursor->Next(), ++rows) {
      EXPECT_TRUE(rows == 0 || cursor->hash() > last);
      last = cursor->hash();
      EXPECT_EQ(memcmp(cursor->row(), Row(cursor->key()).data(), kRowBytes), 0);
    }
    EXPECT_TRUE(cursor->status().ok());
    return rows;
  };
  EXPECT_EQ(count(space, snapshot.get()), 300U);
  EXPECT_EQ(count(space, nullptr), 400U);
  EXPECT_EQ(count(other, nullptr), 0U);
}

// Keys by rising hash.
std::vector<Key> SortedKeys(size_t count) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), Key{1});
  std::ranges::sort(keys, {}, ColdHashOf);
  return keys;
}

Status AppendRows(RocksDb& cold, SpaceId space, std::span<const Key> keys) {
  std::vector<std::vector<std::byte>> rows;
  std::vector<ColdWrite> writes;
  for (const Key key : keys) rows.push_back(Row(key));
  for (size_t i = 0; i < keys.size(); ++i) writes.push_back({keys[i], rows[i].data()});
  return cold.Append(space, writes);
}

size_t CountRows(const RocksDb& cold, SpaceId space, const RocksSnapshot* as_of) {
  size_t rows = 0;
  const auto cursor = cold.Cursor(space, 0, as_of);
  for (; cursor->Valid(); cursor->Next(), ++rows) {
    EXPECT_EQ(memcmp(cursor->row(), Row(cursor->key()).data(), kRowBytes), 0);
  }
  EXPECT_TRUE(cursor->status().ok()) << cursor->status().ToString();
  return rows;
}

TEST(AppendOrderTest, TakesRisingHashesAndEachOnce) {
  const auto key = [](uint64_t hash) { return KeyOfColdHash(hash); };
  AppendOrder order(10);
  EXPECT_FALSE(order.Take(key(9)));
  EXPECT_TRUE(order.Take(key(10)));
  EXPECT_FALSE(order.Take(key(10)));
  EXPECT_TRUE(order.Take(key(UINT64_MAX - 1)));
  EXPECT_EQ(order.hash_end(), UINT64_MAX);
  EXPECT_FALSE(order.Take(key(UINT64_MAX))) << "nothing lies above it";
}

TEST(RocksDbTest, AppendedRowsAreReadAndOverwrittenLikeOthers) {
  constexpr size_t kRows = 400'000;  // more than a file holds
  ColdFolder folder;
  RocksDb& cold = folder.cold();
  const SpaceId space = cold.MakeSpace(kRowBytes), other = cold.MakeSpace(kRowBytes);
  EXPECT_EQ(cold.OrderOf(space).hash_end(), 0U);
  const std::vector<Key> keys = SortedKeys(kRows);
  ASSERT_TRUE(WriteRows(cold, other, 0, 100).ok());
  ASSERT_TRUE(AppendRows(cold, space, std::span(keys).first(kRows / 2)).ok());
  EXPECT_EQ(cold.OrderOf(space).hash_end(), ColdHashOf(keys[kRows / 2 - 1]) + 1);
  const auto half = cold.Snapshot();
  // A row that is appended, one that is erased below what follows, and one that is not there yet.
  const std::vector<Key> asked = {keys[7], keys[8], keys[kRows - 1]};
  const ColdWrite erased{keys[8], nullptr};
  ASSERT_TRUE(cold.Write(space, {&erased, 1}).ok());
  std::vector<std::byte> rows(asked.size() * kRowBytes);
  std::vector<uint8_t> found(asked.size());
  ASSERT_TRUE(cold.Read(space, asked, rows, found).ok());
  EXPECT_EQ(found, (std::vector<uint8_t>{1, 0, 0}));
  for (size_t at = kRows / 2; at < kRows; at += 50'000) {
    ASSERT_TRUE(AppendRows(cold, space, std::span(keys).subspan(at, 50'000)).ok());
  }
  EXPECT_GE(cold.Stats().disk_bytes, uint64_t{kRows} / 2 * kRowBytes);
  ASSERT_TRUE(cold.Read(space, asked, rows, found).ok());
  EXPECT_EQ(found, (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(memcmp(rows.data(), Row(keys[7]).data(), kRowBytes), 0);
  EXPECT_EQ(CountRows(cold, space, half.get()), kRows / 2);
  EXPECT_EQ(CountRows(cold, space, nullptr), kRows - 1);
  EXPECT_EQ(CountRows(cold, other, nullptr), 100U);
  ASSERT_TRUE(cold.DropSpace(space).ok());
  EXPECT_EQ(CountRows(cold, space, nullptr), 0U);
}

TEST(RocksDbTest, AFillStopsAtTheDisksLimitAndWhatADeadProcessLeftIsRemoved) {
  const std::vector<Key> keys = SortedKeys(400'000);
  ColdFolder folder(RocksOptions{.folder = {}, .disk_bytes_max = 48 << 20});
  const SpaceId space = folder.cold().MakeSpace(kRowBytes);
  Status status;
  size_t at = 0;
  for (; at < keys.size() && status.ok(); at += 10'000) {
    status = AppendRows(folder.cold(), space, std::span(keys).subspan(at, 10'000));
  }
  EXPECT_EQ(status.code(), StatusCode::kDiskFull) << status.ToString();
  EXPECT_GT(at * kRowBytes, size_t{15} << 20);
  EXPECT_LE(folder.cold().Stats().disk_bytes, uint64_t{24} << 20);
  EXPECT_EQ(AppendRows(folder.cold(), space, {&keys[at], 1}).code(), StatusCode::kDiskFull);

  TempFolder other;
  const RocksOptions options{.folder = other.File("cold"), .direct_io = false};
  ASSERT_TRUE(RocksDb::Open(options).ok());
  WriteWholeFile(options.folder + "/fill-3", "half a file");
  ASSERT_TRUE(RocksDb::Open(options).ok());
  EXPECT_FALSE(std::filesystem::exists(options.folder + "/fill-3"));
}

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;  // a file that was merged goes at any time
    const uint64_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// The same rows again and again, which merging makes room for, then ever more rows.
TEST(RocksDbTest, ItsFolderStaysWithinItsLimitAndItSaysThatItIsFull) {
  constexpr uint64_t kLimit = uint64_t{16} << 20;
  TempFolder folder;
  auto opened = RocksDb::Open({.folder = folder.File("cold"),
                               .memory_bytes_max = 8 << 20,
                               .disk_bytes_max = kLimit,
                               .direct_io = false});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  RocksDb& cold = **opened;
  cold.BeginLimit();
  const SpaceId space = cold.MakeSpace(kRowBytes);
  uint64_t most = 0;
  Status status;
  for (Key key = 0; key < 1'000'000 && status.ok(); key += 1000) {
    status = WriteRows(cold, space, key < 300'000 ? key % 20'000 : key, 1000);
    most = std::max(most, BytesIn(folder.File("cold")));
  }
  ASSERT_EQ(status.code(), StatusCode::kDiskFull) << status.ToString();
  EXPECT_GT(most, kLimit / 3);
  // Merging that is under way may make room once more.
  int said_full = 0;
  for (Key key = 2'000'000; key < 4'000'000; key += 10'000) {
    const bool is_refused = !WriteRows(cold, space, key, 10'000).ok();
    if (is_refused && cold.LookForRoom().code() == StatusCode::kDiskFull) ++said_full;
    most = std::max(most, BytesIn(folder.File("cold")));
  }
  EXPECT_GT(said_full, 0);
  EXPECT_LE(most, kLimit + (1 << 20));
  ASSERT_TRUE(cold.DropSpace(space).ok());
  EXPECT_TRUE(cold.LookForRoom().ok()) << cold.LookForRoom().ToString();
}

TEST(RocksDbTest, ItIsEmptyWhenOpenedAndLeavesNoLog) {
  TempFolder folder;
  const RocksOptions options{.folder = folder.File("a/b"), .direct_io = false};
  SpaceId space{};
  {
    auto cold = RocksDb::Open(options);
    ASSERT_TRUE(cold.ok()) << cold.status().ToString();
    space = (*cold)->MakeSpace(kRowBytes);
    ASSERT_TRUE(WriteRows(**cold, space, 0, 1000).ok());
    ASSERT_TRUE((*cold)->Flush().ok());
    for (const auto& entry : std::filesystem::directory_iterator(options.folder)) {
      EXPECT_THAT(entry.path().filename().string(),
                  testing::Not(testing::AnyOf("LOG", testing::StartsWith("LOG.old"))));
      if (entry.path().extension() == ".log") {
        EXPECT_EQ(entry.file_size(), 0U) << entry.path();
      }
    }
  }
  auto again = RocksDb::Open(options);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ((*again)->MakeSpace(kRowBytes), space);
  EXPECT_FALSE((*again)->Cursor(space, 0)->Valid());
}

// Each byte of a data file, turned, is an error or harmless, and never another row.
TEST(RocksDbTest, FlippedBytesAreFound) {
  TempFolder folder;
  const RocksOptions options{.folder = folder.File("cold"),
                             .memory_bytes_max = 1 << 20,
                             .direct_io = false,
                             .read_threads = 0};
  auto opened = RocksDb::Open(options);
  ASSERT_TRUE(opened.ok());
  RocksDb& cold = **opened;
  const SpaceId space = cold.MakeSpace(kRowBytes);
  ASSERT_TRUE(WriteRows(cold, space, 0, 20'000).ok());
  ASSERT_TRUE(cold.Flush().ok());
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder)) {
    if (entry.path().extension() == ".sst") file = entry.path().string();
  }
  ASSERT_FALSE(file.empty());
  std::string bytes = ReadWholeFile(file);
  for (size_t at = 100; at < 1'000'000 && at < bytes.size(); at += 1000) bytes[at] ^= 0x10;
  WriteWholeFile(file, bytes);
  size_t errors = 0;
  for (Key key = 0; key < 20'000; key += 7) {
    std::vector<std::byte> row(kRowBytes);
    uint8_t found = 0;
    const Status status = cold.Read(space, {&key, 1}, row, {&found, 1});
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status.ToString();
      ++errors;
    } else if (found != 0) {
      ASSERT_EQ(row, Row(key));
    }
  }
  EXPECT_GT(errors, 100U);
}

TEST(RocksDbTest, WrongOptionsAreSaid) {
  EXPECT_EQ(RocksDb::Open({}).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(RocksDb::Open({.folder = "/tmp", .memory_bytes_max = 1}).status().code(),
            StatusCode::kInvalid);
  EXPECT_FALSE(RocksDb::Open({.folder = "/dev/null/cold"}).ok());
}

// Merges of files meet the end of the disk, too, and need more room than what was refused: nothing
// may wait for ever, and room heals all, though RocksDB looks for it every five seconds only.
TEST(RocksDbTest, AFullDiskRefusesWritesUntilThereIsRoom) {
  const TempFolder folder;
  SmallDisk disk(folder.File("disk"), "size=24m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const auto opened = RocksDb::Open(
      {.folder = folder.File("disk/cold"), .memory_bytes_max = 4 << 20, .direct_io = false});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  RocksDb& cold = **opened;
  const SpaceId space = cold.MakeSpace(kRowBytes);
  constexpr size_t kBatch = 1000;
  Key next = 0;
  const auto write = [&] {
    const Status status = WriteRows(cold, space, next, kBatch);
    if (status.ok()) next += kBatch;
    return status;
  };
  const auto refused = [&](const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kDiskFull) << status.ToString();
    return !status.ok();
  };
  while (!refused(write()) && next < 1'000'000) {
  }
  ASSERT_LT(next, 1'000'000U);
  EXPECT_EQ(cold.LookForRoom().code(), StatusCode::kDiskFull);
  disk.Resize("size=200m");
  ASSERT_TRUE(WaitUntil([&] { return cold.LookForRoom().ok() && !refused(write()); }));
  const Key healed = next;
  ASSERT_TRUE(WaitUntil([&] {
    refused(write());
    return next >= healed + 100 * kBatch;
  }));
  std::vector<Key> keys(next);
  std::iota(keys.begin(), keys.end(), Key{0});
  std::vector<std::byte> rows(keys.size() * kRowBytes);
  std::vector<uint8_t> found(keys.size());
  ASSERT_TRUE(cold.Read(space, keys, rows, found).ok());
  EXPECT_EQ(std::ranges::count(found, 1), static_cast<ptrdiff_t>(keys.size()));
}

}  // namespace
}  // namespace strata
