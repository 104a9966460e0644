// strata-bench as people meet it, but for what it measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

ProcessResult RunBench(std::vector<std::string> words) {
  return RunProcess(ProgramPath("strata-bench"), {.arguments = std::move(words)});
}

TEST(BenchProcess, WrongCommandLinesSayWhatIsWrong) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "SUITE"},
      {{"tabel"}, "there is no suite 'tabel' on cpu; did you mean 'table'?"},
      {{"table", "--filter=no such case"}, "no case of suite table contains 'no such case'"},
      {{"table", "--device=gpu"}, "gpu"},
      {{"table", "--device=cuda:4095", "--list"}, "CUDA"},  // no build, no GPU, or none of them
      {{"table", "--tune=file"}, "--tune belongs to suite collective"},
  };
  for (const auto& [words, part] : cases) {
    const ProcessResult result = RunBench(words);
    EXPECT_EQ(result.end, ProcessEnd{2}) << part;
    EXPECT_THAT(result.errors + result.output, HasSubstr(part));
  }
}

TEST(BenchProcess, AutoGoesOnWithWhatTheMachineHas) {
  for (const char* suite : {"table", "service", "tiered", "checkpoint", "collective"}) {
    const ProcessResult result = RunBench({suite, "--device=auto", "--list"});
    EXPECT_EQ(result.end, ProcessEnd{0}) << result.errors;
    EXPECT_FALSE(result.output.empty()) << suite;
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
