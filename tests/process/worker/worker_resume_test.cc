// strata-worker without servers, killed at random moments and started again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "base/random.h"
#include "tests/process/cluster/cluster_fixture.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

std::string ModelBytes(const std::string& folder) {
  std::string bytes;
  for (const char* file : {"manifest", "sparse-1.bin", "dense-1.bin"}) {
    bytes += ReadWholeFile(folder + "/" + file);
  }
  return bytes;
}

// Of the folders of checkpoints, finished or not; 0: there are none.
uint64_t NewestNumber(const std::string& folder) {
  uint64_t newest = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    newest = std::max<uint64_t>(newest, std::stoull(name));
  }
  return newest;
}

TEST(WorkerResume, KilledInTheMiddleOfStepsAndCheckpointsItEndsWithTheVeryModel) {
  TempFolder folder;
  Random random(5);
  TrainOn(0, 1, {"train.epochs=8"}, folder.File("unbroken"));
  ProcessOptions options{.arguments = {"--job=" + AdultJob(), "--json", "train.epochs=8",
                                       "checkpoint.every_steps=8",
                                       "checkpoint.folder=" + folder.File("checkpoints"),
                                       "output.model=" + folder.File("broken")}};
  for (int kill = 0; kill < 3; ++kill) {
    const uint64_t target = NewestNumber(folder.File("checkpoints")) + 2 + random.Below(2);
    Process worker(ProgramPath("strata-worker"), options);
    // A checkpoint's folder is made before its files: it dies while it writes one, or soon after.
    // The one before is whole.
    ASSERT_TRUE(WaitUntil(
        [&] { return NewestNumber(folder.File("checkpoints")) >= target || !worker.Running(); }));
    worker.Signal(SIGKILL);
    const auto end = worker.Wait();
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->signal, SIGKILL) << "it was through before it could be killed";
  }
  const ProcessResult last = RunProcess(ProgramPath("strata-worker"), options);
  ASSERT_EQ(last.end.code, 0) << last.errors;
  EXPECT_GT(LastJson(last.output)["resumed_from"], 0);
  EXPECT_NE(last.errors.find("training goes on from checkpoint"), std::string::npos);
  EXPECT_TRUE(ModelBytes(folder.File("broken")) == ModelBytes(folder.File("unbroken")));
}

// What the message says, done to the letter, leads on.
TEST(WorkerResume, ADamagedCheckpointStopsItAndTheOneBeforeIsTheWayOn) {
  TempFolder folder;
  const std::string root = folder.File("checkpoints");
  const auto train = [&](const std::string& more) {
    return RunProcess(ProgramPath("strata-worker"),
                      {.arguments = {"--job=" + AdultJob(), "--json", "train.epochs=1",
                                     "output.model=", "checkpoint.every_steps=20",
                                     "checkpoint.folder=" + root, more}});
  };
  ASSERT_EQ(train("job.seed=1").end.code, 0);
  const uint64_t newest = NewestNumber(root);
  ASSERT_GE(newest, 2u);
  const std::string name = fmt::format("{:010}", newest);
  const std::string part = root + "/" + name + "/server-0-lane-0.part";
  WriteWholeFile(part, ReadWholeFile(part).substr(0, 200));
  const ProcessResult stopped = train("job.seed=1");
  EXPECT_EQ(stopped.end.code, 1);
  EXPECT_NE(stopped.errors.find(fmt::format(
                "to go on from the one before, move the folder {} out of the folder", name)),
            std::string::npos)
      << stopped.errors;
  std::filesystem::rename(root + "/" + name, folder.File(name));
  const ProcessResult on = train("job.seed=1");
  ASSERT_EQ(on.end.code, 0) << on.errors;
  EXPECT_EQ(LastJson(on.output)["resumed_from"], newest - 1);

  // No manifest can be read: it does not begin anew by itself.
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string manifest = entry.path().string() + "/manifest";
    if (std::filesystem::exists(manifest)) WriteWholeFile(manifest, "x");
  }
  const ProcessResult none = train("job.seed=1");
  EXPECT_EQ(none.end.code, 1) << none.output;
  EXPECT_NE(none.errors.find("this job has no checkpoint that can be read"), std::string::npos)
      << none.errors;
  EXPECT_EQ(none.errors.find("warning"), std::string::npos) << none.errors;
  EXPECT_EQ(train("checkpoint.resume=false").end.code, 0);
}

TEST(WorkerResume, TellsWhyItDoesNotGoOn) {
  TempFolder folder;
  const auto train = [&](const std::string& more) {
    return RunProcess(ProgramPath("strata-worker"),
                      {.arguments = {"--job=" + AdultJob(), "--json", "train.epochs=1",
                                     "output.model=", "checkpoint.every_steps=30",
                                     "checkpoint.folder=" + folder.File("checkpoints"), more}});
  };
  ASSERT_EQ(train("job.seed=3").end.code, 0);
  const ProcessResult other = train("job.seed=4");
  EXPECT_EQ(other.end.code, 2);
  EXPECT_NE(other.errors.find("has 'job.seed = 3', the job now 'job.seed = 4'"), std::string::npos)
      << other.errors;
  const ProcessResult nowhere = train("checkpoint.folder=");
  EXPECT_EQ(nowhere.end.code, 2);
  EXPECT_NE(nowhere.errors.find("checkpoint.folder is empty"), std::string::npos);
  EXPECT_NE(train("checkpoint.every_steps=0").errors.find("checkpoint.folder has no effect"),
            std::string::npos);
  Process holder(ProgramPath("strata-worker"),
                 {.arguments = {"--job=" + AdultJob(), "train.epochs=100000", "job.name=other",
                                "checkpoint.every_steps=100000",
                                "checkpoint.folder=" + folder.File("checkpoints")}});
  ASSERT_TRUE(holder.WaitForErrors(" of step 0: ")) << holder.Errors();
  const ProcessResult held = train("job.seed=3");
  EXPECT_EQ(held.end.code, 4);
  EXPECT_NE(held.errors.find(fmt::format("is held by process {}", holder.pid())), std::string::npos)
      << held.errors;
  WriteWholeFile(folder.File("file"), "x");
  const ProcessResult file = train("checkpoint.folder=" + folder.File("file"));
  EXPECT_NE(file.end.code, 0);
  EXPECT_NE(file.errors.find(folder.File("file")), std::string::npos) << file.errors;
}

}  // namespace
}  // namespace strata
