// cluster.toml: defaults, every key, paths, bad files; and `config check` over whole clusters.
#include "cluster/cluster_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "cluster/config_check.h"
#include "cluster/names/own_rank.h"
#include "cluster/names/resolve.h"
#include "tests/cluster/certificates.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClusterConfigTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, std::string_view text) {
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos) {
      ASSERT_TRUE(disk_.MakeFolder(path.substr(0, slash)).ok());
    }
    const Status status = WriteFileAtomically(disk_, path, text);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  Result<ClusterConfig> Load(std::string_view toml, const std::string& file = "c/cluster.toml") {
    Settings settings(ClusterSettingsTable());
    STRATA_TRY(settings.LoadToml(toml, file));
    return MakeClusterConfig(settings, disk_);
  }

  std::vector<std::string> Check(std::string_view toml) {
    Write("c/cluster.toml", toml);
    return CheckClusterConfig("c/cluster.toml", disk_, 5 * kSecond).problems;
  }

  SimDisk disk_;
};

TEST_F(ClusterConfigTest, DefaultsAreOneServerOnLoopback) {
  const auto config = Load("");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->name, "strata");
  EXPECT_EQ(config->cluster_id(), Hash64("strata"));
  EXPECT_TRUE(config->machines.machines.empty());
  EXPECT_EQ(config->server_host, "127.0.0.1");
  EXPECT_EQ(config->server_port, 7600);
  EXPECT_FALSE(config->rank.has_value());
  EXPECT_FALSE(config->port.has_value());
  EXPECT_FALSE(config->worker_port.has_value());
  EXPECT_FALSE(config->insecure);
  EXPECT_EQ(config->queue_bytes_max, 256u << 20);
  EXPECT_EQ(config->peer_lost_after, 10 * kSecond);
  EXPECT_EQ(config->choices.rules(), ChoiceTable().rules());
  EXPECT_TRUE(config->shared_memory);
}

TEST_F(ClusterConfigTest, ReadsEveryKeyAndPathsBesideTheFile) {
  Write("c/lists/machines.txt", "127.0.0.1:7700 worker\n");
  Write("c/secret", "  a secret of 22 bytes \n\n");
  Write("c/machine.tune", "# measured\nbroadcast * * binomial\nallreduce 8 * doubling\n");
  const auto config = Load(R"([cluster]
name = "prod"
machines = "lists/machines.txt"
secret_file = "secret"
insecure = true
[server]
host = "127.0.0.2"
port = 7700
lanes = 4
memory = "1GiB"
queue_memory = "64MiB"
[worker]
port = 7701
[collective]
choices = "machine.tune"
algorithms = "broadcast=pipelined"
shared_memory = false
[http]
host = "127.0.0.3"
port = -1
[timeouts]
request = "7s"
server_lost = "2s"
peer_lost = "4s"
connect = "11s"
collective = "1min"
shutdown = "3s"
[log]
level = "debug"
file = "x.log"
)");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->name, "prod");
  EXPECT_EQ(config->machines.machines.size(), 1u);
  EXPECT_EQ(config->machines.file, "c/lists/machines.txt");
  EXPECT_EQ(config->secret, "  a secret of 22 bytes");
  EXPECT_TRUE(config->insecure);
  EXPECT_EQ(config->server_host, "127.0.0.2");
  EXPECT_EQ(config->server_port, 7700);
  EXPECT_EQ(config->port, 7700);
  EXPECT_EQ(config->worker_port, 7701);
  EXPECT_EQ(config->lanes, 4);
  EXPECT_EQ(config->memory_bytes_max, 1u << 30);
  EXPECT_EQ(config->queue_bytes_max, 64u << 20);
  EXPECT_EQ(config->choices.Choose(Collective::kAllreduce, 4, 1), Algorithm::kDoubling);
  EXPECT_EQ(config->choices.Explain(Collective::kAllreduce, 4, 1).reason,
            "c/machine.tune table, rule 2: ranks up to 8, bytes up to *");
  EXPECT_EQ(config->choices.Choose(Collective::kBroadcast, 4, 1), Algorithm::kPipelined);
  EXPECT_FALSE(config->shared_memory);
  EXPECT_EQ(config->http_host, "127.0.0.3");
  EXPECT_EQ(config->http_port, -1);
  EXPECT_EQ(config->request_timeout, 7 * kSecond);
  EXPECT_EQ(config->server_lost_after, 2 * kSecond);
  EXPECT_EQ(config->peer_lost_after, 4 * kSecond);
  EXPECT_EQ(config->connect_timeout, 11 * kSecond);
  EXPECT_EQ(config->collective_timeout, 60 * kSecond);
  EXPECT_EQ(config->shutdown_timeout, 3 * kSecond);
  EXPECT_EQ(config->log_level, "debug");
  EXPECT_EQ(config->log_file, "x.log");
}

TEST_F(ClusterConfigTest, FlagsOverrideAndTheirPathsAreTheWorkingFolders) {
  Write("list", "127.0.0.1:7700 worker\n127.0.0.1:7701 worker\n");
  Settings settings(ClusterSettingsTable());
  ASSERT_TRUE(settings.LoadToml("[cluster]\nmachines = \"missing\"\n", "c/cluster.toml").ok());
  ASSERT_TRUE(settings.Set("cluster.machines", "list", "--machines").ok());
  ASSERT_TRUE(settings.Set("rank", "1", "--rank").ok());
  ASSERT_TRUE(settings.Set("collective.algorithms", "allreduce=ring", "--algorithms").ok());
  ASSERT_TRUE(settings.Set("collective.shared_memory", "false", "--shared_memory").ok());
  const auto config = MakeClusterConfig(settings, disk_);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->machines.machines.size(), 2u);
  EXPECT_EQ(config->rank, 1);
  EXPECT_EQ(config->choices.Explain(Collective::kAllreduce, 4, 1).reason, "--algorithms says so");
  EXPECT_FALSE(config->shared_memory);
}

TEST_F(ClusterConfigTest, ErrorsNameTheLineThatIsToBlame) {
  const auto error = [&](std::string_view toml) {
    const auto config = Load(toml);
    EXPECT_FALSE(config.ok()) << toml;
    EXPECT_EQ(config.status().code(), StatusCode::kInvalid);
    return config.status().message();
  };
  EXPECT_THAT(error("[cluster]\nmachines = \"none.txt\"\n"),
              HasSubstr("c/cluster.toml:2:1: cannot read the machine list"));
  EXPECT_THAT(error("[cluster]\nsecret_file = \"none\"\n"),
              HasSubstr("c/cluster.toml:2:1: cannot read the secret"));
  Write("c/empty", " \n");
  EXPECT_THAT(error("[cluster]\nsecret_file = \"empty\"\n"), HasSubstr("c/empty is empty"));
  Write("c/short", "fifteen letters\n");
  EXPECT_THAT(error("[cluster]\nsecret_file = \"short\"\n"),
              HasSubstr("c/cluster.toml:2:1: c/short holds a secret of 15 bytes; expected at least "
                        "16"));
  Write("c/marked", "\xef\xbb\xbfs3cret\n");
  EXPECT_THAT(error("[cluster]\nsecret_file = \"marked\"\n"),
              HasSubstr("c/marked begins with a byte order mark"));
  EXPECT_THAT(error("[cluster]\nname = \"\"\n"), HasSubstr("c/cluster.toml:2"));
  Write("c/bad.txt", "127.0.0.1:7700 servr\n");
  EXPECT_THAT(error("[cluster]\nmachines = \"bad.txt\"\n"),
              HasSubstr("c/bad.txt:1:16: unknown role 'servr'"));
  EXPECT_THAT(error("[cluster]\nmachine = \"x\"\n"), HasSubstr("machines"));
  EXPECT_THAT(error("[timeouts]\npeer_lost = \"1s\"\n"), HasSubstr("peer_lost"));
  EXPECT_THAT(error("[server]\nlanes = 0\n"), HasSubstr("lanes"));
}

TEST(SecretFile, OneThatOthersCanReadIsRefusedAndConfigCheckSaysSo) {
  const TempFolder folder;
  const std::string secret = folder.File("secret");
  const std::string file = folder.File("cluster.toml");
  WriteWholeFile(secret, "a secret of 22 bytes..\n");
  WriteWholeFile(file, "[cluster]\nsecret_file = \"secret\"\n");
  for (const mode_t open : {0604, 0644, 0602}) {
    ASSERT_EQ(chmod(secret.c_str(), open), 0);
    EXPECT_THAT(CheckClusterConfig(file, RealDisk(), 5 * kSecond).problems,
                ElementsAre(HasSubstr("cluster.toml:2:1: cannot read the secret: " + secret +
                                      " is open to other users of this machine")));
  }
  for (const mode_t closed : {0600, 0400, 0640}) {
    ASSERT_EQ(chmod(secret.c_str(), closed), 0);
    EXPECT_THAT(CheckClusterConfig(file, RealDisk(), 5 * kSecond).problems, IsEmpty());
  }
}

TEST_F(ClusterConfigTest, ServersForAListOfWorkersAlone) {
  Write("c/hosts", "localhost slots=2\n");
  const auto config = Load(
      "[cluster]\nmachines = \"hosts\"\nservers = \"127.0.0.1:7600,[::1]:7601\"\n[worker]\nport = "
      "7700\n");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const std::vector<Machine> servers = config->machines.Of(Role::kServer);
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[1].Address(), "[::1]:7601");
  EXPECT_EQ(servers[1].rank, 1);
  const std::vector<Machine> workers = config->machines.Of(Role::kWorker);
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[1].Address(), "localhost:7701");

  const auto alone = Load("[cluster]\nservers = \"127.0.0.1:7600\"\n");
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  EXPECT_EQ(alone->machines.Of(Role::kServer).size(), 1U);

  Write("c/both", "127.0.0.1:7600 server\n");
  EXPECT_THAT(
      Load("[cluster]\nmachines = \"both\"\nservers = \"127.0.0.1:7601\"\n").status().message(),
      HasSubstr("c/cluster.toml:3:1: cluster.servers is for a machine list without servers, but "
                "c/both lists some"));
  EXPECT_THAT(Load("[cluster]\nservers = \"127.0.0.1\"\n").status().message(),
              HasSubstr("c/cluster.toml:2:1: cluster.servers"));
}

TEST_F(ClusterConfigTest, RankNeedsAList) {
  Settings settings(ClusterSettingsTable());
  ASSERT_TRUE(settings.Set("rank", "0", "--rank").ok());
  const Result<ClusterConfig> unlisted = MakeClusterConfig(settings, disk_);
  ASSERT_TRUE(unlisted.ok());
  EXPECT_EQ(
      CheckRankHasList(*unlisted, "a, b, ").message(),
      "--rank needs a machine list: set a, b, cluster.machines, or --machines, or name worker "
      "0 by --rendezvous");
  ASSERT_TRUE(settings.Set("worker.rendezvous", "127.0.0.1:7700", "--rendezvous").ok());
  ASSERT_TRUE(settings.Set("worker.world", "2", "--world").ok());
  const Result<ClusterConfig> meeting = MakeClusterConfig(settings, disk_);
  ASSERT_TRUE(meeting.ok());
  EXPECT_TRUE(CheckRankHasList(*meeting).ok());
}

TEST_F(ClusterConfigTest, CheckFindsNothingInAGoodCluster) {
  Write("c/machines.txt", "127.0.0.1:7600 server lanes=2\n[::1]:7700 worker\n");
  EXPECT_THAT(Check("[cluster]\nmachines = \"machines.txt\"\n"), IsEmpty());
}

TEST_F(ClusterConfigTest, FilesMayBeginWithAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  Write("c/machines.txt", mark + "127.0.0.1:7600 server lanes=2\n");
  EXPECT_THAT(Check(mark + "[cluster]\nmachines = \"machines.txt\"\n"), IsEmpty());
}

TEST_F(ClusterConfigTest, CheckReportsEverythingAtOnce) {
  Write("c/machines.txt",
        "127.0.0.1:7600 server lanes=1024\n"
        "  no-such-host.invalid:7600 server\n"
        "192.0.2.1:7700 worker\n"
        "192.0.2.1:7600 server\n");
  EXPECT_THAT(
      Check("[cluster]\nmachines = \"machines.txt\"\n"),
      ElementsAre(HasSubstr("c/machines.txt:2:3: cannot resolve 'no-such-host.invalid'"),
                  HasSubstr("c/machines.txt:2:3: the servers up to here have more than 1024 lanes"),
                  HasSubstr("c/machines.txt:3:1: the worker 192.0.2.1:7700 would listen beyond"),
                  HasSubstr("c/machines.txt:4:1: the server 192.0.2.1:7600 would listen beyond")));
}

TEST_F(ClusterConfigTest, CheckSeesTwoNamesForOneAddress) {
  Write("c/machines.txt", "127.0.0.1:7700 worker\nlocalhost:7700 worker\n");
  EXPECT_THAT(Check("[cluster]\nmachines = \"machines.txt\"\n"),
              Contains(HasSubstr("c/machines.txt:2:1: localhost:7700 is 127.0.0.1 port 7700, as is "
                                 "line 1")));
}

TEST_F(ClusterConfigTest, CheckReportsAllErrorsOfAFile) {
  EXPECT_THAT(Check("[cluster]\nnam = \"x\"\n[server]\nlanes = \"two\"\n"),
              ElementsAre(HasSubstr("c/cluster.toml:2:1: "), HasSubstr("c/cluster.toml:4:1: ")));
  Write("c/machines.txt", "127.0.0.1:7700 servr\n127.0.0.1:x worker\n");
  EXPECT_THAT(Check("[cluster]\nmachines = \"machines.txt\"\nsecret_file = \"none\"\n"),
              ElementsAre(HasSubstr("c/machines.txt:1:16: unknown role"),
                          HasSubstr("c/machines.txt:2:11: bad port 'x'"),
                          HasSubstr("c/cluster.toml:3:1: cannot read the secret")));
  Write("c/machine.tune", "allreduce 8 * ring\nallreduce 8 many ring\nallsum * * ring\n");
  EXPECT_THAT(
      Check("[cluster]\nsecret_file = \"none\"\n[collective]\nchoices = \"machine.tune\"\n"),
      ElementsAre(HasSubstr("c/cluster.toml:2:1: cannot read the secret"),
                  HasSubstr("c/machine.tune:2: bytes: expected a number or *"),
                  HasSubstr("c/machine.tune:3: unknown operation 'allsum'")));
  EXPECT_THAT(Check("[collective]\nchoices = \"none\"\n"),
              ElementsAre(HasSubstr("c/cluster.toml:2:1: cannot read the table of choices")));
  EXPECT_THAT(Check("[collective]\nalgorithms = \"allreduce=bruck\"\n"),
              ElementsAre(HasSubstr("c/cluster.toml:2:1: no algorithm 'bruck' of allreduce")));
}

TEST_F(ClusterConfigTest, CheckGoesOnToTheMachineListOfAFileWithErrors) {
  const std::string toml =
      "[cluster]\nmachines = \"machines.txt\"\ninsecur = true\n[server]\nlanes = 0\n";
  Write("c/machines.txt", "127.0.0.1:7700 servr\n");
  EXPECT_THAT(Check(toml), ElementsAre(HasSubstr("c/cluster.toml:3:1: unknown key"),
                                       HasSubstr("c/cluster.toml:5:1: server.lanes must be"),
                                       HasSubstr("c/machines.txt:1:16: unknown role")));
  // Whether 192.0.2.1 would be refused depends on the key that was not understood.
  Write("c/machines.txt", "192.0.2.1:7600 server\n127.0.0.1:7700 worker\nlocalhost:7700 worker\n");
  EXPECT_THAT(Check(toml),
              ElementsAre(HasSubstr("c/cluster.toml:3:1"), HasSubstr("cluster.toml:5:1"),
                          HasSubstr("c/machines.txt:3:1: localhost:7700 is")));
}

// In the words of a server that does not start.
TEST_F(ClusterConfigTest, CheckSaysWhatAServerWouldRefuse) {
  const std::string cold = "[server]\ncold = true\nmemory = \"8MiB\"\nlog_bytes_max = \"40KiB\"\n";
  const auto memory = HasSubstr("expected at least 16 MiB, found 8388608 bytes");
  EXPECT_THAT(
      Check(cold + "lanes = 3\n"),
      ElementsAre(HasSubstr("c/cluster.toml:2:1: server.cold needs server.data (--data)"), memory,
                  HasSubstr("c/cluster.toml:4:1: server.log_bytes_max has no effect without"),
                  HasSubstr("16 KiB for each lane, 49152 bytes for 3 lanes; found 40960")));
  EXPECT_THAT(Check("[server]\ncold = true\nmemory = \"16MiB\"\ndata = \"d\"\nlanes = 2\n"
                    "log_bytes_max = \"32KiB\"\n"),
              IsEmpty());
  // Each server of several is given its folder by a flag.
  Write("c/machines.txt", "127.0.0.1:7600 server lanes=2\n127.0.0.1:7601 server lanes=3\n");
  EXPECT_THAT(Check(cold + "[cluster]\nmachines = \"machines.txt\"\n"),
              ElementsAre(memory, HasSubstr("for 3 lanes")));
}

TEST_F(ClusterConfigTest, WhatWouldHaveNoEffectIsRefused) {
  Write("c/machines.txt", "127.0.0.1:7600 server lanes=2\n");
  const std::string list = "[cluster]\nmachines = \"machines.txt\"\n[server]\n";
  EXPECT_THAT(Check(list + "lanes = 2\n"), IsEmpty());
  EXPECT_THAT(Check(list + "lanes = 1\n"),
              ElementsAre(HasSubstr("c/cluster.toml:4:1: server.lanes has no effect with a machine "
                                    "list (")));
  const std::string cold =
      "[server]\ncold_bytes_max = 1\ncold_keep = \"lfu\"\nadmit_from = 2\nttl_steps = 9\n";
  EXPECT_THAT(Check(cold),
              ElementsAre(HasSubstr("c/cluster.toml:2:1: server.cold_bytes_max has no"),
                          HasSubstr("c/cluster.toml:3:1: server.cold_keep has no"),
                          HasSubstr("c/cluster.toml:4:1: server.admit_from has no"),
                          HasSubstr("c/cluster.toml:5:1: server.ttl_steps has no")));
  EXPECT_THAT(Check(cold + "cold = true\nmemory = \"16MiB\"\ndata = \"d\"\n"), IsEmpty());
  const std::string on_gpus = "[server]\ndevice = \"cuda\"\ncold_keep = \"lfu\"\n";
  EXPECT_THAT(Check(on_gpus + "memory = \"16MiB\"\n"), IsEmpty());
  EXPECT_THAT(Check(on_gpus + "memory = \"16MiB\"\ndata = \"d\"\ncold = true\nadmit_from = 2\n"
                              "ttl_steps = 9\n"),
              IsEmpty());
  EXPECT_THAT(Check(on_gpus + "memory = \"16MiB\"\nttl_steps = 9\n"),
              ElementsAre(HasSubstr("server.ttl_steps has no effect without server.cold")));
  EXPECT_THAT(Check("[server]\ndevice = \"auto\"\ngpu_memory = \"1MiB\"\n"),
              ElementsAre(HasSubstr("at least 32 MiB, found 1048576 bytes")));
  const std::string kept = "[server]\ncheckpoints_kept = 9\n";
  const auto no_checkpoints =
      HasSubstr("c/cluster.toml:2:1: server.checkpoints_kept has no effect");
  EXPECT_THAT(Check(kept), ElementsAre(no_checkpoints));
  EXPECT_THAT(Check(kept + "data = \"d\"\n"), IsEmpty());
  EXPECT_THAT(Check(kept + "checkpoints = \"c\"\n"), IsEmpty());
  Write("c/machines.txt", "127.0.0.1:7600 server\n127.0.0.1:7601 server\n");
  const std::string several = "[cluster]\nmachines = \"machines.txt\"\n";
  EXPECT_THAT(Check(kept + several), ElementsAre(no_checkpoints));
  EXPECT_THAT(Check(kept + "checkpoints = \"c\"\n" + several), IsEmpty());
}

TEST_F(ClusterConfigTest, TlsIsSetWholeOrNotAtAll) {
  EXPECT_TRUE(Load("").value().tls.empty());
  const auto config =
      Load("[tls]\ncertificate = \"me.pem\"\nkey = \"/k/me.key\"\nca = \"ca.pem\"\n");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->tls.certificate, "c/me.pem");
  EXPECT_EQ(config->tls.key, "/k/me.key");
  EXPECT_EQ(config->tls.ca, "c/ca.pem");
  const auto error = [this](std::string_view toml) { return Load(toml).status().message(); };
  EXPECT_THAT(
      error("[tls]\ncertificate = \"me.pem\"\nca = \"ca.pem\"\n"),
      HasSubstr("c/cluster.toml:2:1: tls.key is missing: tls.certificate, tls.key and tls.ca "
                "are to be set together"));
  EXPECT_THAT(error("[tls]\nkey = \"me.key\"\n"),
              HasSubstr("c/cluster.toml:2:1: tls.certificate and tls.ca are missing"));
}

TEST_F(ClusterConfigTest, CheckLoadsTheFilesOfTls) {
  const TempFolder folder;
  const TlsFiles files = CertificateAuthority(folder, "ca").Issue("member");
  Write("c/machines.txt", "192.0.2.1:7700 worker\n192.0.2.1:7600 server\n");
  const std::string toml =
      "[cluster]\nmachines = \"machines.txt\"\n[tls]\ncertificate = \"me.pem\"\nkey = \"me.key\"\n"
      "ca = \"ca.pem\"\n";
  const auto server = HasSubstr(
      "insecure = true under [cluster] on a network you trust ([tls] is "
      "for workers alone)");
  EXPECT_THAT(Check(toml),
              ElementsAre(HasSubstr("c/cluster.toml:4:1: cannot read the certificate"), server));
  Write("c/me.pem", ReadWholeFile(files.certificate));
  Write("c/me.key", ReadWholeFile(files.key));
  Write("c/ca.pem", ReadWholeFile(files.ca));
  EXPECT_THAT(Check(toml), ElementsAre(server));
  Write("c/ca.pem", "no certificate");
  EXPECT_THAT(Check(toml),
              ElementsAre(HasSubstr("c/cluster.toml:4:1: c/ca.pem: there is no"), server));
}

TEST_F(ClusterConfigTest, CheckOfAMissingFile) {
  EXPECT_THAT(CheckClusterConfig("none.toml", disk_, kSecond).problems,
              ElementsAre(HasSubstr("none.toml")));
}

TEST(ResolveHost, NumericNamesAndFailures) {
  EXPECT_THAT(*ResolveHost("127.0.0.1", kSecond), ElementsAre("127.0.0.1"));
  EXPECT_THAT(*ResolveHost("::1", kSecond), ElementsAre("::1"));
  EXPECT_THAT(*ResolveHost("localhost", 10 * kSecond), Contains("127.0.0.1"));
  const auto unknown = ResolveHost("no-such-host.invalid", 10 * kSecond);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(), HasSubstr("cannot resolve 'no-such-host.invalid'"));
}

TEST(IsLoopback, Addresses) {
  for (const char* address : {"127.0.0.1", "127.8.9.1", "::1"}) EXPECT_TRUE(IsLoopback(address));
  for (const char* address : {"0.0.0.0", "10.0.0.1", "::", "fe80::1", "name"}) {
    EXPECT_FALSE(IsLoopback(address));
  }
}

TEST(DetectOwnRank, ByLoopbackAddressAndPort) {
  const auto list = ParseMachineList("192.0.2.7:7700 worker\n127.0.0.1:7700 worker\n", "m.txt");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(*DetectOwnRank(*list, Role::kWorker, {}, {}, kSecond), 1);
  EXPECT_EQ(*DetectOwnRank(*list, Role::kWorker, 0, {}, kSecond), 0);
  const auto none = DetectOwnRank(*list, Role::kWorker, {}, uint16_t{1}, kSecond);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("whose addresses are"));
  EXPECT_THAT(none.status().message(), HasSubstr("127.0.0.1"));
}

}  // namespace
}  // namespace strata
