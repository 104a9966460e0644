// Records that stay: what a commit left is there when the store is opened again, also after it
// failed for want of room.
#include "storage/rocks/record_store.h"

#include <gtest/gtest.h>

#include "base/file/disk.h"
#include "base/random.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

std::vector<std::byte> Large(uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(300'000);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.Below(256));
  return bytes;
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<std::string> Read(const RecordStore& store, const std::string& key) {
  const auto value = store.Read(key);
  EXPECT_TRUE(value.ok()) << value.status().ToString();
  return value.ok() ? *value : std::nullopt;
}

TEST(RecordStore, WhatWasCommittedStays) {
  TempFolder folder;
  const RecordStoreOpener open = RocksRecords(folder.File("records"));
  {
    const auto none = open(RecordAccess::kRead);
    ASSERT_TRUE(none.ok()) << none.status().ToString();
    EXPECT_EQ(Read(**none, "a"), std::nullopt);
    const auto store = open(RecordAccess::kWrite);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    ASSERT_TRUE((*store)->Put("image/1", Large(1)).ok());
    ASSERT_TRUE((*store)->Put("image/2", Large(2)).ok());
    const RecordChange changes[] = {{"b", "2"}, {"a", "1"}, {"image/2", std::nullopt}};
    ASSERT_TRUE((*store)->Commit(changes).ok());
    const auto second = open(RecordAccess::kWrite);
    EXPECT_FALSE(second.ok());  // one at a time
  }
  const auto store = open(RecordAccess::kRead);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(Read(**store, "a"), "1");
  EXPECT_EQ(Read(**store, "image/1"), TextOf(Large(1)));
  EXPECT_EQ(Read(**store, "image/2"), std::nullopt);
}

// All of it in one file, and nothing in RocksDB's log.
TEST(RecordStore, WhatIsInOneFileIsRead) {
  TempFolder folder;
  const RecordStoreOpener open = RocksRecords(folder.File("records"));
  {
    const auto store = open(RecordAccess::kWrite);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    ASSERT_TRUE((*store)->Put("image/1", Large(1)).ok());
  }
  const auto store = open(RecordAccess::kRead);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(Read(**store, "image/1"), TextOf(Large(1)));
}

uint64_t BytesOf(const std::string& folder) {
  uint64_t bytes = 0;
  const auto names = RealDisk().List(folder);
  if (!names.ok()) return 0;
  for (const std::string& name : *names) {
    const auto file = RealDisk().OpenToRead(folder + "/" + name);
    if (file.ok()) bytes += (*file)->Size().value();
  }
  return bytes;
}

TEST(RecordStore, ValuesThatWentGiveTheirRoomBack) {
  TempFolder folder;
  const auto store = RocksRecords(folder.File("records"))(RecordAccess::kWrite);
  ASSERT_TRUE(store.ok());
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE((*store)->Put(std::to_string(i), Large(i)).ok());
    std::vector<RecordChange> changes{{"manifest", std::to_string(i)}};
    if (i > 2) changes.push_back({std::to_string(i - 3), std::nullopt});
    ASSERT_TRUE((*store)->Commit(changes).ok());
  }
  // Three are there; RocksDB looks after each fourth.
  EXPECT_LT(BytesOf(folder.File("records")), 20U * 300'000);
}

TEST(RecordStore, AFullDiskLosesNothing) {
  TempFolder folder;
  SmallDisk disk(folder.File("disk"), "size=16m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a disk";
  const RecordStoreOpener open = RocksRecords(folder.File("disk/records"));
  int committed = 0;
  Status full;
  {
    const auto store = open(RecordAccess::kWrite);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    for (int i = 0; i < 200 && full.ok(); ++i) {
      full = (*store)->Put(std::to_string(i), Large(static_cast<uint64_t>(i)));
      const RecordChange changes[] = {{"manifest", std::to_string(i)}};
      if (full.ok()) full = (*store)->Commit(changes);
      if (full.ok()) committed = i;
    }
  }
  EXPECT_EQ(full.code(), StatusCode::kDiskFull) << full.ToString();
  EXPECT_GT(committed, 10);
  const auto expect_all = [&](const RecordStore& store) {
    EXPECT_EQ(Read(store, "manifest"), std::to_string(committed));
    for (int i = 0; i <= committed; ++i) {
      ASSERT_EQ(Read(store, std::to_string(i)), TextOf(Large(static_cast<uint64_t>(i))));
    }
  };
  {
    const auto store = open(RecordAccess::kRead);  // on a disk that is still full
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    expect_all(**store);
  }
  disk.Resize("size=64m");
  const auto store = open(RecordAccess::kWrite);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  expect_all(**store);
  EXPECT_TRUE((*store)->Put("more", Large(1)).ok() && (*store)->Commit({}).ok());
}

TEST(RecordStore, DamageIsFound) {
  TempFolder folder;
  const std::string path = folder.File("records");
  const RecordStoreOpener open = RocksRecords(path);
  {
    const auto store = open(RecordAccess::kWrite);
    ASSERT_TRUE(store.ok() && (*store)->Put("image", Large(1)).ok() && (*store)->Commit({}).ok());
  }
  const auto names = RealDisk().List(path);
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) {
    if (!name.ends_with(".blob")) continue;
    std::string content = ReadWholeFile(path + "/" + name);
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
    WriteWholeFile(path + "/" + name, content);
  }
  const auto read = [&] {
    const auto store = open(RecordAccess::kRead);
    return store.ok() ? (*store)->Read("image").status() : store.status();
  };
  EXPECT_EQ(read().code(), StatusCode::kCorrupt) << read().ToString();
  for (const std::string& name : *names) {
    if (!name.ends_with(".blob")) continue;
    ASSERT_TRUE(RealDisk().Remove(path + "/" + name).ok());
  }
  EXPECT_EQ(read().code(), StatusCode::kCorrupt) << read().ToString();
}

}  // namespace
}  // namespace strata
