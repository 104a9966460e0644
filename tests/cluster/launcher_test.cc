// A rank's place from the variables of launchers, as they set them, and from broken ones.
#include "cluster/topology/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/topology/host_pattern.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Environment kSlurmTask = {{"SLURM_PROCID", "3"},
                                {"SLURM_NTASKS", "5"},
                                {"SLURM_STEP_NUM_TASKS", "5"},
                                {"SLURM_NODEID", "1"},
                                {"SLURM_LOCALID", "1"},
                                {"SLURM_JOB_NODELIST", "node[01-03]"},
                                {"SLURM_TASKS_PER_NODE", "2(x3)"},
                                {"SLURM_STEP_NODELIST", "node[01-03]"},
                                {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"}};
const Environment kMpiRank = {
    {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}};

Result<std::optional<LaunchPlace>> Find(const Environment& variables,
                                        Launcher launcher = Launcher::kAuto,
                                        std::string_view pod = "host",
                                        const std::vector<std::string>& named = {}) {
  return FindLaunchPlace(variables, launcher, pod, named);
}

// "SLURM_PROCID 3/5", "JOB_COMPLETION_INDEX 2", "nothing", or the error.
std::string Told(const Result<std::optional<LaunchPlace>>& place) {
  if (!place.ok()) {
    EXPECT_EQ(place.status().code(), StatusCode::kInvalid);
    return place.status().message();
  }
  if (!place->has_value()) return "nothing";
  const LaunchPlace& found = **place;
  return found.source + " " + std::to_string(found.rank) +
         (found.world ? "/" + std::to_string(*found.world) : "");
}

Environment With(Environment variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(ExpandHosts, AllForms) {
  EXPECT_THAT(*ExpandHosts("login", "V"), ElementsAre("login"));
  EXPECT_THAT(*ExpandHosts("node[01-03,07],login1", "V"),
              ElementsAre("node01", "node02", "node03", "node07", "login1"));
  EXPECT_THAT(*ExpandHosts("n[8-10]", "V"), ElementsAre("n8", "n9", "n10"));
  EXPECT_THAT(*ExpandHosts("n[098-101]", "V"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(*ExpandHosts("r[1-2]n[0,5].a", "V"),
              ElementsAre("r1n0.a", "r1n5.a", "r2n0.a", "r2n5.a"));
}

TEST(ExpandHosts, BadOnesNameTheVariable) {
  for (const char* bad : {"", "a,", "a[", "a]", "a[1", "a[[1]]", "a[]", "a[3-1]", "a[1-]", "a[x]",
                          "a[1-70000]", "a[0-4294967295]", "a[1-300]b[1-300]", "a[1-2-3]"}) {
    const auto hosts = ExpandHosts(bad, "SLURM_JOB_NODELIST");
    ASSERT_FALSE(hosts.ok()) << bad;
    EXPECT_EQ(hosts.status().message(), std::string("SLURM_JOB_NODELIST is '") + bad +
                                            "': expected hosts in the form node[01-04,07],login1");
  }
}

TEST(ExpandCounts, GoodAndBad) {
  EXPECT_THAT(*ExpandCounts("2(x3),1", "V"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(*ExpandCounts("16", "V"), ElementsAre(16));
  for (const char* bad : {"", "2,", "2(x3", "2(3)", "x", "-1", "1(x70000)", "1(x65536),1"}) {
    EXPECT_FALSE(ExpandCounts(bad, "V").ok()) << bad;
  }
}

TEST(FindLaunchPlace, EachLauncher) {
  EXPECT_EQ(Told(Find({})), "nothing");
  EXPECT_EQ(Told(Find(kSlurmTask)), "SLURM_PROCID 3/5");
  EXPECT_EQ(Told(Find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}})), "SLURM_PROCID 0/2");
  EXPECT_EQ(Told(Find(kMpiRank)), "OMPI_COMM_WORLD_RANK 1/4");
  EXPECT_EQ(Told(Find({{"PMI_RANK", "7"}, {"PMI_SIZE", "8"}})), "PMI_RANK 7/8");
  EXPECT_EQ(Told(Find({{"PMIX_RANK", "7"}})), "PMIX_RANK 7");
  EXPECT_EQ(Told(Find({{"JOB_COMPLETION_INDEX", "2"}})), "JOB_COMPLETION_INDEX 2");
  EXPECT_EQ(Told(Find(kSlurmTask, Launcher::kNone)), "nothing");
}

TEST(FindLaunchPlace, TorchrunCountsWhereAllFourAreSet) {
  Environment variables = {
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
  for (const Launcher launcher : {Launcher::kAuto, Launcher::kTorchrun}) {
    const auto place = FindLaunchPlace(variables, launcher, "host", {});
    ASSERT_TRUE(place.ok() && place->has_value()) << place.status().ToString();
    EXPECT_EQ((*place)->rank, 1);
    EXPECT_EQ((*place)->world, 4);
  }
  variables.erase("MASTER_PORT");
  EXPECT_FALSE(FindLaunchPlace(variables, Launcher::kAuto, "host", {})->has_value());
  EXPECT_EQ(ParseLauncher("torchrun"), Launcher::kTorchrun);
}

TEST(TorchrunMeeting, IsAtTheMasterOrBesideTheAgent) {
  Environment variables = {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(TorchrunMeeting(variables)->Address(), "n1:29500");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_EQ(TorchrunMeeting(variables)->Address(), "n1:29500");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(TorchrunMeeting(variables)->Address(), "n1:29501");
  variables["MASTER_ADDR"] = "fe80::1";
  EXPECT_EQ(TorchrunMeeting(variables)->Address(), "[fe80::1]:29501");
  variables["MASTER_PORT"] = "65535";
  EXPECT_EQ(TorchrunMeeting(variables).status().code(), StatusCode::kInvalid);
  variables["MASTER_PORT"] = "port";
  EXPECT_EQ(TorchrunMeeting(variables).status().code(), StatusCode::kInvalid);
  variables.erase("MASTER_PORT");
  EXPECT_EQ(TorchrunMeeting(variables).status().code(), StatusCode::kInvalid);
}

TEST(FindLaunchPlace, PodOfAStatefulSet) {
  const Environment pod = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
  const std::vector<std::string> named = {"db", "trainer-0.trainer.default.svc"};
  EXPECT_EQ(Told(Find(pod, Launcher::kAuto, "trainer-12", named)), "the host name trainer-12 12");
  for (const char* other : {"trainer-x", "trainer", "serve-12", "trainer-01", "-1", "trainer-"}) {
    EXPECT_EQ(Told(Find(pod, Launcher::kAuto, other, named)), "nothing") << other;
    EXPECT_THAT(Told(Find(pod, Launcher::kKubernetes, other, named)),
                HasSubstr("--launcher=kubernetes, but JOB_COMPLETION_INDEX is not set, and the"));
  }
  EXPECT_EQ(Told(Find({}, Launcher::kAuto, "trainer-12", named)), "nothing");
  EXPECT_EQ(Told(Find(With(kMpiRank, "KUBERNETES_SERVICE_HOST", "x"), Launcher::kAuto, "trainer-0",
                      named)),
            "OMPI_COMM_WORLD_RANK 1/4");
}

TEST(FindLaunchPlace, TwoLaunchersMustAgree) {
  Environment both = kSlurmTask;
  both.insert(kMpiRank.begin(), kMpiRank.end());
  EXPECT_THAT(Told(Find(both)), HasSubstr("SLURM_PROCID says rank 3 of 5, but OMPI_COMM_WORLD_RANK "
                                          "says rank 1 of 4: say which launcher counts"));
  EXPECT_EQ(Told(Find(both, Launcher::kOpenMpi)), "OMPI_COMM_WORLD_RANK 1/4");
  EXPECT_EQ(Told(Find(With(kSlurmTask, "PMIX_RANK", "3"))), "SLURM_PROCID 3/5");
  EXPECT_THAT(Told(Find(With(kSlurmTask, "PMIX_RANK", "4"))), HasSubstr("PMIX_RANK says rank 4"));
  EXPECT_THAT(Told(Find(With(kSlurmTask, "JOB_COMPLETION_INDEX", "0"))),
              HasSubstr("JOB_COMPLETION_INDEX says rank 0"));
}

TEST(FindLaunchPlace, BrokenVariablesAreNamed) {
  for (const char* bad : {"", "x", "-1", "1x", "99999999999"}) {
    EXPECT_THAT(Told(Find(With(kMpiRank, "OMPI_COMM_WORLD_RANK", bad))),
                HasSubstr(std::string("OMPI_COMM_WORLD_RANK is '") + bad + "': expected a number"));
  }
  EXPECT_THAT(Told(Find(With(kMpiRank, "OMPI_COMM_WORLD_SIZE", "0"))),
              HasSubstr("OMPI_COMM_WORLD_SIZE is '0': expected a number from 1"));
  EXPECT_THAT(Told(Find(With(kMpiRank, "OMPI_COMM_WORLD_RANK", "4"))),
              HasSubstr("expected a rank below OMPI_COMM_WORLD_SIZE, which is 4"));
  EXPECT_THAT(Told(Find({{"SLURM_PROCID", "0"}})), HasSubstr("but SLURM_NTASKS is not"));
  EXPECT_THAT(Told(Find(kMpiRank, Launcher::kSlurm)),
              HasSubstr("--launcher=slurm, but SLURM_PROCID is not set"));
}

TEST(SlurmHosts, NodeByNode) {
  const LaunchPlace place = **Find(kSlurmTask);
  EXPECT_THAT(*SlurmHosts(kSlurmTask, place),
              ElementsAre("node01", "node01", "node02", "node02", "node03"));
  const auto error = [&](const std::string& name, const std::string& value) {
    const auto hosts = SlurmHosts(With(kSlurmTask, name, value), place);
    EXPECT_FALSE(hosts.ok());
    return hosts.status().message();
  };
  EXPECT_THAT(error("SLURM_NODEID", "0"), HasSubstr("expected rank 3 on node 1; deal tasks out"));
  EXPECT_THAT(error("SLURM_DISTRIBUTION", "cyclic"),
              HasSubstr("SLURM_DISTRIBUTION is 'cyclic': expected tasks dealt out node by node"));
  EXPECT_TRUE(SlurmHosts(With(kSlurmTask, "SLURM_DISTRIBUTION", "block:cyclic"), place).ok());
  EXPECT_THAT(error("SLURM_STEP_NODELIST", "node[1"), HasSubstr("SLURM_STEP_NODELIST is 'node[1'"));
  EXPECT_THAT(error("SLURM_STEP_NODELIST", "node[1-2]"),
              HasSubstr("SLURM_STEP_NODELIST names 2 nodes and SLURM_STEP_TASKS_PER_NODE counts 5 "
                        "tasks on 3: expected 5 tasks"));
  EXPECT_THAT(error("SLURM_STEP_TASKS_PER_NODE", "2(x3)"), HasSubstr("counts 6 tasks on 3"));
  EXPECT_THAT(SlurmHosts({}, place).status().message(), HasSubstr("SLURM_JOB_NODELIST is not set"));
}

TEST(WorkersOn, PortsCountWithinAHost) {
  const std::vector<std::string> hosts = {"a", "a", "b", "a"};
  const auto workers = WorkersOn(hosts, 65533);
  ASSERT_TRUE(workers.ok());
  std::vector<std::string> addresses;
  for (const Machine& worker : *workers) addresses.push_back(worker.Address());
  EXPECT_THAT(addresses, ElementsAre("a:65533", "a:65534", "b:65533", "a:65535"));
  EXPECT_EQ(workers->back().rank, 3);
  EXPECT_THAT(WorkersOn(hosts, 65534).status().message(), HasSubstr("a would need port 65536"));
}

}  // namespace
}  // namespace strata
