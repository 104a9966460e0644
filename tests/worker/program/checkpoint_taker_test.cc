// When checkpoints are taken, and what happens when they fail or take long.
#include "worker/tasks/checkpoint_taker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/thread/mutex.h"
#include "cluster/collective/single_group.h"
#include "storage/memory/host_store.h"
#include "worker/ctr/trainer.h"
#include "worker/model/model_shape.h"

namespace strata {
namespace {

using testing::ElementsAre;

// Notes what it is asked; a save can be held back, and calls made to fail.
class FakeCheckpointer final : public Checkpointer {
 public:
  Result<uint32_t> Cut(TimeNs /*deadline*/) override {
    if (fail_cut) return Failed("no cut");
    return ++cuts;
  }

  Result<CheckpointInfo> Save(uint32_t number, bool full, std::span<const Attachment> attachments,
                              TimeNs /*deadline*/) override {
    const MutexLock lock(mutex_);
    saving_ = true;
    changed_.NotifyAll();
    while (held_) changed_.Wait(mutex_);
    if (fail_save) return DiskFull("no room");
    if (others_cut > 0) {
      --others_cut;
      return Cancelled("another cut came before");
    }
    saved.emplace_back(number, full);
    names.clear();
    for (const Attachment& attachment : attachments) names.push_back(attachment.name);
    return CheckpointInfo{.number = number, .attachments = {}};
  }

  Result<std::vector<CheckpointInfo>> List(TimeNs) override { return Failed("not asked for"); }
  Result<std::string> ReadAttachment(uint32_t, const std::string&, TimeNs) override {
    return Failed("not asked for");
  }
  Status Restore(uint32_t, TimeNs) override { return Failed("not asked for"); }
  Status RestoreTable(uint32_t, const std::string&, TimeNs) override {
    return Failed("not asked for");
  }

  void Hold() {
    const MutexLock lock(mutex_);
    held_ = true;
    saving_ = false;
  }
  void WaitUntilSaving() {
    const MutexLock lock(mutex_);
    while (!saving_) changed_.Wait(mutex_);
  }
  void LetGo() {
    const MutexLock lock(mutex_);
    held_ = false;
    changed_.NotifyAll();
  }

  bool fail_cut = false;
  bool fail_save = false;
  int others_cut = 0;  // saves that another cut comes before
  uint32_t cuts = 0;
  std::vector<std::pair<uint32_t, bool>> saved;  // number, full
  std::vector<std::string> names;                // of the last one's attachments

 private:
  Mutex mutex_;
  CondVar changed_;
  bool held_ STRATA_GUARDED_BY(mutex_) = false;
  bool saving_ STRATA_GUARDED_BY(mutex_) = false;
};

// A trainer that stands behind any number of steps.
class AnyTrainer {
 public:
  const TrainingRun& At(uint64_t steps) {
    EXPECT_TRUE(
        trainer_.Resume({.steps = steps, .dense = std::vector<float>(1), .dense_state = {}}).ok());
    return trainer_;
  }

 private:
  const std::unique_ptr<Network> network_ =
      MakeCpuNetwork(GraphOf({ModelKind::kLogistic, 0, {}, 1, 0}));
  std::unique_ptr<LocalStore> store_ = MakeHostStore();
  SingleGroup group_;
  Trainer trainer_{
      {.batch_size = 1, .dense_optimizer = {}, .tables = {TableId{}}, .between_steps = {}},
      *network_,
      *store_,
      group_};
};

TEST(CheckpointTaker, TakesOneEveryFewStepsAndAFullOneNowAndThen) {
  FakeCheckpointer checkpointer;
  AnyTrainer trainer;
  CheckpointTaker taker(checkpointer, RealClock(),
                        {.fingerprint = "f", .device = "CPU", .every_steps = 3});
  for (uint64_t step = 0; step < 30; ++step) {
    ASSERT_TRUE(taker.BetweenSteps(trainer.At(step)).ok());
    EXPECT_EQ(taker.Finish(), step / 3 + 1) << step;
  }
  EXPECT_EQ(checkpointer.cuts, 10U);
  for (const auto& [number, full] : checkpointer.saved) EXPECT_EQ(full, number % 8 == 1) << number;
  EXPECT_THAT(checkpointer.names,
              ElementsAre("progress.txt", "dense.f32", "dense_state.f32", "job.txt", "device.txt"));
}

TEST(CheckpointTaker, TheOneThatTheRunGoesOnFromIsNotTakenAgain) {
  FakeCheckpointer checkpointer;
  AnyTrainer trainer;
  CheckpointTaker taker(
      checkpointer, RealClock(),
      {.fingerprint = "f", .device = "CPU", .every_steps = 3, .resumed_steps = 6});
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(6)).ok());
  EXPECT_EQ(checkpointer.cuts, 0U);
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(9)).ok());
  EXPECT_EQ(taker.Finish(), 1U);
}

TEST(CheckpointTaker, TrainingGoesOnDuringASaveAndTheNextOneIsLeftOut) {
  FakeCheckpointer checkpointer;
  AnyTrainer trainer;
  CheckpointTaker taker(checkpointer, RealClock(),
                        {.fingerprint = "f", .device = "CPU", .every_steps = 1});
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(0)).ok());
  EXPECT_EQ(checkpointer.saved.size(), 1U) << "the first is there before the first step";
  checkpointer.Hold();
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(1)).ok());
  checkpointer.WaitUntilSaving();
  for (uint64_t step = 2; step < 5; ++step) {
    ASSERT_TRUE(taker.BetweenSteps(trainer.At(step)).ok());
  }
  EXPECT_EQ(checkpointer.cuts, 2U);
  checkpointer.LetGo();
  EXPECT_EQ(taker.Finish(), 2U);
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(5)).ok());
  EXPECT_EQ(taker.Finish(), 3U);
}

TEST(CheckpointTaker, OnlyTheFirstMustSucceed) {
  for (const bool cut : {true, false}) {
    FakeCheckpointer checkpointer;
    AnyTrainer trainer;
    CheckpointTaker taker(checkpointer, RealClock(),
                          {.fingerprint = "f", .device = "CPU", .every_steps = 1});
    (cut ? checkpointer.fail_cut : checkpointer.fail_save) = true;
    EXPECT_FALSE(taker.BetweenSteps(trainer.At(0)).ok());
    EXPECT_TRUE(taker.BetweenSteps(trainer.At(1)).ok());
    EXPECT_EQ(taker.Finish(), 0U);
    checkpointer.fail_cut = checkpointer.fail_save = false;
    EXPECT_TRUE(taker.BetweenSteps(trainer.At(2)).ok());
    EXPECT_EQ(taker.Finish(), 1U);
    EXPECT_TRUE(checkpointer.saved.front().second) << "nothing to build on";
  }
}

TEST(CheckpointTaker, OneThatAnotherCutCameBeforeIsTakenAgain) {
  FakeCheckpointer checkpointer;
  AnyTrainer trainer;
  CheckpointTaker taker(checkpointer, RealClock(),
                        {.fingerprint = "f", .device = "CPU", .every_steps = 10});
  checkpointer.others_cut = 2;
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(0)).ok()) << "the first, until it is there";
  EXPECT_EQ(taker.Finish(), 1U);
  EXPECT_EQ(checkpointer.cuts, 3U);
  checkpointer.others_cut = 1;
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(10)).ok());
  EXPECT_EQ(taker.Finish(), 1U);
  ASSERT_TRUE(taker.BetweenSteps(trainer.At(11)).ok()) << "a later one behind the next step";
  EXPECT_EQ(taker.Finish(), 2U);
  checkpointer.others_cut = 2;
  for (uint64_t step = 20; step < 30; ++step) {
    ASSERT_TRUE(taker.BetweenSteps(trainer.At(step)).ok());
    EXPECT_EQ(taker.Finish(), 2U) << "and once only";
  }
  EXPECT_EQ(checkpointer.cuts, 7U);
}

}  // namespace
}  // namespace strata
