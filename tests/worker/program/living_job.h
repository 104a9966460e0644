// A job in a folder of its own, whose processes come and go: what tests of resumed runs share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "cluster/collective/memory_world.h"
#include "storage/memory/host_store.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/ctr/sync_store.h"
#include "tests/worker/program/run_job.h"
#include "tests/worker/thread_session.h"
#include "tests/worker/xor_data.h"

namespace strata {

inline constexpr char kLivingJob[] = R"([job]
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
inline constexpr size_t kLivingRows = 2050;  // 21 steps an epoch, the last one short
inline constexpr uint64_t kLivingSteps = 63;

struct Life {
  Status status;
  TaskResult result;  // of rank 0
  // The table that another job had, when there was one.
  bool others_table_exists = false;
};

struct LifeOptions {
  Task task = Task::kTrain;
  // It ends after so many steps of this life, like a process that dies between two steps.
  uint64_t steps_max = UINT64_MAX;
  std::string other = {};              // another table that is there besides, unless empty
  uint64_t asked_after = UINT64_MAX;   // steps, after which the last rank is asked to end
  uint64_t unread_after = UINT64_MAX;  // steps, after which nobody reads the first one's output
};

// Each life has new, empty tables.
class LivingJob {
 public:
  explicit LivingJob(uint64_t data_seed = 1) { RewriteData(XorCsv(kLivingRows, 12, data_seed)); }

  Life Live(size_t world, const std::vector<std::string>& overrides,
            const LifeOptions& options = {}) {
    const auto tables = MakeHostStore();
    if (!options.other.empty()) {
      TableSpec spec;
      spec.name = options.other;
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
        lives[r] = LiveRank(session, overrides, options);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    for (const Life& life : lives) {
      EXPECT_EQ(life.status.code(), lives[0].status.code()) << life.status.ToString();
    }
    const auto left = tables->ListTables();
    for (const TableSpec& table : *left) {
      lives[0].others_table_exists |= table.name == options.other;
    }
    return std::move(lives[0]);
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

  // Of the only model that was ever saved there.
  std::string ModelBytes() const {
    return BytesOf({"manifest", "dense-1.bin", "sparse-1.bin", "features-1.bin"});
  }

  std::string BytesOf(const std::vector<std::string>& files) const {
    std::string bytes;
    for (const std::string& file : files) {
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
  void WriteTest(const std::string& csv) { WriteWholeFile(folder_.File("test.csv"), csv); }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  Life LiveRank(Session& session, const std::vector<std::string>& overrides,
                const LifeOptions& life) {
    auto job = ParseJob(kLivingJob, folder_.File("job.toml"), overrides);
    if (!job.ok()) return {.status = job.status(), .result = {}, .others_table_exists = false};
    const bool is_first = session.group().rank() == 0;
    const bool is_last = session.group().rank() + 1 == session.group().world();
    uint64_t steps = 0;
    auto result = RunJob(
        session, life.task, std::move(job).value(),
        {.check = [&] { return ++steps == life.steps_max ? Cancelled("dead") : Status::Ok(); },
         .is_unread = [&] { return is_first && steps >= life.unread_after; },
         .asked =
             [&] {
               return is_last && steps >= life.asked_after ? Cancelled("stopped by a signal")
                                                           : Status::Ok();
             }});
    if (!result.ok())
      return {.status = result.status(), .result = {}, .others_table_exists = false};
    return {.status = {}, .result = std::move(result).value(), .others_table_exists = false};
  }

  TempFolder folder_;
};

}  // namespace strata
