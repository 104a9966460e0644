// Checkpoints of a store whose rows expire (TierPolicy::ttl_steps): what was dead at the cut is in
// none, and whoever loads one need not know of the policy.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "storage/checkpoint/export.h"
#include "storage/checkpoint/local_checkpointer.h"
#include "storage/memory/local_store.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/storage/tier_parts.h"
#include "tests/support/ones.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

constexpr uint64_t kTtl = 10;

TableSpec Spec() {
  return {.name = "t",
          .dim = 2,
          .optimizer = {.kind = OptimizerKind::kAdaGrad},
          .initializer = {InitializerKind::kUniform, 1.0F}};
}

// A store of one table, most of whose rows lie in the cold tier, and its checkpoints.
class Life {
 public:
  Life(Disk& disk, uint64_t ttl_steps)
      : parts_(100),
        store_(
            "tiered",
            [this, ttl_steps](const TableSpec& spec) {
              return std::make_unique<TieredTable>(spec, TierPolicy{.ttl_steps = ttl_steps},
                                                   parts_.warm, parts_.folder.cold(),
                                                   *parts_.executor);
            },
            clock_),
        checkpointer_(
            MakeLocalCheckpointer(store_, {.disk = &disk, .root = "c", .clock = &clock_})) {}

  void Make() { ASSERT_TRUE(store_.CreateTable(Spec()).ok()); }
  void Push(const std::vector<Key>& keys, uint64_t step) { Write(OpKind::kUpdate, keys, step); }
  void Assign(const std::vector<Key>& keys) { Write(OpKind::kAssign, keys, 1); }
  CheckpointInfo Take(bool full = false) {
    const auto number = checkpointer_->Cut(kNever);
    EXPECT_TRUE(number.ok()) << number.status().ToString();
    if (!number.ok()) return {};
    auto info = checkpointer_->Save(*number, full, {}, kNever);
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    return info.ok() ? std::move(*info) : CheckpointInfo{};
  }
  void Restore(uint32_t number) { ASSERT_TRUE(checkpointer_->Restore(number, kNever).ok()); }

  TableBits Bits() {
    TableBits bits;
    ScanPage page;
    page.with_state = true;
    page.rows_max = UINT32_MAX;
    Operation scan;
    scan.kind = OpKind::kScan;
    scan.parts = {{.table = Spec().id(), .page = &page}};
    EXPECT_TRUE(SubmitAndWait(store_, scan).status.ok());
    AddPage(page, &bits);
    return bits;
  }

 private:
  void Write(OpKind kind, const std::vector<Key>& keys, uint64_t step) {
    const std::vector<float> values(keys.size() * Spec().dim, 1.0F);
    Operation operation;
    operation.kind = kind;
    operation.step = step;
    operation.parts = {{.table = Spec().id(), .keys = keys, .in = values}};
    const Status status = SubmitAndWait(store_, operation).status;
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  SimClock clock_{5};
  TierParts parts_;
  LocalStore store_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

// What a table without the policy holds that is loaded from the checkpoint; so many rows are
// exported, too.
TableBits Loaded(Disk& disk, uint32_t number) {
  TestTarget target(number);
  const auto loaded = LoadCheckpoint(disk, "c", number, target);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  TableBits bits = target.Bits()["t"];
  const auto report = ExportTable(disk, "c", number, "t", ExportFormat::kNpy, "out");
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  if (report.ok()) {
    EXPECT_EQ(report->rows, bits.size());
  }
  return bits;
}

TEST(TieredCheckpointTest, WhatIsExpiredAtTheCutIsInNeitherAFullNorALaterOne) {
  SimDisk disk;
  Life life(disk, kTtl);
  life.Make();
  for (Key key = 0; key < 1000; key += 50) life.Push(Range(key, 50), 1);
  EXPECT_EQ(life.Take().rows, 1000U);
  EXPECT_EQ(Loaded(disk, 1).size(), 1000U);
  for (uint64_t step = 2; step < 22; ++step) life.Push(Range(0, 10), step);
  const TableBits live = life.Bits();
  ASSERT_EQ(live.size(), 10U);
  life.Take();
  life.Take(/*full=*/true);
  EXPECT_EQ(Loaded(disk, 2), live);
  EXPECT_EQ(Loaded(disk, 3), live);

  // The next life goes on from it, and a checkpoint of that one is right, too.
  Life next(disk, kTtl);
  next.Restore(2);
  EXPECT_EQ(next.Bits(), live);
  for (uint64_t step = 22; step < 40; ++step) next.Push(Range(5, 10), step);
  EXPECT_EQ(next.Bits().size(), 10U);
  const CheckpointInfo last = next.Take();
  EXPECT_EQ(Loaded(disk, last.number), next.Bits());
}

// A checkpoint of a server without the policy, and then one with it.
TEST(TieredCheckpointTest, RowsThatExpireWhileTheyAreLoadedAreGoneFromTheNextOne) {
  SimDisk disk;
  Life without(disk, 0);
  without.Make();
  without.Push(Range(0, 200), 1);
  without.Push(Range(0, 10), 50);
  ASSERT_EQ(without.Take().rows, 200U);
  Life with(disk, kTtl);
  with.Restore(1);
  const TableBits live = with.Bits();
  ASSERT_EQ(live.size(), 10U);
  EXPECT_EQ(with.Take().rows, 10U);
  EXPECT_EQ(Loaded(disk, 2), live);
}

TEST(TieredCheckpointTest, ItIsIncrementalWhileNoTimeCanHaveRunOut) {
  SimDisk disk;
  Life life(disk, kTtl);
  life.Make();
  life.Push(Range(0, 200), 1);
  EXPECT_EQ(life.Take().parent, 0U);
  life.Push(Range(0, 10), kTtl + 1);
  CheckpointInfo info = life.Take();
  EXPECT_EQ(info.parent, 1U);
  EXPECT_EQ(info.rows, 10U);
  life.Push(Range(5, 10), kTtl + 2);
  EXPECT_EQ(life.Take().parent, 0U) << "the rows of step 1 are dead";
  life.Assign(Range(300, 3));
  info = life.Take();
  EXPECT_EQ(info.parent, 3U) << "nobody pushed";
  EXPECT_EQ(info.rows, 3U);
  EXPECT_EQ(Loaded(disk, 4), life.Bits());
}

}  // namespace
}  // namespace strata
