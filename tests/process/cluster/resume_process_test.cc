// A job that is killed with all its daemons, or one server of it, ends with the very model of the
// unbroken run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <regex>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/format/model_manifest.h"
#include "tests/process/cluster/cluster_fixture.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

constexpr int kServers = 2;
constexpr int kWorkers = 2;
constexpr int kCheckpointsKept = 3;                            // server.checkpoints_kept's default
const std::vector<std::string> kEpochs = {"train.epochs=12"};  // 768 steps

// A saved model without its files' names, which count how often its folder was saved to: a job that
// is killed while it saves does so once more.
struct SavedModel {
  format::ModelManifest manifest;
  std::vector<std::string> files;
  friend bool operator==(const SavedModel&, const SavedModel&) = default;
};

SavedModel ReadModel(const std::string& folder) {
  SavedModel model;
  const std::string path = folder + "/manifest";
  Result<format::ModelManifest> manifest = format::DecodeModelManifest(ReadWholeFile(path), path);
  EXPECT_TRUE(manifest.ok()) << manifest.status().ToString();
  if (!manifest.ok()) return model;
  model.manifest = *std::move(manifest);
  EXPECT_EQ(model.manifest.files.size(), 3U);
  for (format::ModelFile& file : model.manifest.files) {
    model.files.push_back(ReadWholeFile(folder + "/" + file.name));
    EXPECT_GT(model.files.back().size(), 100U) << file.name;
    file.name.clear();
  }
  return model;
}

// How many checkpoints a worker has told of.
size_t CheckpointsOf(const Process& worker) {
  static const std::regex taken(" checkpoint [0-9]+ of step ");
  const std::string errors = worker.Errors();
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(errors.begin(), errors.end(), taken), {}));
}

class ResumeProcess : public ::testing::Test {
 protected:
  ResumeProcess() : cluster_(kServers, kWorkers) {
    cluster_.KeepData();
    cluster_.StartServers();
    TrainOn(kServers, kWorkers, kEpochs, folder_.File("unbroken"));
  }

  void StartWorkers() {
    std::vector<std::string> overrides = kEpochs;
    overrides.insert(overrides.end(),
                     {"checkpoint.every_steps=16", "output.model=" + folder_.File("broken")});
    cluster_.StartWorkers(overrides);
  }

  // Waits until this life of the job has taken so many checkpoints.
  void WaitForCheckpoints(size_t count) {
    ASSERT_TRUE(WaitUntil([&] {
      return CheckpointsOf(cluster_.worker(0)) >= count || !cluster_.worker(0).Running();
    }));
    ASSERT_TRUE(cluster_.worker(0).Running()) << cluster_.worker(0).Errors();
  }

  nlohmann::json WaitForWorkers() {
    for (int rank = 0; rank < kWorkers; ++rank) {
      const auto end = cluster_.worker(rank).Wait(120 * kSecond);
      EXPECT_TRUE(end.has_value() && end->code == 0)
          << "worker " << rank << ": " << cluster_.worker(rank).Errors();
    }
    return LastJson(cluster_.worker(0).Output());
  }

  void KillAll(bool servers_first) {
    for (const bool servers : {servers_first, !servers_first}) {
      for (int rank = 0; rank < (servers ? kServers : kWorkers); ++rank) {
        Process& process = servers ? cluster_.server(rank) : cluster_.worker(rank);
        process.Signal(SIGKILL);
        ASSERT_TRUE(process.Wait().has_value());
      }
    }
  }

  ClusterFixture cluster_;
  TempFolder folder_;
};

TEST_F(ResumeProcess, KilledThreeTimesWithAllDaemonsItEndsWithTheVeryModel) {
  Random random(3);
  for (int kill = 0; kill < 3; ++kill) {
    StartWorkers();
    WaitForCheckpoints(1 + random.Below(3));
    KillAll(random.Below(2) == 0);
    cluster_.StartServers();
    for (int by_hand = 0; by_hand < kCheckpointsKept; ++by_hand) {
      ASSERT_EQ(cluster_.Admin({"checkpoint"}).end.code, 0);
    }
  }
  StartWorkers();
  const nlohmann::json last = WaitForWorkers();
  EXPECT_GT(last["resumed_from"], 0) << last.dump();
  EXPECT_EQ(last["steps"], 768);
  EXPECT_LT(last["samples"], 12 * 32561);
  EXPECT_TRUE(ReadModel(folder_.File("broken")) == ReadModel(folder_.File("unbroken")));
  const ProcessResult verified = cluster_.Admin({"verify", cluster_.folder().File("checkpoints")});
  EXPECT_EQ(verified.end.code, 0) << verified.output << verified.errors;
}

// Another job's table is on the servers, and its checkpoints are newer than all that this one took.
TEST_F(ResumeProcess, AJobGoesOnWhileAnothersTableStays) {
  StartWorkers();
  WaitForCheckpoints(2);
  KillAll(false);
  cluster_.StartServers();
  ASSERT_EQ(cluster_.Admin({"table", "create", "other", "--dim=1"}).end.code, 0);
  ASSERT_EQ(cluster_.Admin({"put", "other", "7", "0.5"}).end.code, 0);
  StartWorkers();
  const nlohmann::json last = WaitForWorkers();
  EXPECT_GT(last["resumed_from"], 0) << last.dump();
  EXPECT_TRUE(ReadModel(folder_.File("broken")) == ReadModel(folder_.File("unbroken")));
  EXPECT_EQ(cluster_.Admin({"get", "other", "7"}).output.substr(0, 3), "key");
  EXPECT_NE(cluster_.Admin({"get", "other", "7"}).output.find("0.5"), std::string::npos);
}

TEST_F(ResumeProcess, AServerThatComesBackIsNotNoticedInTheModel) {
  StartWorkers();
  for (int kill = 0; kill < 2; ++kill) {
    WaitForCheckpoints(kill == 0 ? 1 : 3);
    cluster_.server(kill).Signal(SIGKILL);
    ASSERT_TRUE(cluster_.server(kill).Wait().has_value());
    cluster_.StartServer(kill);
  }
  const nlohmann::json last = WaitForWorkers();
  EXPECT_FALSE(last.contains("resumed_from"));
  EXPECT_TRUE(ReadModel(folder_.File("broken")) == ReadModel(folder_.File("unbroken")));
}

}  // namespace
}  // namespace strata
