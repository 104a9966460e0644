// What people get wrong, given to the real programs: each must end by itself, with the exit code
// that its kind of mistake has, and a message that names the mistake.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/process/cluster/cluster_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

constexpr const char* kRow =
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, ";

struct Case {
  const char* name;
  const char* program;
  std::vector<std::string> arguments;  // {} stands for the folder
  int code;
  std::vector<std::string> expected;  // each must stand in what it wrote to stderr
};

std::string Resolve(std::string text, const std::string& folder) {
  for (size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) {
    text.replace(at, 2, folder);
  }
  return text;
}

// The adult job, with what is before `from` kept and `from` replaced.
std::string JobWith(const std::string& from, const std::string& to) {
  std::string job = ReadWholeFile(AdultJob());
  const size_t at = job.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return job.replace(at, from.size(), to);
}

void WriteInputs(const TempFolder& folder) {
  const auto write = [&](const char* name, const std::string& text) {
    WriteWholeFile(folder.File(name), text);
  };
  write("typo.toml", JobWith("batch_size", "batchsize"));
  write("type.toml", JobWith("epochs = ", "epochs = true #"));
  write("range.toml", JobWith("epochs = ", "epochs = -3 #"));
  write("syntax.toml", "[job\nname = 3\n");
  write("unused.toml", JobWith("ignore = [\"fnlwgt\"]", "ignore = []"));
  write("column.toml", JobWith("\"education-num\", \"hours-per-week\"]\ntransforms",
                               "\"educaton-num\", \"hours-per-week\"]\ntransforms"));
  write("empty.csv", "");
  std::string wide;
  for (int row = 0; row < 50; ++row) {
    for (int column = 0; column < 199; ++column) wide += "1,";
    wide += "1\n";
  }
  write("wide.csv", wide);
  std::string labels;
  for (int row = 0; row < 50; ++row) labels += std::string(kRow) + (row < 49 ? "<=50K\n" : "NaN\n");
  write("nan.csv", labels);
  write("twice.txt", "127.0.0.1:7600 server\n# the same place again\n127.0.0.1:7600 worker\n");
  write("role.txt", "127.0.0.1:7600 servr\n");
  write("port.txt", "127.0.0.1:760000 server\n");
  write("name.txt", "no-such-host.invalid:7600 server\n127.0.0.1:7700 worker\n");
  write("good.txt", "127.0.0.1:7600 server\n127.0.0.1:7700 worker\n");
  write("open.txt", "0.0.0.0:0 server\n");
  for (const char* list : {"twice", "role", "port", "name", "good", "missing"}) {
    write(fmt::format("{}.toml", list).c_str(),
          fmt::format("[cluster]\nmachines = \"{}.txt\"\n", list));
  }
  write("key.toml", "[cluster]\nmachines = \"good.txt\"\n\n[server]\nlnaes = 2\n");
}

ProcessResult RunCase(const TempFolder& folder, const Case& test) {
  ProcessOptions options;
  for (const std::string& argument : test.arguments) {
    options.arguments.push_back(Resolve(argument, folder.path()));
  }
  return RunProcess(ProgramPath(test.program), std::move(options), 30 * kSecond);
}

void Check(const Case& test, const TempFolder& folder) {
  const ProcessResult run = RunCase(folder, test);
  SCOPED_TRACE(std::string(test.name) + ":\n" + run.errors + run.output);
  EXPECT_EQ(run.end.signal, 0);
  EXPECT_EQ(run.end.code, test.code);
  for (const std::string& text : test.expected) {
    EXPECT_NE((run.errors + run.output).find(Resolve(text, folder.path())), std::string::npos)
        << "lacks: " << text;
  }
  for (const char* text : {"terminate called", "what():", "Segmentation", "check failed"}) {
    EXPECT_EQ(run.errors.find(text), std::string::npos) << text;
  }
}

TEST(BadInput, EndsWithAMessageAndItsExitCode) {
  TempFolder folder;
  WriteInputs(folder);
  const std::string adult = "--job=" + AdultJob();
  const char* const worker = "strata-worker";
  const char* const server = "strata-server";
  const char* const admin = "strata-admin";
  const std::vector<Case> cases = {
      {"no job", worker, {}, 2, {"--job"}},
      {"unknown flag", worker, {"--jbo=x"}, 2, {"jbo", "job"}},
      {"unknown task", worker, {adult, "--task=trian"}, 2, {"trian", "train, evaluate, predict"}},
      {"missing job file", worker, {"--job={}/none.toml"}, 2, {"{}/none.toml"}},
      {"broken TOML", worker, {"--job={}/syntax.toml"}, 2, {"{}/syntax.toml:1"}},
      {"unknown key", worker, {"--job={}/typo.toml"}, 2, {"typo.toml:", "batchsize", "batch_size"}},
      {"wrong type", worker, {"--job={}/type.toml"}, 2, {"type.toml:", "train.epochs"}},
      {"out of range", worker, {"--job={}/range.toml"}, 2, {"range.toml:", "train.epochs", "-3"}},
      {"unknown override", worker, {adult, "train.epoch=1"}, 2, {"train.epoch", "train.epochs"}},
      {"column that nobody uses", worker, {"--job={}/unused.toml"}, 2, {"fnlwgt", "ignore"}},
      {"column that is not there", worker, {"--job={}/column.toml"}, 2, {"educaton-num"}},
      {"missing data", worker, {adult, "data.train={}/none.csv"}, 2, {"{}/none.csv"}},
      {"empty data", worker, {adult, "data.train={}/empty.csv"}, 2, {"{}/empty.csv"}},
      {"200 columns", worker, {adult, "data.train={}/wide.csv"}, 2, {"wide.csv", "200", "15"}},
      {"NaN label", worker, {adult, "data.train={}/nan.csv"}, 2, {"nan.csv:50", "NaN"}},
      {"model that is not there",
       worker,
       {adult, "--task=evaluate", "output.model={}/none"},
       2,
       {"{}/none"}},
      {"missing cluster file", worker, {adult, "--config={}/none.toml"}, 2, {"{}/none.toml"}},
      {"worker rank out of range",
       worker,
       {adult, "--config={}/good.toml", "--rank=7"},
       2,
       {"rank", "7", "{}/good.txt"}},
      {"server rank out of range",
       server,
       {"--config={}/good.toml", "--rank=7"},
       2,
       {"rank", "7", "{}/good.txt"}},
      {"unknown key of the cluster",
       server,
       {"--config={}/key.toml", "--rank=0"},
       2,
       {"key.toml:5", "lnaes", "lanes"}},
      {"missing machine list",
       server,
       {"--config={}/missing.toml", "--rank=0"},
       2,
       {"missing.txt"}},
      {"beyond loopback", server, {"--host=0.0.0.0", "--port=0"}, 4, {"--insecure", "0.0.0.0"}},
      {"address of somebody else",
       server,
       {"--host=192.0.2.1", "--port=0", "--insecure"},
       1,
       {"192.0.2.1"}},
      {"duplicate machine",
       admin,
       {"config", "check", "{}/twice.toml"},
       2,
       {"twice.txt:3", "127.0.0.1:7600"}},
      {"unknown role", admin, {"config", "check", "{}/role.toml"}, 2, {"role.txt:1:16", "servr"}},
      {"impossible port", admin, {"config", "check", "{}/port.toml"}, 2, {"port.txt:1", "760000"}},
      {"host that does not resolve",
       admin,
       {"config", "check", "{}/name.toml"},
       2,
       {"name.txt:1", "no-such-host.invalid"}},
      {"unknown command", admin, {"statsu"}, 2, {"statsu"}},
      {"nobody there",
       admin,
       {"--server=127.0.0.1:1", "--timeout=1s", "tables"},
       3,
       {"127.0.0.1:1"}},
  };
  for (const Case& test : cases) Check(test, folder);
}

TEST(BadInput, APortInUseIsNamed) {
  TempFolder folder;
  FreePort held;
  const std::string port = std::to_string(held.number());
  const Case test = {"port in use", "strata-server", {"--port=" + port}, 1, {"127.0.0.1:" + port}};
  Check(test, folder);
}

TEST(BadInput, TwoProcessesClaimOneRank) {
  ClusterFixture cluster(1, 2);
  cluster.StartServers();
  cluster.StartWorker(0, {});
  ASSERT_TRUE(WaitUntil([&] {
    const auto status = nlohmann::json::parse(cluster.Admin({"-o", "json", "status"}).output);
    return status["nodes"][1]["up"].get<bool>();
  }));
  TempFolder folder;
  const Case test = {"a rank that is taken",
                     "strata-worker",
                     {"--job=" + AdultJob(), "--config=" + cluster.config(), "--rank=0"},
                     1,
                     {cluster.worker_address(0)}};
  Check(test, folder);
  EXPECT_TRUE(cluster.worker(0).Running());
}

TEST(BadInput, AnotherClustersNameIsRefused) {
  ClusterFixture cluster(1, 1);
  cluster.StartServers();
  TempFolder folder;
  std::string config = ReadWholeFile(cluster.config());
  config.replace(config.find("\"test\""), 6, "\"tset\"");
  WriteWholeFile(folder.File("cluster.toml"), config);
  WriteWholeFile(folder.File("machines.txt"), ReadWholeFile(cluster.folder().File("machines.txt")));
  const Case test = {"wrong cluster",
                     "strata-admin",
                     {"--config={}/cluster.toml", "tables"},
                     4,
                     {cluster.server_address(0), "cluster"}};
  Check(test, folder);
}

TEST(BadInput, AFlippedBitOfASavedModelIsFound) {
  TempFolder folder;
  TrainOn(0, 1, {"train.epochs=1"}, folder.File("model"));
  for (const char* name : {"manifest", "features-1.bin", "sparse-1.bin", "dense-1.bin"}) {
    const std::string path = folder.File("model") + "/" + name;
    const std::string good = ReadWholeFile(path);
    for (const size_t at : {good.size() / 3, good.size() / 2, good.size() - 1}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      WriteWholeFile(path, bad);
      const Case test = {"flipped bit",
                         "strata-worker",
                         {"--job=" + AdultJob(), "--task=evaluate", "output.model={}/model"},
                         1,
                         {name}};
      Check(test, folder);
    }
    WriteWholeFile(path, good);
  }
  const Case whole = {"whole again",
                      "strata-worker",
                      {"--job=" + AdultJob(), "--task=evaluate", "output.model={}/model"},
                      0,
                      {}};
  Check(whole, folder);
}

}  // namespace
}  // namespace strata
