// What the tests of whole trainings over ranks in one process have in common.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/thread/mutex.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/rank_world.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

inline constexpr size_t kRows = 700;

inline double Uniform(uint64_t seed, size_t row) {
  return static_cast<double>(Mix64(seed * 1000003 + row) >> 11) * 0x1p-53;
}

// Rows of a label, four numbers (one with missing values, one rough), a category and, if asked, a
// query in front.
inline std::string Rows(uint64_t seed, size_t rows, const std::string& label, bool queries) {
  std::string text;
  size_t query = 0;
  size_t left = 0;
  for (size_t row = 0; row < rows; ++row) {
    const double a = Uniform(seed + 1, row) * 4 - 2;
    const double b = std::floor(Uniform(seed + 2, row) * 9);
    const double c = Uniform(seed + 3, row);
    const double d = Uniform(seed + 4, row) * 100;
    const auto category = static_cast<int>(Uniform(seed + 5, row) * 11);
    const double target = a * c + (category % 3) * 0.7 - b / 9 + Uniform(seed + 6, row) * 0.8;
    double y = target;
    if (label == "class") y = target > 0.4 ? 1 : 0;
    if (label == "three") y = target > 0.8 ? 2 : target > 0 ? 1 : 0;
    if (queries && left-- == 0) {
      ++query;
      left = static_cast<size_t>(Uniform(seed + 7, row) * 24);
    }
    if (queries) text += fmt::format("{}\t", query);
    const std::string missing = Uniform(seed + 8, row) < 0.1 ? "nan" : fmt::format("{:.3f}", c);
    text += fmt::format("{}\t{}\t{}\t{}\t{:.2f}\t{}\n", y, a, b, missing, d, category);
  }
  return text;
}

struct RanksCase {
  const char* name;
  const char* label;
  const char* more;
  bool queries = false;
  int rounds = 6;
};

struct Trained {
  Status status;
  std::string model;
  std::vector<Evaluation> evaluations;
};

// What `strata-worker` does with these parameters, as one of the group's ranks; alone without one.
inline Result<TreeTaskResult> RunAs(Group* group, const TreeParameters& parameters) {
  return RunTreeTask(parameters, {.disk = RealDisk(),
                                  .clock = RealClock(),
                                  .progress = [](const TreeProgress&) {},
                                  .check = [] { return Status::Ok(); },
                                  .group = group});
}

class RanksTraining : public ::testing::Test {
 protected:
  void WriteData(const RanksCase& c) {
    WriteWholeFile(folder_.File("train.tsv"), Rows(1, kRows, c.label, c.queries));
    WriteWholeFile(folder_.File("forced.json"),
                   R"({"feature": 3, "threshold": 50, "left": {"feature": 4, "threshold": 2},
                       "right": {"feature": 2, "threshold": 0.5}})");
    WriteWholeFile(folder_.File("valid.tsv"), Rows(100, kRows / 3, c.label, c.queries));
  }

  std::string Conf(const RanksCase& c, const std::string& more) const {
    std::string own = c.more;  // FOLDER: the test's
    if (const size_t at = own.find("FOLDER"); at != std::string::npos) {
      own.replace(at, 6, folder_.path());
    }
    return fmt::format(
        "task = train\ndata = {0}/train.tsv\nvalid = {0}/valid.tsv\noutput_model = {0}/model.txt\n"
        "num_leaves = 12\nmin_data_in_leaf = 5\nmin_data_in_bin = 1\n"
        "is_provide_training_metric = true\ncategorical_feature = {1}\nverbosity = -1\n"
        "num_threads = 2\nnum_iterations = {5}\n{2}{3}\n{4}\n",
        folder_.path(), c.queries ? 5 : 4, c.queries ? "label_column = 1\ngroup_column = 0\n" : "",
        own, more, c.rounds);
  }

  // What rank 0 wrote and measured; all ranks must have measured the same. `change` is what each
  // rank's parameters have besides.
  Trained Train(
      int world, const std::string& conf,
      const std::function<void(TreeParameters*)>& change = [](TreeParameters*) {}) {
    Trained trained;
    Mutex mutex;
    RunRanks(world, [&](Group& group) {
      auto parameters = ParseLightGbmConf(conf, "train.conf", {});
      ASSERT_TRUE(parameters.ok()) << parameters.status().ToString();
      change(&*parameters);
      const auto result = RunAs(world == 1 ? nullptr : &group, *parameters);
      const MutexLock lock(mutex);
      if (!result.ok()) {
        group.Cancel(result.status());
        if (group.rank() == 0) trained.status = result.status();
        return;
      }
      if (!trained.evaluations.empty()) ExpectSame(trained.evaluations, result->evaluations);
      trained.evaluations = result->evaluations;
    });
    if (trained.status.ok()) trained.model = ReadWholeFile(folder_.File("model.txt"));
    return trained;
  }

  static void ExpectSame(const std::vector<Evaluation>& a, const std::vector<Evaluation>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].metrics.size(), b[i].metrics.size());
      for (size_t m = 0; m < a[i].metrics.size(); ++m) {
        EXPECT_EQ(a[i].metrics[m].value, b[i].metrics[m].value)
            << a[i].data << " " << a[i].metrics[m].name;
      }
    }
  }

  TempFolder folder_;
};

}  // namespace strata
