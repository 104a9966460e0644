// The machine list, flags and a launcher's variables together.
#include "cluster/names/worker_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata {
namespace {

using ::testing::HasSubstr;

MachineList List(std::string_view text) {
  auto list = ParseMachineList(text, "machines.txt");
  EXPECT_TRUE(list.ok()) << list.status().ToString();
  return *list;
}

PlaceClues Clues(Environment variables) {
  PlaceClues clues;
  clues.variables = std::move(variables);
  clues.pod = "host";
  clues.timeout = kSecond;
  return clues;
}

const char* const kTwo = "127.0.0.1:7600 server\n127.0.0.1:7700 worker\n127.0.0.1:7701 worker\n";
const Environment kSlurm = {{"SLURM_PROCID", "2"},
                            {"SLURM_NTASKS", "3"},
                            {"SLURM_JOB_NODELIST", "n[1-2]"},
                            {"SLURM_TASKS_PER_NODE", "2,1"}};

TEST(FindWorkerPlace, ExplicitRankThenLauncherThenAddress) {
  PlaceClues clues = Clues({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(FindWorkerPlace(List(kTwo), clues)->rank, 1);
  clues.rank = 0;
  EXPECT_EQ(FindWorkerPlace(List(kTwo), clues)->rank, 0);
  clues.rank = {};
  clues.port = 7700;
  clues.launcher = Launcher::kNone;
  EXPECT_EQ(FindWorkerPlace(List(kTwo), clues)->rank, 0);
}

TEST(FindWorkerPlace, LauncherAndListMustAgree) {
  const auto of_four = FindWorkerPlace(
      List(kTwo), Clues({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_EQ(of_four.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(of_four.status().message(),
              HasSubstr("OMPI_COMM_WORLD_RANK says rank 1 of 4, but machines.txt lists 2 workers"));
  EXPECT_THAT(
      FindWorkerPlace(List(kTwo), Clues({{"JOB_COMPLETION_INDEX", "2"}})).status().message(),
      HasSubstr("JOB_COMPLETION_INDEX says rank 2, but machines.txt lists 2 workers"));
}

TEST(FindWorkerPlace, SlurmMakesTheList) {
  PlaceClues clues = Clues(kSlurm);
  const MachineList servers = List("127.0.0.1:7600 server\n");
  EXPECT_THAT(FindWorkerPlace(servers, clues).status().message(),
              HasSubstr("SLURM_PROCID says rank 2 of 3, but machines.txt lists no worker"));
  clues.port = 7700;
  const auto place = FindWorkerPlace(servers, clues);
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  EXPECT_EQ(place->rank, 2);
  ASSERT_EQ(place->workers.size(), 3u);
  EXPECT_EQ(place->workers[1].Address(), "n1:7701");
  EXPECT_EQ(place->workers[2].Address(), "n2:7700");
}

TEST(FindWorkerPlace, AtAMeetingTheLauncherOrFlagsSayAll) {
  const MachineList servers = List("127.0.0.1:7600 server\n");
  PlaceClues clues = Clues(kSlurm);
  clues.meeting = Machine{.host = "n1", .port = 7700};
  EXPECT_EQ(FindWorkerPlace(servers, clues)->world, 3);
  EXPECT_EQ(FindWorkerPlace(servers, clues)->rank, 2);
  clues.rank = 1;
  clues.world = 2;
  EXPECT_EQ(FindWorkerPlace(servers, clues)->rank, 1);
  clues.rank = 2;
  EXPECT_THAT(FindWorkerPlace(servers, clues).status().message(), HasSubstr("rank 2 of 2"));
  clues.variables.clear();
  clues.world = 0;
  EXPECT_THAT(FindWorkerPlace(servers, clues).status().message(), HasSubstr("worker.world"));
  clues.rank = {};
  EXPECT_THAT(FindWorkerPlace(servers, clues).status().message(), HasSubstr("--rank"));
}

TEST(FindWorkerPlace, TorchrunSaysRankWorldAndMeeting) {
  const MachineList servers = List("127.0.0.1:7600 server\n");
  PlaceClues clues = Clues(
      {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}});
  const auto place = FindWorkerPlace(servers, clues);
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->world, 3);
  ASSERT_TRUE(place->meeting.has_value());
  EXPECT_EQ(place->meeting->Address(), "127.0.0.1:29500");
  // What the settings say counts more.
  clues.meeting = List("127.0.0.1:7700 worker\n").machines[0];
  EXPECT_EQ(FindWorkerPlace(servers, clues)->meeting->Address(), "127.0.0.1:7700");
  clues.meeting.reset();
  clues.launcher = Launcher::kNone;
  EXPECT_EQ(FindWorkerPlace(servers, clues)->world, 1);
}

TEST(FindWorkerPlace, AtAMeetingLauncherAndWorldMustAgree) {
  PlaceClues clues = Clues(kSlurm);
  clues.meeting = Machine{.host = "n1", .port = 7700};
  clues.world = 4;
  EXPECT_THAT(FindWorkerPlace({}, clues).status().message(),
              HasSubstr("SLURM_PROCID says rank 2 of 3, but worker.world says that 4 meet"));
  clues.launcher = Launcher::kNone;
  clues.rank = 3;
  EXPECT_EQ(FindWorkerPlace({}, clues)->rank, 3);
}

TEST(FindWorkerPlace, AtAMeetingPodsOfOneSetHaveTheirOrdinals) {
  PlaceClues clues = Clues({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}});
  clues.pod = "trainer-1";
  clues.world = 2;
  clues.meeting = Machine{.host = "trainer-0.trainer", .port = 7700};
  const auto place = FindWorkerPlace({}, clues);
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  EXPECT_EQ(place->rank, 1);
  clues.meeting->host = "other-0.other";
  EXPECT_FALSE(FindWorkerPlace({}, clues).ok());
}

TEST(FindWorkerPlace, AloneWithoutWorkers) {
  const auto place = FindWorkerPlace(List("127.0.0.1:7600 server\n"), Clues({}));
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->rank, 0);
  EXPECT_TRUE(place->workers.empty());
}

TEST(ProcessEnvironment, HoldsWhatIsSet) {
  ASSERT_EQ(setenv("STRATA_TEST_VARIABLE", "a=b", 1), 0);
  EXPECT_EQ(ProcessEnvironment()["STRATA_TEST_VARIABLE"], "a=b");
  EXPECT_EQ(PodName().find('.'), std::string::npos);
}

}  // namespace
}  // namespace strata
