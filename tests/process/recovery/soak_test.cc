// A short run of each soak, and proof that each can fail: cycles of kill -9 under load lose nothing
// that was acknowledged, damaged files are refused or harmless, and groups of ranks never hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/failpoint.h"
#include "tests/support/process.h"

namespace strata {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct SoakEnd {
  ProcessEnd end;
  nlohmann::json json;
  std::string errors;
};

// A generous bound for a loaded machine; the long runs have a tight one.
SoakEnd RunSoak(const std::string& program, std::vector<std::string> arguments,
                const std::string& bound = "--patience=60s") {
  arguments.push_back(bound);
  const ProcessResult run =
      RunProcess(ProgramPath(program), {.arguments = std::move(arguments)}, 400 * kSecond);
  const size_t end = run.output.find_last_not_of('\n');
  if (end == std::string::npos) return {run.end, {}, run.errors};
  const size_t before = run.output.rfind('\n', end);
  const std::string line = run.output.substr(before == std::string::npos ? 0 : before + 1);
  return {run.end, nlohmann::json::parse(line, nullptr, false), run.errors};
}

void ExpectClean(const SoakEnd& run, uint64_t cycles) {
  EXPECT_EQ(run.end, ProcessEnd{0}) << run.errors;
  ASSERT_TRUE(run.json.is_object()) << run.errors;
  EXPECT_GE(run.json["cycles"], cycles);
  EXPECT_GT(run.json["acked"], 0);
  for (const char* name : {"lost", "doubled", "wrong", "hangs", "sessions_lost"}) {
    EXPECT_EQ(run.json[name], 0) << name << ": " << run.errors;
  }
}

TEST(Recovery, KilledServersLoseNothing) {
  const SoakEnd run = RunSoak("strata-soak-kill", {"--kind=server", "--cycles=20"});
  ExpectClean(run, 20);
  EXPECT_GE(run.json["restarts"], 20);
}

TEST(Recovery, TheSoakFindsTheLossesOfServersWithoutData) {
  const SoakEnd run = RunSoak("strata-soak-kill", {"--kind=server", "--cycles=2", "--data=false"});
  EXPECT_EQ(run.end, ProcessEnd{1}) << run.errors;
  ASSERT_TRUE(run.json.is_object()) << run.errors;
  EXPECT_GT(run.json["lost"], 0);
  EXPECT_EQ(run.json["doubled"], 0);
  EXPECT_EQ(run.json["wrong"], 0) << run.errors;
}

TEST(Recovery, KilledCallersLeaveAServiceAndNothingHalfDone) {
  const SoakEnd run = RunSoak("strata-soak-caller", {"--cycles=18"});
  ExpectClean(run, 18);
  EXPECT_EQ(run.json["kills"].size(), 9U) << run.json;  // who, in the middle of what
  EXPECT_GT(run.json["midway"]["client push"], 0) << run.json;
  EXPECT_THAT(run.errors, ContainsRegex("the longest wait: [0-9]+\\.[0-9]+ s, [a-z]"));
}

TEST(Recovery, DamagedFilesAreRefusedOrHarmless) {
  const SoakEnd run = RunSoak("strata-soak-flip", {"--cycles=30", "--bits=100"});
  ExpectClean(run, 30);
  EXPECT_GT(run.json["outcomes"]["refused"], 0) << run.json;
  EXPECT_EQ(run.json["flipped"].size(), 8U) << run.json;
  for (const auto& [kind, counts] : run.json["flipped"].items()) {
    EXPECT_GE(counts["bits"], 1100) << kind;
    // What RocksDB has in memory of its files (index, filter, footer) is not read again.
    const nlohmann::json least = kind == "cold tier" ? nlohmann::json(1000) : counts["bits"];
    EXPECT_GE(counts["detected"], least) << kind << counts;
  }
}

TEST(Recovery, KilledCollectionsLoseNothing) {
  const SoakEnd run = RunSoak("strata-soak-items", {"--cycles=40"});
  ExpectClean(run, 40);
  EXPECT_GT(run.json["checkpoints"], 10) << run.json;
  EXPECT_GT(run.json["opened_with_images"], 10) << run.json;
}

TEST(Recovery, KilledServersWithCopiesAnswerRight) {
  const SoakEnd run = RunSoak("strata-soak-kill", {"--kind=items", "--cycles=20", "--copies=2"});
  ExpectClean(run, 20);
  EXPECT_GT(run.json["at_copies"], 20) << run.json;
}

TEST(Recovery, TheSoakFindsCollectionsThatForgot) {
  const SoakEnd run = RunSoak("strata-soak-items", {"--cycles=20", "--forget=true"});
  EXPECT_EQ(run.end, ProcessEnd{1}) << run.errors;
  ASSERT_TRUE(run.json.is_object()) << run.errors;
  EXPECT_GT(run.json["wrong"], 0);
}

TEST(Recovery, ACollectionIsSearchedWhileItGrows) {
  const SoakEnd run = RunSoak("strata-soak-items",
                              {"--kind=scale", "--documents=60000", "--deletes=6000", "--tail=16"});
  ExpectClean(run, 1);
  EXPECT_GT(run.json["saves"], 0) << run.json;
  EXPECT_GT(run.json["operations"], 0) << run.json;  // answers that were judged
  EXPECT_TRUE(run.json["most_bytes_a_document"].is_null()) << "not looked at";
}

TEST(Recovery, SearchesFindWhatAPlainSearchFinds) {
  const SoakEnd run =
      RunSoak("strata-soak-sets", {"--cycles=128", "--documents=3000"}, "--device=cpu");
  EXPECT_EQ(run.end, ProcessEnd{0}) << run.errors;
  ASSERT_TRUE(run.json.is_object()) << run.errors;
  EXPECT_EQ(run.json["cycles"], 128);
  EXPECT_EQ(run.json["documents"], 3000);
  EXPECT_GT(run.json["operations"], 128 * 2) << run.json;
  EXPECT_EQ(run.json["wrong"], 0) << run.errors;
}

TEST(Recovery, TheSoakFindsWrongAnswers) {
  const SoakEnd run = RunSoak("strata-soak-sets", {"--cycles=1", "--documents=100", "--spoil=true"},
                              "--device=cpu");
  EXPECT_EQ(run.end, ProcessEnd{1}) << run.errors;
  ASSERT_TRUE(run.json.is_object()) << run.errors;
  EXPECT_EQ(run.json["wrong"], 1) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("seed 1"));
}

TEST(Recovery, AReportThatFindsNoRoomIsAnError) {
  const ProcessResult full =
      RunOnFullDisk(ProgramPath("strata-soak-sets"), {"--cycles=1", "--documents=10"});
  EXPECT_EQ(full.end, ProcessEnd{1});
  EXPECT_THAT(full.errors, HasSubstr("cannot write to stdout: No space left on device"));
}

// Two cycles of each kind of fault. After two of them the survivors go on.
TEST(Recovery, HurtGroupsOfRanksNameWhoIsToBlame) {
  const SoakEnd run = RunSoak("strata-soak-links", {"--cycles=16", "--silence=2s"}, "--slack=60s");
  ExpectClean(run, 16);
  EXPECT_EQ(run.json["faults"].size(), 8U + 2U) << run.json;  // and the groups that go on
  EXPECT_GT(run.json["faults"]["kill"]["errors"], 0) << run.json;
  EXPECT_EQ(run.json["faults"]["rebuilt (kill)"]["cycles"], 2) << run.json;
}

TEST(Recovery, ServersDieAtFailpoints) {
  const SoakEnd run = RunSoak("strata-soak-kill", {"--kind=failpoint", "--cycles=1"});
  if (kFailpointsCompiledIn) return ExpectClean(run, 1);
  EXPECT_EQ(run.end, ProcessEnd{2});
  EXPECT_THAT(run.errors, HasSubstr("./dev build --failpoints"));
  GTEST_SKIP() << "this build has no failpoints; it is refused";
}

}  // namespace
}  // namespace strata
