// strata-bench as people meet it, but for what it measures.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "storage/itemset/item_export.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

ProcessResult RunBench(std::vector<std::string> words) {
  return RunProcess(ProgramPath("strata-bench"), {.arguments = std::move(words)});
}

TEST(BenchProcess, WrongCommandLinesSayWhatIsWrong) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "SUITE"},
      {{"tabel"}, "unknown suite 'tabel'; did you mean 'table'? (see --help)"},
      {{"table", "--filter=no such case"}, "no case of suite table contains 'no such case'"},
      {{"search", "--filter=no such case"}, "strata-bench search --device=cpu --list names its "},
      {{"embedding", "--list", "--filter=poled"}, "no case of suite embedding contains 'poled'"},
      {{"embedding"}, "suite embedding runs on a GPU alone: --device=cuda"},
      {{"tree-blocks", "--filter=sort"}, "suite tree-blocks runs on a GPU alone"},
      {{"table", "--device=gpu"}, "gpu"},
      {{"table", "--device=cuda:4095", "--list"}, "CUDA"},  // no build, no GPU, or none of them
      {{"table", "--tune=file"}, "--tune belongs to suite collective"},
      {{"table", "--devcie=cpu"}, "unknown flag '--devcie'; did you mean '--device'? (see --help)"},
      {{"--devcie=cpu"}, "unknown flag '--devcie'"},
      {{"table", "table"}, "unknown argument 'table' (see --help)"},
      {{"table", "--rounds=0"}, "--rounds"},
      {{"embedding", "--list", "--rounds=2"}, "--rounds has no effect on suite embedding"},
      {{"table", "--documents=5"}, "belong to suite search on --device=cpu"},
      {{"search", "--documents=0"}, "--documents"},
      {{"search", "--data=", "--list"}, "--data=: expected a value behind the '=', found none"},
      {{"search", "--data", ""}, "--data: expected a value, found an empty one"},
      {{"search", "--documents=5", "--data=x"}, "--documents and --data exclude each other"},
      {{"search", "--offsets=x"}, "--offsets has no effect without --data"},
      {{"search", "--all", "--documents=5"}, "--all brings other numbers of documents"},
  };
  for (const auto& [words, part] : cases) {
    const ProcessResult result = RunBench(words);
    EXPECT_EQ(result.end, ProcessEnd{2}) << part;
    EXPECT_THAT(result.errors + result.output, HasSubstr(part));
  }
}

TEST(BenchProcess, SearchesDataOfOnesOwn) {
  const TempFolder folder;
  std::string lines;
  const auto exporter = ItemExporter::Begin(RealDisk(), folder.File("export"), "c", {});
  ASSERT_TRUE(exporter.ok()) << exporter.status().ToString();
  for (uint32_t i = 0; i < 300; ++i) {
    const Document document{.id = i, .tokens = {i % 7, 70'000 + i % 11, i}, .attributes = {}};
    lines += fmt::format("{}\n", fmt::join(document.tokens, ","));
    ASSERT_TRUE((*exporter)->Add({&document, 1}).ok());
  }
  ASSERT_TRUE((*exporter)->Finish(true).ok());
  WriteWholeFile(folder.File("docs.txt"), lines);
  const ProcessResult cases = RunBench({"search", "--list", "--documents=500", "-k", "7"});
  EXPECT_THAT(cases.output, HasSubstr("documents=500 tokens=near-duplicates k=7 batch=32\n"));
  for (const auto& [of, filter] : {std::pair{std::string("--documents=500"), "=Zipf k=1000 batch="},
                                   {"--data=" + folder.File("docs.txt"), "batch="},
                                   {"--data=" + folder.File("export"), "batch="}}) {
    const ProcessResult result = RunBench({"search", of, "--k=1000", "--queries=9", "--rounds=1",
                                           "--json", fmt::format("--filter={}", filter)});
    EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("k=1000 batch=32 queries=9"));
  }
  WriteWholeFile(folder.File("bad.txt"), "1\nx\n");
  const ProcessResult bad = RunBench({"search", "--data=" + folder.File("bad.txt")});
  EXPECT_EQ(bad.end, ProcessEnd{2});
  EXPECT_EQ(bad.errors,
            fmt::format("strata-bench: INVALID: {}, line 2: column 1: expected a token, a whole "
                        "number from 0 to 4294967295, found 'x'\n",
                        folder.File("bad.txt")));
  EXPECT_EQ(bad.output, "");
}

// Servers with copies are clients of each other, too.
TEST(BenchProcess, ServersInItSayNothingAmidTheTable) {
  const ProcessResult result =
      RunBench({"search", "--documents=500", "--queries=9", "--k=5", "--rounds=1",
                "--filter=service clients=1 servers=2 copies=2"});
  EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("copies=2 documents=500"));
  EXPECT_THAT(result.errors, HasSubstr("; load before: "));
  EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
}

TEST(BenchProcess, AutoGoesOnWithWhatTheMachineHas) {
  for (const char* suite : {"table", "service", "tiered", "checkpoint", "collective"}) {
    const ProcessResult result = RunBench({suite, "--device=auto", "--list"});
    EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
    EXPECT_FALSE(result.output.empty()) << suite;
  }
}

TEST(BenchProcess, CasesOfAGpuAreNamedWithoutOne) {
  for (const auto& [suite, part] :
       {std::pair{"embedding", "pooled dim=16\n"}, {"tree-blocks", "prefix sum 65536\n"}}) {
    const std::string cases = RunBench({suite, "--list"}).output;
    EXPECT_THAT(cases, HasSubstr(part));
    for (const char* device : {"--device=cuda", "--device=auto"}) {
      const ProcessResult result = RunBench({suite, "--list", device});
      EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
      EXPECT_EQ(result.output, cases) << device;
    }
  }
}

TEST(BenchProcess, CasesOfAGpuInSuitesOfBothAreNamedWithoutCuda) {
  for (const auto& [suite, part] : {std::pair{"table", "growth dim=64\n"},
                                    {"service", "push batch=4096 dim=16 uniform clients=4"},
                                    {"tiered", "uniform\nzipf\n"},
                                    {"ctr", "dlrm dim=128 batch=65536 sgd\n"}}) {
    const ProcessResult result = RunBench({suite, "--list", "--device=cuda"});
    EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
    EXPECT_THAT(result.output, HasSubstr(part));
    EXPECT_NE(result.output, RunBench({suite, "--list"}).output);
  }
  const ProcessResult misspelt = RunBench({"tabel", "--list", "--device=cuda"});
  EXPECT_EQ(misspelt.end, ProcessEnd{2});
  EXPECT_THAT(misspelt.errors, HasSubstr("did you mean 'table'?"));
}

// The suites of --help, which begin their lines.
std::vector<std::string> SuitesOfHelp() {
  std::istringstream lines(RunBench({"--help"}).output);
  std::vector<std::string> names;
  bool are_suites = false;
  for (std::string line; std::getline(lines, line);) {
    if (are_suites && line.starts_with("  "))
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    are_suites = line == "Suites:" || (are_suites && line.starts_with("  "));
  }
  return names;
}

TEST(BenchProcess, TheScriptKnowsEverySuite) {
  const std::string help = RunProcess(STRATA_DEV, {.arguments = {"bench", "--help"}}).output;
  const std::vector<std::string> suites = SuitesOfHelp();
  EXPECT_THAT(suites, ::testing::IsSupersetOf({"table", "embedding", "tree-blocks", "search"}));
  for (const std::string& suite : suites) EXPECT_THAT(help, HasSubstr(suite));
}

TEST(BenchProcess, SaysItsVersion) {
  const ProcessResult result = RunBench({"--version"});
  EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("strata-bench 0."));
}

TEST(BenchProcess, FiguresThatFindNoRoomAreAnError) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"table", "--list"}, {"search", "--documents=9"}}) {
    const ProcessResult full = RunOnFullDisk(ProgramPath("strata-bench"), words);
    EXPECT_EQ(full.end, ProcessEnd{1}) << words.front();
    EXPECT_THAT(full.errors, HasSubstr("cannot write to stdout: No space left on device"));
  }
}

TEST(BenchProcess, HelpNamesDevicesAndExitCodes) {
  const ProcessResult help = RunBench({"--help"});
  EXPECT_EQ(help.end, ProcessEnd{0});
  for (const char* word : {"auto", "Exit codes: 0 done", "70 a bug"}) {
    EXPECT_THAT(help.output, HasSubstr(word));
  }
}

}  // namespace
}  // namespace strata
