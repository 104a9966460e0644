// Checkpoints of several lanes, taken while tables change, are loaded by other numbers of servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/load.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/verify.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

// The rows that `owners` targets get together; each only its own.
StoreBits LoadedBy(Disk& disk, const std::string& root, uint32_t number, uint32_t owners) {
  StoreBits all;
  for (uint32_t rest = 0; rest < owners; ++rest) {
    TestTarget target(number, rest, owners);
    const auto loaded = LoadCheckpoint(disk, root, number, target);
    EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
    for (auto& [name, bits] : target.Bits()) {
      for (const auto& [key, row] : bits) {
        EXPECT_TRUE(target.Owns(wire::ShardOf(key)));
        EXPECT_TRUE(all[name].emplace(key, row).second);
      }
      all[name];
    }
  }
  return all;
}

TEST(CheckpointLoadTest, ChainsLoadToTheBitIntoAnyNumberOfServers) {
  constexpr uint32_t kSeeds = kSanitized ? 10 : 40;
  uint32_t incremental = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimDisk disk({.seed = seed});
    CheckpointedLanes lanes(disk, "checkpoints", seed);
    Random random(seed);
    uint32_t number = 0;
    for (int taken = 0; taken < 6; ++taken) {
      lanes.Write(static_cast<uint32_t>(random.Below(60)));
      if (random.Below(4) == 0) lanes.DropAndMakeTable();
      number += 1 + static_cast<uint32_t>(random.Below(2));
      const Status status = lanes.Take(number, random.Below(4) == 0);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    const auto list = ListCheckpoints(disk, lanes.root());
    ASSERT_TRUE(list.ok());
    ASSERT_EQ(list->checkpoints.size(), 6U);
    for (const auto& manifest : list->checkpoints) {
      incremental += manifest.parent != 0 ? 1 : 0;
      for (const uint32_t owners : {1U, 2U, 5U}) {
        ASSERT_EQ(LoadedBy(disk, lanes.root(), manifest.number, owners),
                  lanes.truth(manifest.number))
            << "checkpoint " << manifest.number << ", " << owners << " owners";
      }
      const auto report = VerifyCheckpoint(disk, lanes.root(), manifest.number);
      ASSERT_TRUE(report.ok());
      EXPECT_THAT(report->findings, testing::IsEmpty()) << report->findings.front().ToString();
    }
  }
  EXPECT_GT(incremental, kSeeds * 3 / 2);
}

TEST(CheckpointLoadTest, LaneImagesComeBack) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "checkpoints", 1);
  lanes.Write(20);
  ASSERT_TRUE(lanes.Take(1, true).ok());
  ASSERT_TRUE(lanes.Take(2, false).ok());
  const auto manifest = ReadCheckpointManifest(disk, lanes.root(), 2);
  ASSERT_TRUE(manifest.ok());
  TestTarget target(2);
  ASSERT_TRUE(LoadCheckpoint(disk, lanes.root(), 2, target).ok());
  for (size_t lane = 0; lane < 3; ++lane) {
    const wire::LaneName& name = lanes.shards().lanes[lane];
    EXPECT_EQ(target.image(name), CheckpointedLanes::LaneImage(2, lane));
    const auto described = DescribePart(disk, lanes.root(),
                                        {.number = 2,
                                         .parent = 0,
                                         .server = name.server,
                                         .lane = name.lane,
                                         .cluster = CheckpointedLanes::kCluster});
    ASSERT_TRUE(described.ok()) << described.status().ToString();
    EXPECT_EQ(*described, manifest->parts[lane]);
  }
}

TEST(CheckpointLoadTest, AMissingBaseIsNamed) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "checkpoints", 1);
  lanes.Write(20);
  ASSERT_TRUE(lanes.Take(3, true).ok());
  ASSERT_TRUE(lanes.Take(4, false).ok());
  ASSERT_TRUE(disk.Remove("checkpoints/0000000003/manifest").ok());
  TestTarget target(4);
  const Status status = LoadCheckpoint(disk, lanes.root(), 4, target).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr("checkpoint 4 builds on checkpoint 3"));
  const auto report = VerifyCheckpoint(disk, lanes.root(), 4);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->findings.size(), 1U);
  EXPECT_EQ(VerifyCheckpoint(disk, lanes.root(), 9).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace strata
