// Training that is ended at random steps and begun again ends with the very model of the unbroken
// run; what is no longer the same run is refused.
#include "worker/tasks/resume.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "base/random.h"
#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"
#include "storage/memory/host_store.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/ctr/sync_store.h"
#include "tests/worker/thread_session.h"
#include "tests/worker/xor_data.h"
#include "worker/tasks/tasks.h"

namespace strata {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = R"([job]
name = "xor"
[data]
train = "train.csv"
columns = ["left", "right", "y"]
label = "y"
[[feature]]
columns = ["left", "right"]
[model]
embedding_dim = 4
hidden = [8]
dropout = 0.2
[sparse]
optimizer = "adam"
[train]
batch_size = 100
epochs = 3
shuffle_rows = 300
[output]
model = "model"
[checkpoint]
folder = "checkpoints"
)";
constexpr size_t kRows = 2050;  // 21 steps an epoch, the last one short
constexpr uint64_t kSteps = 63;

struct Life {
  Status status;
  TaskResult result;  // of rank 0
  // The table that another job had, when there was one.
  bool others_table_exists = false;
};

// A job in a folder of its own, whose processes come and go: each life has new, empty tables.
class Job {
 public:
  explicit Job(uint64_t data_seed = 1) {
    WriteWholeFile(folder_.File("train.csv"), XorCsv(kRows, 12, data_seed));
  }

  // data.train as the lines of train.csv in several files, of which each worker has a few.
  std::string InSeveralFiles() const {
    const std::string all = ReadWholeFile(folder_.File("train.csv"));
    std::string names;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = std::min(all.find('\n', begin + all.size() / 9), all.size() - 1) + 1;
      const std::string name = folder_.File(fmt::format("part-{:06}.csv", begin));
      WriteWholeFile(name, all.substr(begin, end - begin));
      names += (names.empty() ? "" : ",") + name;
      begin = end;
    }
    return "data.train=" + names;
  }

  // Ends after `steps_max` steps of this life, like a process that dies between two steps. The
  // tables hold `other` besides, if it is not empty. After `asked_after` steps the last rank is
  // asked to end.
  Life Live(size_t world, const std::vector<std::string>& overrides,
            uint64_t steps_max = UINT64_MAX, const std::string& other = "",
            uint64_t asked_after = UINT64_MAX) {
    const auto tables = MakeHostStore();
    if (!other.empty()) {
      TableSpec spec;
      spec.name = other;
      spec.dim = 2;
      EXPECT_TRUE(tables->CreateTable(spec).ok());
    }
    SyncStore store(*tables);
    MemoryWorld memory(static_cast<int>(world));
    std::vector<Life> lives(world);
    std::vector<std::thread> ranks;
    for (size_t r = 0; r < world; ++r) {
      ranks.emplace_back([&, r] {
        ThreadSession session(memory.rank(static_cast<int>(r)), store, *tables);
        lives[r] =
            LiveRank(session, overrides, steps_max, r + 1 == world ? asked_after : UINT64_MAX);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const Life& life : lives) {
      EXPECT_EQ(life.status.code(), lives[0].status.code()) << life.status.ToString();
    }
    const auto left = tables->ListTables();
    for (const TableSpec& table : *left) {
      lives[0].others_table_exists |= table.name == other;
    }
    return std::move(lives[0]);
  }

  std::string ModelBytes() const {
    std::string bytes;
    for (const char* file : {"manifest", "dense-1.bin", "sparse-1.bin", "features-1.bin"}) {
      bytes += ReadWholeFile(folder_.File("model") + "/" + file);
    }
    return bytes;
  }

  // Those of the newest checkpoint.
  std::vector<std::string> CheckpointFiles() const {
    const std::string root = folder_.File("checkpoints");
    const std::string newest = RealDisk().List(root).value().back();
    std::vector<std::string> files = RealDisk().List(root + "/" + newest).value();
    std::erase(files, "manifest");
    for (std::string& file : files) file = fmt::format("{}/{}/{}", root, newest, file);
    return files;
  }

  void RewriteData(const std::string& csv) { WriteWholeFile(folder_.File("train.csv"), csv); }

 private:
  Life LiveRank(Session& session, const std::vector<std::string>& overrides, uint64_t steps_max,
                uint64_t asked_after) {
    auto job = ParseJob(kJob, folder_.File("job.toml"), overrides);
    if (!job.ok()) return {.status = job.status(), .result = {}, .others_table_exists = false};
    WorkerOptions options;
    options.job = std::move(job).value();
    StatusBoard board(RealClock());
    ProgressPrinter printer(RealClock(), nullptr, false, nullptr);
    uint64_t steps = 0;
    auto result = RunTask(
        {.options = options,
         .session = session,
         .disk = RealDisk(),
         .clock = RealClock(),
         .board = board,
         .printer = printer,
         .check = [&] { return ++steps == steps_max ? Cancelled("dead") : Status::Ok(); },
         .asked =
             [&] {
               return steps >= asked_after ? Cancelled("stopped by a signal") : Status::Ok();
             }});
    if (!result.ok())
      return {.status = result.status(), .result = {}, .others_table_exists = false};
    return {.status = {}, .result = std::move(result).value(), .others_table_exists = false};
  }

  TempFolder folder_;
};

TEST(Resume, EndsWithTheVeryModelOfTheUnbrokenRun) {
  Random random(11);
  for (const size_t world : {1U, 3U}) {
    Job unbroken;
    const Life whole = unbroken.Live(world, {});
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    EXPECT_EQ(whole.result.steps, kSteps);
    EXPECT_FALSE(whole.result.resumed_from.has_value());
    for (int round = 0; round < 3; ++round) {
      Job job;
      const std::vector<std::string> overrides = {
          fmt::format("checkpoint.every_steps={}", 1 + random.Below(8))};
      std::string history = fmt::format("{} workers, {}", world, overrides[0]);
      for (int kill = 0; kill < 3; ++kill) {
        const uint64_t steps = 1 + random.Below(20);
        history += fmt::format(", dead after {}", steps);
        const Life life = job.Live(world, overrides, steps);
        ASSERT_EQ(life.status.code(), StatusCode::kCancelled) << life.status.ToString();
      }
      const Life last = job.Live(world, overrides);
      ASSERT_TRUE(last.status.ok()) << history << ": " << last.status.ToString();
      EXPECT_TRUE(last.result.resumed_from.has_value()) << history;
      EXPECT_EQ(last.result.steps, kSteps) << history;
      EXPECT_TRUE(job.ModelBytes() == unbroken.ModelBytes()) << history;
    }
  }
}

// Each epoch has another order of the files.
TEST(Resume, SeveralFilesEndWithTheVeryModelOfTheUnbrokenRun) {
  Random random(12);
  for (const size_t world : {1U, 3U}) {
    Job unbroken;
    const Life whole = unbroken.Live(world, {unbroken.InSeveralFiles(), "train.shuffle_rows=20"});
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    EXPECT_EQ(whole.result.steps, kSteps);
    Job one_file;
    ASSERT_TRUE(one_file.Live(world, {"train.shuffle_rows=20"}).status.ok());
    EXPECT_FALSE(one_file.ModelBytes() == unbroken.ModelBytes()) << "the order is the same";
    Job job;
    const std::vector<std::string> overrides = {
        job.InSeveralFiles(), "train.shuffle_rows=20",
        fmt::format("checkpoint.every_steps={}", 1 + random.Below(8))};
    for (const uint64_t steps : {15U, 20U, 18U}) {  // in each of the epochs
      ASSERT_EQ(job.Live(world, overrides, steps).status.code(), StatusCode::kCancelled);
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
      Job unbroken;
      ASSERT_TRUE(unbroken.Live(world, {"checkpoint.every_steps=1000"}).status.ok());
      Job job;
      const Life asked = job.Live(world, {"checkpoint.every_steps=1000"}, UINT64_MAX, "", steps);
      if (steps == kSteps) {  // nothing is left to end
        EXPECT_TRUE(asked.status.ok()) << asked.status.ToString();
        continue;
      }
      EXPECT_EQ(asked.status.code(), StatusCode::kCancelled);
      EXPECT_THAT(asked.status.message(), HasSubstr("holds all of it; to go on, start the same"));
      const Life resumed = job.Live(world, {"checkpoint.every_steps=1000"});
      ASSERT_TRUE(resumed.status.ok()) << resumed.status.ToString();
      EXPECT_TRUE(resumed.result.resumed_from.has_value());
      EXPECT_EQ(resumed.result.steps, kSteps);
      EXPECT_LE(resumed.result.samples, (kSteps - steps) * 100);
      EXPECT_EQ(job.ModelBytes(), unbroken.ModelBytes());
    }
  }
}

TEST(Resume, MoreEpochsAreTheSameRun) {
  Job longer;
  ASSERT_TRUE(longer.Live(1, {}).status.ok());
  Job job;  // one checkpoint in its second epoch, one in its third: never two at a time
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
  Job job;
  const std::vector<std::string> same = {"checkpoint.every_steps=5"};
  ASSERT_EQ(job.Live(3, same, 12).status.code(), StatusCode::kCancelled);
  const auto refusal = [&](size_t world, const std::string& override_text) {
    const Life life = job.Live(world, {"checkpoint.every_steps=5", override_text});
    EXPECT_EQ(life.status.code(), StatusCode::kInvalid);
    return life.status.message();
  };
  EXPECT_THAT(refusal(3, "train.batch_size=99"),
              HasSubstr("has 'train.batch_size = 100', the job now 'train.batch_size = 99'"));
  EXPECT_THAT(refusal(2, "job.seed=1"), HasSubstr("has 'workers = 3', the job now 'workers = 2'"));
  std::string other = XorCsv(kRows, 12, 1);  // as long as before
  other.replace(other.find("l1,"), 3, "l2,");
  job.RewriteData(other);
  EXPECT_THAT(refusal(3, "job.seed=1"), HasSubstr("has 'hash of data.train = "));
  job.RewriteData(XorCsv(kRows, 12, 1));
  ASSERT_TRUE(job.Live(3, same).status.ok());
}

TEST(Resume, ADamagedCheckpointIsNamedWithTheWayOn) {
  Job job;
  const std::vector<std::string> same = {"checkpoint.every_steps=5"};
  ASSERT_EQ(job.Live(1, same, 7).status.code(), StatusCode::kCancelled);
  const std::vector<std::string> files = job.CheckpointFiles();
  ASSERT_GE(files.size(), 3U);
  for (const std::string& file : files) {
    const std::string good = ReadWholeFile(file);
    std::string bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
    WriteWholeFile(file, bad);
    const Life damaged = job.Live(1, same, 1);
    EXPECT_EQ(damaged.status.code(), StatusCode::kCorrupt) << file;
    EXPECT_THAT(damaged.status.message(), HasSubstr(file));
    EXPECT_THAT(damaged.status.message(), HasSubstr("begin anew with checkpoint.resume=false"));
    WriteWholeFile(file, good);
  }
  const Life back = job.Live(1, same, 1);  // the files are there again
  EXPECT_EQ(back.status.code(), StatusCode::kCancelled) << back.status.ToString();
}

TEST(Resume, OthersAreLeftAlone) {
  Job job;
  const std::vector<std::string> same = {"checkpoint.every_steps=5"};
  ASSERT_EQ(job.Live(1, same, 12).status.code(), StatusCode::kCancelled);
  const Life beside = job.Live(1, same, 3, "theirs");
  EXPECT_EQ(beside.status.code(), StatusCode::kCancelled) << beside.status.ToString();
  EXPECT_TRUE(beside.others_table_exists);
  // A job of another name does not see the checkpoint, and the first one still finds its own.
  const Life named = job.Live(1, {"checkpoint.every_steps=5", "job.name=named"}, 12);
  EXPECT_EQ(named.status.code(), StatusCode::kCancelled);
  const Life anew = job.Live(1, {"checkpoint.every_steps=0"}, 12);
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
