// strata-admin checkpoint, restore, verify and export, on two real servers and on files alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/admin/admin_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/process.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class AdminCheckpoint : public AdminFixture {
 protected:
  AdminCheckpoint() : AdminFixture(AdminData::kFolders) {}

  // A table of `rows` rows (k, k + 0.5) for the keys k from 0.
  void FillTable(int rows) {
    ASSERT_EQ(Admin({"table", "create", "t", "--dim=2"}).end.code, 0);
    for (int key = 0; key < rows; ++key) Put(key, key);
  }

  void Put(int key, int value) {
    ASSERT_EQ(
        Admin({"put", "t", fmt::to_string(key), fmt::to_string(value), fmt::format("{}.5", value)})
            .end.code,
        0);
  }
};

// Pulls go on, so the server is up; status fails all the same, for whoever watches its exit code.
// No server drops, creates or restores anything when one of them would refuse.
TEST_F(AdminCheckpoint, WhereADataFolderIsGoneStatusFailsAndNothingIsDropped) {
  FillTable(8);
  ASSERT_EQ(Admin({"collection", "create", "c"}).end.code, 0);
  ASSERT_EQ(Admin({"checkpoint"}).end.code, 0);
  EXPECT_EQ(Admin({"status"}).end.code, 0);
  std::filesystem::remove_all(folder_.File("data-1"));
  ProcessResult status;
  EXPECT_TRUE(WaitUntil([&] { return (status = Admin({"status"})).end.code != 0; }));
  EXPECT_EQ(status.end.code, 3);
  EXPECT_THAT(status.output, HasSubstr("data lost"));
  EXPECT_THAT(status.errors, AllOf(HasSubstr("server 1: "), HasSubstr("/data-1"),
                                   HasSubstr("writes are refused"), Not(HasSubstr("server 0"))));

  const std::string tables = Admin({"tables"}).output;
  const std::vector<std::vector<std::string>> refused = {{"table", "drop", "t", "--yes"},
                                                         {"table", "create", "u", "--dim=1"},
                                                         {"collection", "drop", "c", "--yes"},
                                                         {"collection", "create", "d"},
                                                         {"restore", "1", "--yes"}};
  for (const std::vector<std::string>& words : refused) {
    const ProcessResult result = Admin(words);
    EXPECT_EQ(result.end.code, 4) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("nothing was done, as server 1"));
  }
  EXPECT_EQ(Admin({"tables"}).output, tables);
  EXPECT_THAT(tables, HasSubstr("8"));
  EXPECT_THAT(Admin({"shutdown"}).errors, HasSubstr("server 1 has lost its data folder"));
}

TEST_F(AdminCheckpoint, AServerThatCameBackEmptyIsMissingItsTables) {
  FillTable(8);
  EXPECT_EQ(AdminJson({"status"}).at("nodes")[1].at("server").at("missing_tables"), json::array());
  servers_[1]->Signal(SIGKILL);
  ASSERT_TRUE(servers_[1]->Wait().has_value());
  EXPECT_THAT(Admin({"stats"}).output, EndsWith("without server 1\n"));
  EXPECT_THAT(Admin({"tables"}).output, EndsWith("without server 1\n"));

  std::filesystem::remove_all(folder_.File("data-1"));
  servers_[1] = StartServer(1);
  ASSERT_TRUE(servers_[1]->WaitForOutput("ready")) << servers_[1]->Errors();
  const ProcessResult status = Admin({"status"});
  EXPECT_EQ(status.end.code, 3);
  EXPECT_THAT(status.output, HasSubstr("1 table missing; 0 tables"));
  EXPECT_THAT(status.errors,
              AllOf(HasSubstr("server 1 does not have table t, which other servers have"),
                    Not(HasSubstr("server 0"))));
  const json nodes = AdminJson({"status"}, 3).at("nodes");
  EXPECT_EQ(nodes[0].at("server").at("missing_tables"), json::array());
  EXPECT_EQ(nodes[1].at("server").at("missing_tables"), json({"t"}));
}

TEST_F(AdminCheckpoint, TakenListedAndRestored) {
  EXPECT_THAT(Admin({"checkpoint", "list"}).output, HasSubstr("there are no checkpoints"));
  FillTable(5);
  const json first = AdminJson({"checkpoint"});
  EXPECT_EQ(first.at("number"), 1);
  EXPECT_EQ(first.at("builds_on"), nullptr);
  EXPECT_EQ(first.at("rows"), 5);
  EXPECT_GT(first.at("bytes"), 100);
  EXPECT_GE(first.at("seconds"), 0);
  Put(3, 70);
  Put(9, 90);
  EXPECT_THAT(Admin({"checkpoint"}).output,
              HasSubstr("checkpoint 2 (changes since 1): 2 changed rows"));
  EXPECT_EQ(AdminJson({"checkpoint", "--full"}).at("rows"), 6);
  const json list = AdminJson({"checkpoint", "list"}).at("checkpoints");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].at("number"), 3);
  EXPECT_EQ(list[1].at("builds_on"), 1);
  EXPECT_GT(list[2].at("unix_seconds"), 1'700'000'000);

  const ProcessResult unsure = Admin({"restore", "1"});
  EXPECT_EQ(unsure.end.code, 4);
  EXPECT_THAT(unsure.errors, HasSubstr("add --yes"));
  EXPECT_EQ(AdminJson({"get", "t", "3"}).at("rows")[0].at("values")[0], 70);
  EXPECT_NE(Admin({"restore", "17", "--yes"}).end.code, 0);
  EXPECT_EQ(AdminJson({"get", "t", "3"}).at("rows")[0].at("values")[0], 70);

  const json restored = AdminJson({"restore", "1", "--yes"});
  EXPECT_EQ(restored.at("number"), 1);
  EXPECT_EQ(restored.at("tables"), json({"t"}));
  EXPECT_EQ(AdminJson({"get", "t", "3"}).at("rows")[0].at("values"), json({3, 3.5}));
  EXPECT_EQ(AdminJson({"stats", "t"}).at("tables")[0].at("rows"), 5);
  EXPECT_THAT(Admin({"restore", "2", "--yes"}).output, HasSubstr("back at checkpoint 2: 1 table"));
  EXPECT_EQ(AdminJson({"get", "t", "9"}).at("rows")[0].at("values"), json({90, 90.5}));
}

TEST_F(AdminCheckpoint, ShutdownSaysThatDataFoldersKeepAll) {
  FillTable(1);
  const ProcessResult unsure = Admin({"shutdown"});
  EXPECT_EQ(unsure.end.code, 4);
  EXPECT_THAT(unsure.errors, HasSubstr("this ends 2 servers, and nothing is lost; to do it, add"));
}

TEST_F(AdminCheckpoint, WhatBuildsOnADamagedOneIsMarked) {
  FillTable(1);
  for (int number = 1; number <= 3; ++number) {
    Put(1, number);
    AdminJson({"checkpoint"});
  }
  AdminJson({"checkpoint", "--full"});
  EXPECT_THAT(Admin({"checkpoint", "list"}).output, Not(HasSubstr("damaged")));
  const std::string manifest = checkpoints() + "/0000000001/manifest";
  WriteWholeFile(manifest, ReadWholeFile(manifest) + "x");
  const json list = AdminJson({"checkpoint", "list"}).at("checkpoints");
  ASSERT_EQ(list.size(), 4U);
  for (const json& one : list) EXPECT_EQ(one.at("loadable"), one.at("number") == 4) << one.dump();
  EXPECT_EQ(list[3].at("number"), 1);
  EXPECT_THAT(list[3].at("damaged").get<std::string>(),
              AllOf(HasSubstr("CORRUPT: "), HasSubstr(manifest), HasSubstr("expected")));
  const std::string text = Admin({"checkpoint", "list"}).output;
  EXPECT_THAT(text, HasSubstr("changes since 1, base missing or damaged"));
  EXPECT_THAT(text, HasSubstr("changes since 2, base missing or damaged"));
  EXPECT_THAT(text, HasSubstr("checkpoint 1 is damaged: CORRUPT: " + manifest));
}

TEST_F(AdminCheckpoint, OneOfEightIsFull) {
  FillTable(4);
  for (uint32_t number = 1; number <= 10; ++number) {
    const json taken = AdminJson({"checkpoint"});
    EXPECT_EQ(taken.at("builds_on"), number == 1 || number == 9 ? json() : json(number - 1));
  }
}

TEST_F(AdminCheckpoint, VerifyReadsEveryByteAndNamesWhatIsWrong) {
  const ProcessResult empty = Admin({"verify", folder_.path()});
  EXPECT_EQ(empty.end.code, 2);
  EXPECT_THAT(empty.errors, HasSubstr(folder_.path() + ": there is no checkpoint in it"));
  const std::string none = folder_.File("none");
  for (const std::string& path : {none, none + "/0000000007"}) {
    const ProcessResult missing = Admin({"verify", path});
    EXPECT_EQ(missing.end.code, 2);
    EXPECT_THAT(missing.errors, AllOf(HasSubstr("NOT_FOUND: "), HasSubstr(path)));
  }
  FillTable(3);
  AdminJson({"checkpoint"});
  Put(1, 7);
  AdminJson({"checkpoint"});
  const json good = AdminJson({"verify", checkpoints()});
  EXPECT_EQ(good.at("ok"), true);
  EXPECT_EQ(good.at("checkpoints"), json({2, 1}));
  EXPECT_EQ(good.at("rows"), 4);
  EXPECT_EQ(good.at("findings"), json::array());
  EXPECT_THAT(Admin({"verify", checkpoints() + "/0000000001/"}).output,
              HasSubstr("1 checkpoint in"));

  const std::string part = checkpoints() + "/0000000001/server-1-lane-0.part";
  std::string bytes = ReadWholeFile(part);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  WriteWholeFile(part, bytes);
  WriteWholeFile(checkpoints() + "/0000000002/stranger", "x");
  const json bad = AdminJson({"verify", checkpoints()}, 1);
  EXPECT_EQ(bad.at("ok"), false);
  ASSERT_EQ(bad.at("findings").size(), 2U) << bad.dump();
  const std::string findings = bad.at("findings").dump();
  EXPECT_THAT(findings, HasSubstr("server-1-lane-0.part"));
  EXPECT_THAT(findings, HasSubstr("stranger"));
  const ProcessResult text = Admin({"verify", checkpoints()});
  EXPECT_EQ(text.end.code, 1);
  EXPECT_THAT(text.output, HasSubstr("server-1-lane-0.part"));
  EXPECT_THAT(text.errors, HasSubstr("2 findings"));
}

TEST_F(AdminCheckpoint, ExportsATableForOthers) {
  FillTable(4);
  AdminJson({"checkpoint"});
  const std::string out = folder_.File("out");
  for (const auto& [format, files] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"safetensors", {"t.safetensors"}},
           {"npy", {"t.keys.npy", "t.values.npy"}},
           {"hugectr", {"t_sparse.model/key", "t_sparse.model/emb_vector"}}}) {
    const json told =
        AdminJson({"export", checkpoints(), "--table=t", "--format=" + format, "--to=" + out});
    EXPECT_EQ(told.at("checkpoint"), 1);
    EXPECT_EQ(told.at("rows"), 4);
    EXPECT_EQ(told.at("dim"), 2);
    ASSERT_EQ(told.at("files").size(), files.size());
    for (const std::string& file : files) {
      EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / file)) << file;
    }
  }
  EXPECT_EQ(std::filesystem::file_size(out + "/t_sparse.model/key"), 4U * 8);
  EXPECT_EQ(std::filesystem::file_size(out + "/t_sparse.model/emb_vector"), 4U * 2 * 4);
  const ProcessResult none =
      Admin({"export", checkpoints(), "--table=none", "--format=npy", "--to=" + out + "/none"});
  EXPECT_EQ(none.end.code, 2);
  EXPECT_FALSE(std::filesystem::exists(out + "/none"));
  EXPECT_THAT(none.errors, HasSubstr("it has: t"));
  EXPECT_EQ(Admin({"export", checkpoints(), "--table=t", "--format=zip", "--to=x"}).end.code, 2);
}

TEST_F(AdminCheckpoint, AnOlderOneIsExportedByNameOnly) {
  FillTable(2);
  AdminJson({"checkpoint"});
  AdminJson({"checkpoint", "--full"});
  const std::string manifest = checkpoints() + "/0000000002/manifest";
  WriteWholeFile(manifest, ReadWholeFile(manifest) + "x");
  const auto exported = [&](const std::string& from) {
    return Admin({"export", from, "--table=t", "--format=npy", "--to=" + folder_.File("out")});
  };
  const ProcessResult newest = exported(checkpoints());
  EXPECT_EQ(newest.end.code, 1);
  EXPECT_THAT(newest.errors, HasSubstr(manifest));
  EXPECT_THAT(newest.errors, HasSubstr("name its folder: " + checkpoints() + "/0000000001"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("out")));
  EXPECT_EQ(exported(checkpoints() + "/0000000001").end.code, 0);
}

TEST(AdminCheckpointAlone, AServerWithoutAFolderSaysSo) {
  FreePort port;
  const std::string address = fmt::format("127.0.0.1:{}", port.number());
  Process server(ProgramPath("strata-server"),
                 {.arguments = {"--port=" + fmt::to_string(port.Release())}});
  ASSERT_TRUE(server.WaitForOutput("ready"));
  for (const char* verb : {"checkpoint", "restore 1 --yes"}) {
    std::vector<std::string> words = {"--server=" + address};
    std::istringstream stream(verb);
    for (std::string word; stream >> word;) words.push_back(word);
    const ProcessResult result = RunProcess(ProgramPath("strata-admin"), {.arguments = words});
    EXPECT_EQ(result.end.code, 4) << verb << ": " << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("server.data")) << verb;
  }
}

}  // namespace
}  // namespace strata
