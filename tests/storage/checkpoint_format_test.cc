// The bytes of a checkpoint of format version 1, pinned in tests/golden: what was written once is
// read for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/format/checkpoint_manifest.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/checkpoint/table_record.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/support/golden.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

TableSpec Spec() {
  return {.name = "users.id-2",
          .dim = 2,
          .optimizer = {.kind = OptimizerKind::kAdaGrad,
                        .learning_rate = 0.5F,
                        .initial_accumulator = 0.25F},
          .initializer = {InitializerKind::kNormal, 0.125F},
          .seed = 0x0123456789abcdef,
          .ack = AckLevel::kSynced};
}

ScanPage Page() {
  ScanPage page;
  page.keys = {1, UINT64_MAX};
  page.rows = {1.0F, -2.0F, 0.5F, 0.25F, 3.0F, 4.0F, 0.75F, 1.5F};
  page.counters = {{.frequency = 7, .checkpoint_epoch = 3, .last_step = 9},
                   {.frequency = UINT32_MAX, .checkpoint_epoch = 2, .last_step = 1ULL << 40}};
  return page;
}

// Checkpoint 4, on 3, of the one lane of server 0.
format::CheckpointManifest WriteAll(Disk& disk) {
  constexpr uint16_t kLanes[] = {1};
  const auto writer = PartWriter::Create(
      disk, "c", {.number = 4, .parent = 3, .server = 0, .lane = 0, .cluster = 0xfeedface});
  EXPECT_TRUE(writer.ok());
  const std::vector<Key> erased = {5, 6};
  const std::string image = "lane";
  EXPECT_TRUE((*writer)->AddTable(Spec(), 3).ok());
  EXPECT_TRUE((*writer)->AddErased(Spec().id(), erased).ok());
  EXPECT_TRUE((*writer)->AddRows(Spec().id(), Page()).ok());
  EXPECT_TRUE((*writer)->AddLaneImage(std::as_bytes(std::span(image))).ok());
  const auto part = (*writer)->Finish();
  EXPECT_TRUE(part.ok());
  const Attachment attachment{"dense", "bytes"};
  auto manifest = CommitCheckpoint(disk, "c",
                                   {.writer = {},
                                    .number = 4,
                                    .parent = 0,
                                    .cluster = 0xfeedface,
                                    .wall_unix_ns = 1'700'000'000'000'000'000,
                                    .job = "[job]\nname = \"golden\"\n",
                                    .shards = *wire::MakeShardMap(kLanes),
                                    .parts = {*part},
                                    .attachments = {}},
                                   {&attachment, 1});
  EXPECT_TRUE(manifest.ok()) << manifest.status().ToString();
  return *manifest;
}

TEST(CheckpointFormatTest, VersionOneIsWrittenAsEver) {
  SimDisk disk;
  format::CheckpointManifest written = WriteAll(disk);
  written.writer = "strata 0.1.0";
  ExpectGolden("checkpoint_v1_part.hex",
               *ReadFile(disk, "c/0000000004/server-0-lane-0.part", 1 << 20));
  ExpectGolden("checkpoint_v1_manifest.txt", format::EncodeCheckpointManifest(written));
}

TEST(CheckpointFormatTest, VersionOneIsReadAsEver) {
  const auto manifest =
      format::DecodeCheckpointManifest(Golden("checkpoint_v1_manifest.txt"), "manifest");
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  EXPECT_EQ(manifest->number, 4U);
  EXPECT_EQ(manifest->parent, 3U);
  EXPECT_EQ(manifest->cluster, 0xfeedfaceU);
  EXPECT_EQ(manifest->attachments.at(0).name, "dense");
  SimDisk disk;
  ASSERT_TRUE(disk.MakeFolder("c").ok());
  ASSERT_TRUE(WriteFileAtomically(disk, "c/part", Golden("checkpoint_v1_part.hex")).ok());
  const auto reader = PartReader::Open(
      disk, "c/part", {.number = 4, .parent = 0, .server = 0, .lane = 0, .cluster = 0xfeedface},
      &manifest->parts.at(0));
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  PartBlock block;
  ASSERT_TRUE((*reader)->Next(&block).ok());
  EXPECT_EQ((*reader)->tables().at(0).spec, Spec());
  EXPECT_EQ((*reader)->tables().at(0).since, 3U);
  ASSERT_TRUE((*reader)->Next(&block).ok());
  EXPECT_THAT(block.page.keys, testing::ElementsAre(5, 6));
  ASSERT_TRUE((*reader)->Next(&block).ok());
  TableBits found;
  TableBits expected;
  AddPage(block.page, &found);
  AddPage(Page(), &expected);
  EXPECT_EQ(found, expected);
  ASSERT_TRUE((*reader)->Next(&block).ok());
  EXPECT_EQ(block.lane_image.size(), 4U);
  const auto end = (*reader)->Next(&block);
  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_FALSE(*end);
}

TEST(CheckpointFormatTest, OptimizersWithAnExtensionAreWrittenAndReadAsEver) {
  TableSpec spec = Spec();
  EXPECT_FALSE(ToRecord(spec, 0).extension.has_value());
  spec.optimizer = {.kind = OptimizerKind::kFtrl,
                    .learning_rate = 0.5F,
                    .l1 = 1.0F,
                    .l2 = 2.0F,
                    .beta = 3.0F,
                    .clip_value = 4.0F,
                    .clip_norm = 5.0F,
                    .weight_decay = 6.0F,
                    .warmup_steps = 7,
                    .decay_start = 8,
                    .decay_steps = 9,
                    .decay_power = 10.0F,
                    .end_learning_rate = 0.25F};
  const std::vector<std::byte> bytes = format::EncodeTableRecord(ToRecord(spec, 3));
  ExpectGolden("checkpoint_v1_table_extended.hex",
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const std::string golden = Golden("checkpoint_v1_table_extended.hex");
  const auto record = format::DecodeTableRecord(std::as_bytes(std::span(golden)), "part");
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ(*FromRecord(*record, "part"), spec);
  const auto cut = format::DecodeTableRecord(std::span(bytes).first(bytes.size() - 1), "part");
  EXPECT_EQ(cut.status().code(), StatusCode::kCorrupt);
}

TEST(CheckpointFormatTest, TablesOfNarrowTypesAreWrittenAndReadAsEver) {
  TableSpec spec = Spec();
  spec.value_type = ElementType::kBf16;
  spec.state_type = ElementType::kFp16;
  const std::vector<std::byte> bytes = format::EncodeTableRecord(ToRecord(spec, 3));
  ExpectGolden("checkpoint_v1_table_narrow.hex",
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  auto record = format::DecodeTableRecord(bytes, "part");
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ(*FromRecord(*record, "part"), spec);
  for (size_t size = bytes.size() - 2; size < bytes.size(); ++size) {
    const auto cut = format::DecodeTableRecord(std::span(bytes).first(size), "part");
    EXPECT_EQ(cut.status().code(), StatusCode::kCorrupt) << size;
  }
  record->types.value = 9;
  EXPECT_EQ(FromRecord(*record, "part").status().code(), StatusCode::kCorrupt);

  spec.optimizer = {.kind = OptimizerKind::kFtrl, .l1 = 1.0F};  // behind an extension
  const auto both = format::EncodeTableRecord(ToRecord(spec, 3));
  EXPECT_EQ(*FromRecord(*format::DecodeTableRecord(both, "part"), "part"), spec);
}

TEST(CheckpointFormatTest, ManifestsThatContradictThemselvesAreRefused) {
  SimDisk disk;
  const format::CheckpointManifest good = WriteAll(disk);
  const auto decode = [](const format::CheckpointManifest& manifest) {
    return format::DecodeCheckpointManifest(format::EncodeCheckpointManifest(manifest), "m");
  };
  EXPECT_EQ(*decode(good), good);
  format::CheckpointManifest bad = good;
  bad.parent = 4;
  EXPECT_EQ(decode(bad).status().code(), StatusCode::kCorrupt);
  bad = good;
  bad.parts.push_back(bad.parts[0]);
  EXPECT_EQ(decode(bad).status().code(), StatusCode::kCorrupt);
  bad = good;
  bad.attachments[0].name = "../x";
  EXPECT_EQ(decode(bad).status().code(), StatusCode::kCorrupt);
  bad = good;
  bad.parts[0].tables[0].since = 4;
  EXPECT_EQ(decode(bad).status().code(), StatusCode::kCorrupt);
  const auto part = format::DecodePartEntry(format::EncodePartEntry(good.parts[0]));
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(*part, good.parts[0]);
  EXPECT_EQ(format::DecodePartEntry("{}").status().code(), StatusCode::kInvalid);
  std::string newer = format::EncodeCheckpointManifest(good);
  newer.replace(newer.find(" 1 "), 3, " 2 ");
  const Status status = format::DecodeCheckpointManifest(newer, "m").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), testing::HasSubstr("format version 2 is newer than 1"));
}

}  // namespace
}  // namespace strata
