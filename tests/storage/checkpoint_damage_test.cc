// Every file of a checkpoint, damaged in every way: it is noticed by who loads it and by the
// verifier, or the rows are right all the same. Never a crash, never a wrong value.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "proto/format/checkpoint_part.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/checkpoint/verify.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using testing::HasSubstr;

class CheckpointDamageTest : public testing::Test {
 protected:
  CheckpointDamageTest() : lanes_(disk_, "c", 3) {
    lanes_.Write(30);
    EXPECT_TRUE(lanes_.Take(1, true, {{"dense", Text(3000)}}).ok());
    lanes_.Write(5);
    EXPECT_TRUE(lanes_.Take(2, false, {{"reader", Text(100)}}).ok());
  }

  static std::string Text(size_t bytes) {
    std::string text(bytes, '\0');
    Random random(bytes);
    for (char& c : text) c = static_cast<char>(random.Next());
    return text;
  }

  std::string Read(const std::string& path) { return *ReadFile(disk_, path, UINT64_MAX); }
  void Write(const std::string& path, const std::string& content) {
    const auto file = disk_.Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append(std::as_bytes(std::span(content))).ok());
  }

  // Whether loading checkpoint 2 or one of its attachments tells of damage. Rows and bytes that are
  // handed out are right.
  bool IsNoticed() {
    bool noticed = false;
    TestTarget target(2);
    const auto manifest = LoadCheckpoint(disk_, "c", 2, target);
    if (manifest.ok()) {
      EXPECT_EQ(target.Bits(), lanes_.truth(2));
      const auto reader = ReadCheckpointAttachment(disk_, "c", *manifest, "reader");
      if (reader.ok()) {
        EXPECT_EQ(*reader, Text(100));
      }
      noticed = !reader.ok();
    }
    noticed = noticed || !manifest.ok();
    if (const auto first = ReadCheckpointManifest(disk_, "c", 1); first.ok()) {
      noticed = noticed || !ReadCheckpointAttachment(disk_, "c", *first, "dense").ok();
    }
    const auto report = VerifyCheckpoint(disk_, "c", 2);
    if (report.ok() && noticed) {
      EXPECT_FALSE(report->findings.empty()) << "the verifier found nothing";
    }
    return noticed || !report.ok() || !report->findings.empty();
  }

  // Changes the file in all ways of `changes`, one after the other.
  void ExpectNoticed(const std::string& path, size_t changes,
                     const std::function<std::string(const std::string&, size_t)>& change) {
    const std::string good = Read(path);
    for (size_t i = 0; i < changes && !HasFailure(); ++i) {
      const std::string bad = change(good, i);
      if (bad == good) continue;
      Write(path, bad);
      EXPECT_TRUE(IsNoticed()) << path << ", change " << i;
    }
    Write(path, good);
    EXPECT_FALSE(IsNoticed());
  }

  const std::vector<std::string> files_ = {"c/0000000001/server-0-lane-0.part",
                                           "c/0000000001/server-1-lane-0.part",
                                           "c/0000000001/attachment-dense",
                                           "c/0000000001/manifest",
                                           "c/0000000002/server-0-lane-1.part",
                                           "c/0000000002/attachment-reader",
                                           "c/0000000002/manifest"};
  SimDisk disk_;
  CheckpointedLanes lanes_;
};

std::string FlipBit(std::string content, uint64_t bit) {
  content[bit / 8] = static_cast<char>(content[bit / 8] ^ (1 << (bit % 8)));
  return content;
}

TEST_F(CheckpointDamageTest, EveryBitOfTheHeaders) {
  for (const std::string& path : files_) {
    const size_t bytes =
        std::min<size_t>(Read(path).size(), format::kPartHeaderBytes + format::kBlockHeaderBytes);
    constexpr size_t kStep = kSanitized ? 5 : 1;  // which takes every bit of a byte in turn
    ExpectNoticed(path, bytes * 8 / kStep,
                  [](const std::string& good, size_t i) { return FlipBit(good, i * kStep); });
  }
}

TEST_F(CheckpointDamageTest, ThousandsOfRandomBits) {
  constexpr size_t kBits = kSanitized ? 2'000 : 10'000;
  Random random(1);
  for (const std::string& path : files_) {
    ExpectNoticed(path, kBits / files_.size() + 1, [&](const std::string& good, size_t) {
      return FlipBit(good, random.Below(good.size() * 8));
    });
  }
}

TEST_F(CheckpointDamageTest, TruncationAtEveryLengthAndTails) {
  for (const std::string& path : files_) {
    const size_t step = (Read(path).size() > 4000 ? 7 : 1) * (kSanitized ? 5 : 1);
    ExpectNoticed(path, Read(path).size() / step,
                  [&](const std::string& good, size_t i) { return good.substr(0, i * step); });
    ExpectNoticed(path, 3, [](const std::string& good, size_t i) {
      return good + std::string(1 + 100 * i, '\0');
    });
  }
}

TEST_F(CheckpointDamageTest, ZeroedAndRepeatedSectors) {
  constexpr size_t kSector = 512;
  for (const std::string& path : files_) {
    const size_t sectors = (Read(path).size() + kSector - 1) / kSector;
    ExpectNoticed(path, sectors, [](const std::string& good, size_t i) {
      std::string bad = good;
      for (size_t at = i * kSector; at < std::min(bad.size(), (i + 1) * kSector); ++at) bad[at] = 0;
      return bad;
    });
    ExpectNoticed(path, sectors / 2, [](const std::string& good, size_t i) {
      std::string bad = good;  // a write that went to the wrong place
      bad.replace(0, kSector, good.substr((i + 1) * kSector, kSector));
      return bad;
    });
  }
}

TEST_F(CheckpointDamageTest, SwappedMissingAndForeignFiles) {
  for (const std::string& one : files_) {
    for (const std::string& other : files_) {
      if (one >= other) continue;
      const std::string a = Read(one);
      const std::string b = Read(other);
      Write(one, b);
      Write(other, a);
      EXPECT_TRUE(IsNoticed()) << one << " and " << other << " swapped";
      Write(one, a);
      Write(other, b);
    }
    const std::string content = Read(one);
    ASSERT_TRUE(disk_.Remove(one).ok());
    EXPECT_TRUE(IsNoticed()) << one << " removed";
    Write(one, content);
  }
  // The same lane's part of the same checkpoint, of another history.
  SimDisk other_disk;
  CheckpointedLanes other(other_disk, "c", 4);
  other.Write(30);
  ASSERT_TRUE(other.Take(1, true).ok());
  const std::string content = Read(files_[0]);
  Write(files_[0], *ReadFile(other_disk, files_[0], UINT64_MAX));
  EXPECT_TRUE(IsNoticed());
  Write(files_[0], content);
  Write("c/0000000002/stranger", "x");
  const auto report = VerifyCheckpoint(disk_, "c", 2);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_THAT(report->findings[0].message(), HasSubstr("c/0000000002/stranger"));
}

// Whole in itself, of the same lane, number and size, but not the one that was committed.
TEST_F(CheckpointDamageTest, AnotherPartOfTheSameSize) {
  std::vector<std::string> parts;
  for (const float value : {1.0F, 2.0F}) {
    const auto writer = PartWriter::Create(
        disk_, "d", {.number = 1, .parent = 0, .server = 0, .lane = 0, .cluster = 7});
    ASSERT_TRUE(writer.ok());
    TableSpec spec;
    spec.name = "t";
    ScanPage page;
    page.keys = {1};
    page.rows = {value};
    page.counters.resize(1);
    ASSERT_TRUE((*writer)->AddTable(spec, 0).ok() && (*writer)->AddRows(spec.id(), page).ok());
    const auto part = (*writer)->Finish();
    ASSERT_TRUE(part.ok());
    parts.push_back(Read("d/0000000001/server-0-lane-0.part"));
    if (parts.size() == 2) break;
    constexpr uint16_t kLanes[] = {1};
    ASSERT_TRUE(CommitCheckpoint(disk_, "d",
                                 {.writer = {},
                                  .number = 1,
                                  .parent = 0,
                                  .cluster = 7,
                                  .wall_unix_ns = 0,
                                  .job = {},
                                  .shards = *wire::MakeShardMap(kLanes),
                                  .parts = {*part},
                                  .attachments = {}},
                                 {})
                    .ok());
    EXPECT_THAT(VerifyCheckpoint(disk_, "d", 1)->findings, testing::IsEmpty());
  }
  ASSERT_EQ(parts[0].size(), parts[1].size());
  EXPECT_EQ(VerifyCheckpoint(disk_, "d", 1)->findings.size(), 1U);
  TestTarget target(1);
  EXPECT_EQ(LoadCheckpoint(disk_, "d", 1, target).status().code(), StatusCode::kCorrupt);
}

TEST_F(CheckpointDamageTest, FindingsNameFileOffsetExpectedAndFound) {
  const std::string path = files_[0];
  Write(path, FlipBit(Read(path), (format::kPartHeaderBytes + format::kBlockHeaderBytes + 3) * 8));
  const auto report = VerifyCheckpoint(disk_, "c", 2);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_EQ(report->findings[0].code(), StatusCode::kCorrupt);
  EXPECT_THAT(report->findings[0].message(),
              testing::AllOf(HasSubstr(path + ": block at offset 64"), HasSubstr("expected digest"),
                             HasSubstr("found")));
}

TEST_F(CheckpointDamageTest, OtherVersionsAreRefusedByName) {
  std::string part = Read(files_[0]);
  part[8] = 9;
  const auto identity = std::as_bytes(std::span(part)).first(format::kPartIdentityBytes);
  const format::Digest digest = format::DigestOf(identity);
  for (size_t i = 0; i < 8; ++i) {
    part[48 + i] = static_cast<char>(digest.high >> (8 * i));
    part[56 + i] = static_cast<char>(digest.low >> (8 * i));
  }
  Write(files_[0], part);
  TestTarget target(2);
  const Status status = LoadCheckpoint(disk_, "c", 2, target).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("format version 9"));
}

}  // namespace
}  // namespace strata
