// Training that is ended at random steps and begun again ends with the very model of the unbroken
// run; what is no longer the same run is refused.
#include "worker/tasks/resume.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "cluster/collective/single_group.h"
#include "storage/checkpoint/checkpointer.h"
#include "strata/log.h"
#include "tests/worker/program/living_job.h"
#include "worker/ctr/training_state.h"

namespace strata {
namespace {

using testing::HasSubstr;

TEST(Resume, EndsWithTheVeryModelOfTheUnbrokenRun) {
  Random random(11);
  for (const size_t world : {1U, 3U}) {
    LivingJob unbroken;
    const Life whole = unbroken.Live(world, {});
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    EXPECT_EQ(whole.result.steps, kLivingSteps);
    EXPECT_FALSE(whole.result.resumed_from.has_value());
    for (int round = 0; round < 3; ++round) {
      LivingJob job;
      const std::vector<std::string> overrides = {
          fmt::format("checkpoint.every_steps={}", 1 + random.Below(8))};
      std::string history = fmt::format("{} workers, {}", world, overrides[0]);
      for (int kill = 0; kill < 3; ++kill) {
        const uint64_t steps = 1 + random.Below(20);
        history += fmt::format(", dead after {}", steps);
        const Life life = job.Live(world, overrides, {.steps_max = steps});
        ASSERT_EQ(life.status.code(), StatusCode::kCancelled) << life.status.ToString();
      }
      const Life last = job.Live(world, overrides);
      ASSERT_TRUE(last.status.ok()) << history << ": " << last.status.ToString();
      EXPECT_TRUE(last.result.resumed_from.has_value()) << history;
      EXPECT_EQ(last.result.steps, kLivingSteps) << history;
      EXPECT_TRUE(job.ModelBytes() == unbroken.ModelBytes()) << history;
    }
  }
}

// Each epoch has another order of the files, and each life another number of threads that parse.
TEST(Resume, SeveralFilesEndWithTheVeryModelOfTheUnbrokenRun) {
  Random random(12);
  for (const size_t world : {1U, 3U}) {
    LivingJob unbroken;
    const Life whole = unbroken.Live(world, {unbroken.InSeveralFiles(), "train.shuffle_rows=20"});
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    EXPECT_EQ(whole.result.steps, kLivingSteps);
    LivingJob one_file;
    ASSERT_TRUE(one_file.Live(world, {"train.shuffle_rows=20"}).status.ok());
    EXPECT_FALSE(one_file.ModelBytes() == unbroken.ModelBytes()) << "the order is the same";
    LivingJob job;
    std::vector<std::string> overrides = {
        job.InSeveralFiles(), "train.shuffle_rows=20",
        fmt::format("checkpoint.every_steps={}", 1 + random.Below(8)), "data.threads=1"};
    for (const uint64_t steps : {15U, 20U, 18U}) {  // in each of the epochs
      overrides.back() = fmt::format("data.threads={}", steps - 13);
      ASSERT_EQ(job.Live(world, overrides, {.steps_max = steps}).status.code(),
                StatusCode::kCancelled);
    }
    const Life last = job.Live(world, overrides);
    ASSERT_TRUE(last.status.ok()) << last.status.ToString();
    EXPECT_TRUE(last.result.resumed_from.has_value());
    EXPECT_TRUE(job.ModelBytes() == unbroken.ModelBytes()) << world << " workers";
    // The same rows in one file are other data.
    EXPECT_THAT(
        job.Live(world, {"train.shuffle_rows=20", overrides[2], "train.epochs=4"}).status.message(),
        HasSubstr("hash of data.train"));
  }
}

TEST(Resume, ASignalTakesALastCheckpointAndNoStepIsLost) {
  for (const size_t world : {1, 3}) {
    for (const uint64_t steps : {1, 7, 20, 21, 22, 62, 63}) {
      SCOPED_TRACE(fmt::format("{} ranks, {} steps", world, steps));
      LivingJob unbroken;
      ASSERT_TRUE(unbroken.Live(world, {"checkpoint.every_steps=1000"}).status.ok());
      LivingJob job;
      const Life asked = job.Live(world, {"checkpoint.every_steps=1000"}, {.asked_after = steps});
      if (steps == kLivingSteps) {  // nothing is left to end
        EXPECT_TRUE(asked.status.ok()) << asked.status.ToString();
        continue;
      }
      EXPECT_EQ(asked.status.code(), StatusCode::kCancelled);
      EXPECT_THAT(asked.status.message(), HasSubstr("holds all of it; to go on, start the same"));
      const Life resumed = job.Live(world, {"checkpoint.every_steps=1000"});
      ASSERT_TRUE(resumed.status.ok()) << resumed.status.ToString();
      EXPECT_TRUE(resumed.result.resumed_from.has_value());
      EXPECT_EQ(resumed.result.steps, kLivingSteps);
      EXPECT_LE(resumed.result.samples, (kLivingSteps - steps) * 100);
      EXPECT_EQ(job.ModelBytes(), unbroken.ModelBytes());
    }
  }
}

// One checkpoint, of these attachments.
class OneCheckpoint final : public Checkpointer {
 public:
  explicit OneCheckpoint(const std::vector<Attachment>& attachments) {
    for (const Attachment& attachment : attachments) texts_[attachment.name] = attachment.bytes;
  }
  Result<uint32_t> Cut(TimeNs) override { return Failed("not asked for"); }
  Result<CheckpointInfo> Save(uint32_t, bool, std::span<const Attachment>, TimeNs) override {
    return Failed("not asked for");
  }
  Result<std::vector<CheckpointInfo>> List(TimeNs) override {
    CheckpointInfo info{.number = 7, .attachments = {}};
    for (const auto& [name, text] : texts_) info.attachments.push_back(name);
    return std::vector<CheckpointInfo>{info};
  }
  Result<std::string> ReadAttachment(uint32_t, const std::string& name, TimeNs) override {
    const auto found = texts_.find(name);
    if (found == texts_.end()) return NotFound(name);
    return found->second;
  }
  Status Restore(uint32_t, TimeNs) override { return {}; }
  Status RestoreTable(uint32_t, const std::string&, TimeNs) override { return {}; }

 private:
  std::map<std::string, std::string> texts_;
};

TEST(Resume, GoingOnAnotherDeviceIsWarnedOf) {
  const std::string fingerprint = "job.name = \"clicks\"\n";
  const auto warnings_of = [&](const std::optional<std::string>& taken_on) {
    std::vector<Attachment> attachments =
        AttachmentsOf({.steps = 5, .dense = {1}, .dense_state = {}});
    attachments.push_back({kFingerprintAttachment, fingerprint});
    if (taken_on.has_value()) attachments.push_back({kDeviceAttachment, *taken_on});
    OneCheckpoint checkpointer(attachments);
    SingleGroup group;
    std::string warnings;
    SetLogSink([&](LogLevel level, std::string_view text) {
      if (level == LogLevel::kWarning) warnings += text;
    });
    const auto resumed =
        Resume(&checkpointer, group, RealClock(),
               {.fingerprint = fingerprint, .device = "NVIDIA H200", .tables = {}, .epochs = 2});
    SetLogSink(nullptr);
    EXPECT_TRUE(resumed.ok()) << resumed.status().ToString();
    EXPECT_TRUE(resumed.ok() && resumed->has_value() && (*resumed)->state.steps == 5);
    return warnings;
  };
  EXPECT_EQ(warnings_of(std::nullopt), "");  // an older checkpoint
  EXPECT_EQ(warnings_of("NVIDIA H200"), "");
  EXPECT_THAT(warnings_of("NVIDIA H100 80GB HBM3"),
              HasSubstr("checkpoint 7 was taken on another device, NVIDIA H100 80GB HBM3; this run "
                        "computes on NVIDIA H200,"));
}

TEST(Resume, MoreEpochsAreTheSameRun) {
  LivingJob longer;
  ASSERT_TRUE(longer.Live(1, {}).status.ok());
  LivingJob job;  // one checkpoint in its second epoch, one in its third: never two at a time
  ASSERT_TRUE(
      job.Live(1, {"checkpoint.every_steps=22", "train.epochs=2", "output.model="}).status.ok());
  const Life more = job.Live(1, {"checkpoint.every_steps=22"});
  ASSERT_TRUE(more.status.ok()) << more.status.ToString();
  EXPECT_TRUE(more.result.resumed_from.has_value());
  EXPECT_TRUE(job.ModelBytes() == longer.ModelBytes());
  const Life fewer = job.Live(1, {"checkpoint.every_steps=22", "train.epochs=1"});
  EXPECT_THAT(fewer.status.message(), HasSubstr("train.epochs is 1"));
}

TEST(Resume, AnotherRunIsRefusedWithTheFirstDifference) {
  LivingJob job;
  const std::vector<std::string> same = {"checkpoint.every_steps=5"};
  ASSERT_EQ(job.Live(3, same, {.steps_max = 12}).status.code(), StatusCode::kCancelled);
  const auto refusal = [&](size_t world, const std::string& override_text) {
    const Life life = job.Live(world, {"checkpoint.every_steps=5", override_text});
    EXPECT_EQ(life.status.code(), StatusCode::kInvalid);
    return life.status.message();
  };
  EXPECT_THAT(refusal(3, "train.batch_size=99"),
              HasSubstr("has 'train.batch_size = 100', the job now 'train.batch_size = 99'"));
  EXPECT_THAT(refusal(2, "job.seed=1"), HasSubstr("has 'workers = 3', the job now 'workers = 2'"));
  std::string other = XorCsv(kLivingRows, 12, 1);  // as long as before
  other.replace(other.find("l1,"), 3, "l2,");
  job.RewriteData(other);
  EXPECT_THAT(refusal(3, "job.seed=1"), HasSubstr("has 'hash of data.train = "));
  job.RewriteData(XorCsv(kLivingRows, 12, 1));
  ASSERT_TRUE(job.Live(3, same).status.ok());
}

TEST(Resume, ADamagedCheckpointIsNamedWithTheWayOn) {
  LivingJob job;
  const std::vector<std::string> same = {"checkpoint.every_steps=5"};
  ASSERT_EQ(job.Live(1, same, {.steps_max = 7}).status.code(), StatusCode::kCancelled);
  const std::vector<std::string> files = job.CheckpointFiles();
  ASSERT_GE(files.size(), 3U);
  for (const std::string& file : files) {
    const std::string good = ReadWholeFile(file);
    std::string bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
    WriteWholeFile(file, bad);
    const Life damaged = job.Live(1, same, {.steps_max = 1});
    EXPECT_EQ(damaged.status.code(), StatusCode::kCorrupt) << file;
    EXPECT_THAT(damaged.status.message(), HasSubstr(file));
    EXPECT_THAT(damaged.status.message(), HasSubstr("begin anew with checkpoint.resume=false"));
    WriteWholeFile(file, good);
  }
  const Life back = job.Live(1, same, {.steps_max = 1});  // the files are there again
  EXPECT_EQ(back.status.code(), StatusCode::kCancelled) << back.status.ToString();
}

TEST(Resume, OthersAreLeftAlone) {
  LivingJob job;
  const std::vector<std::string> same = {"checkpoint.every_steps=5"};
  ASSERT_EQ(job.Live(1, same, {.steps_max = 12}).status.code(), StatusCode::kCancelled);
  const Life beside = job.Live(1, same, {.steps_max = 3, .other = "theirs"});
  EXPECT_EQ(beside.status.code(), StatusCode::kCancelled) << beside.status.ToString();
  EXPECT_TRUE(beside.others_table_exists);
  // A job of another name does not see the checkpoint, and the first one still finds its own.
  const Life named = job.Live(1, {"checkpoint.every_steps=5", "job.name=named"}, {.steps_max = 12});
  EXPECT_EQ(named.status.code(), StatusCode::kCancelled);
  const Life anew = job.Live(1, {"checkpoint.every_steps=0"}, {.steps_max = 12});
  EXPECT_EQ(anew.status.code(), StatusCode::kCancelled);
  const Life last = job.Live(1, same);
  ASSERT_TRUE(last.status.ok()) << last.status.ToString();
  EXPECT_TRUE(last.result.resumed_from.has_value());
  const Life again = job.Live(1, {"checkpoint.every_steps=5", "checkpoint.resume=false"});
  ASSERT_TRUE(again.status.ok()) << again.status.ToString();
  EXPECT_FALSE(again.result.resumed_from.has_value());
}

}  // namespace
}  // namespace strata
