// strata-admin collection against real servers with data folders: created, loaded from each form,
// searched, killed, searched again, dropped.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "tests/process/admin/admin_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/wait_until.h"
#include "tests/worker/gbdt/npy_text.h"

namespace strata {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CollectionProcess : public AdminFixture {
 protected:
  CollectionProcess() : AdminFixture(AdminData::kFolders) {}

  std::string Write(const std::string& name, const std::string& text) {
    WriteWholeFile(folder_.File(name), text);
    return folder_.File(name);
  }
  std::string DataFolder(size_t rank) const { return folder_.File(fmt::format("data-{}", rank)); }
  void Kill(size_t rank) {
    servers_[rank]->Signal(SIGKILL);
    servers_[rank]->Wait();
  }
  void Start(size_t rank) {
    servers_[rank] = std::make_unique<Process>(
        ProgramPath("strata-server"),
        ProcessOptions{.arguments = {"--config=" + config(), fmt::format("--rank={}", rank),
                                     "--data=" + DataFolder(rank),
                                     "--checkpoints=" + checkpoints()}});
  }
  // Each query's ids, from lines of JSON.
  std::vector<std::vector<uint64_t>> Ids(std::vector<std::string> words) {
    words.insert(words.begin(), {"-o", "json", "collection", "search", "baskets"});
    const ProcessResult result = Admin(std::move(words));
    EXPECT_EQ(result.end.code, 0) << result.errors;
    std::vector<std::vector<uint64_t>> all;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
      const json object = json::parse(line, nullptr, false);
      EXPECT_EQ(object.at("query"), all.size());
      all.emplace_back();
      for (const json& hit : object.at("hits")) all.back().push_back(hit.at("id"));
    }
    return all;
  }
};

TEST_F(CollectionProcess, FromCreateToDrop) {
  using AllIds = std::vector<std::vector<uint64_t>>;
  const std::string documents = Write("docs.txt", "1,2,3\n2,3,4\n\n3,4,5,6\n1,2,3,4,5,6,7\n");
  EXPECT_EQ(Admin({"collection", "load", "baskets", documents}).end.code, 2);  // there is none
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  EXPECT_EQ(Admin({"collection", "create", "baskets", "--attribute", "x"}).end.code, 2);
  const json loaded = AdminJson({"collection", "load", "baskets", documents});
  EXPECT_EQ(loaded.at("loaded"), 5);

  EXPECT_EQ(Ids({"--query", "2,3", "-k", "3", "--metric", "jaccard"}), (AllIds{{0, 1, 4}}));
  EXPECT_EQ(Ids({"--query", "4,5", "--query", "7,7", "--threshold", "1", "--metric",
                 "containment_query"}),
            (AllIds{{3, 4}, {4}}));

  // The contest's form: a folder of queries, milliseconds and ids.
  ASSERT_TRUE(RealDisk().MakeFolder(folder_.File("queries")).ok());
  Write("queries/query10", "1,2,3\n");
  Write("queries/query2", "6");
  EXPECT_EQ(Admin({"collection", "search", "baskets", "--queries", folder_.File("queries"), "-k",
                   "2", "--to", folder_.File("answers")})
                .end.code,
            0);
  const std::string answers = ReadWholeFile(folder_.File("answers"));
  double ms = 0;
  char first[64] = {};
  ASSERT_EQ(std::sscanf(answers.c_str(), "%lf\n%63[^\n]", &ms, first), 2) << answers;
  EXPECT_GT(ms, 0);
  EXPECT_STREQ(first, "0\t1");  // 1, then 2/3
  EXPECT_THAT(answers, HasSubstr("\n3\t4\n"));

  // Who asked is in the answers, but for the contest's form.
  const std::string folder = folder_.File("queries");
  Write("queries/.DS_Store", "no set");
  const ProcessResult lines = Admin({"-o", "json", "collection", "search", "baskets", "--queries",
                                     folder, "--query", "9", "-k", "1"});
  EXPECT_EQ(lines.output,
            "{\"query\":0,\"hits\":[{\"id\":0,\"score\":0.0,\"overlap\":0,\"tokens\":3}]}\n"
            "{\"query\":1,\"file\":\"query10\",\"hits\":[{\"id\":0,\"score\":1.0,\"overlap\":3,"
            "\"tokens\":3}]}\n"
            "{\"query\":2,\"file\":\"query2\",\"hits\":[{\"id\":3,\"score\":0.25,\"overlap\":1,"
            "\"tokens\":4}]}\n")
      << lines.errors;
  const ProcessResult table =
      Admin({"collection", "search", "baskets", "--queries", folder, "--threshold", "0.5"});
  EXPECT_EQ(table.output,
            "query  from     document     score  in common  its tokens\n"
            "    0  query10         0         1          3           3\n"
            "    0  query10         1  0.666666          2           3\n"
            "    1  query2          -         -          -           -\n");

  // A CSR pair behind what is there, then a row a document.
  const std::string tokens =
      Write("t.npy", NpyText(NpyHeader("<i4", "(3,)"), std::vector<int32_t>{100, 101, 100}));
  const std::string offsets =
      Write("o.npy", NpyText(NpyHeader("<i8", "(3,)"), std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(Admin({"collection", "load", "baskets", tokens, "--offsets", offsets, "--first-id",
                   "1000", "--ack", "synced"})
                .end.code,
            0);
  const std::string rows =
      Write("r.npy", NpyText(NpyHeader("<i4", "(1, 2)"), std::vector<int32_t>{100, -1}));
  EXPECT_EQ(Admin({"collection", "load", "baskets", rows, "--first-id", "2000"}).end.code, 0);
  EXPECT_EQ(Ids({"--query", "100", "-k", "3"}), (AllIds{{1001, 2000, 1000}}));

  // What was acknowledged is there after kill -9.
  for (size_t rank = 0; rank < 2; ++rank) {
    Kill(rank);
    Start(rank);
  }
  for (const auto& server : servers_) {
    ASSERT_TRUE(server->WaitForOutput("ready")) << server->Errors();
  }
  EXPECT_EQ(Ids({"--query", "100", "-k", "3"}), (AllIds{{1001, 2000, 1000}}));
  const json stats = AdminJson({"collection", "stats", "baskets"}).at("collections").at(0);
  EXPECT_EQ(stats.at("documents"), 8);
  ASSERT_EQ(stats.at("lanes").size(), 2U);
  EXPECT_EQ(stats.at("lanes").at(1).at("server"), 1);
  // Since the servers' start, as it was asked; one that was sent again counts again.
  EXPECT_GE(stats.at("queries"), 1);
  EXPECT_EQ(stats.at("queries"), std::max(stats.at("lanes").at(0).at("queries").get<int>(),
                                          stats.at("lanes").at(1).at("queries").get<int>()));
  EXPECT_EQ(stats.at("lanes").at(0).at("documents").get<int>() +
                stats.at("lanes").at(1).at("documents").get<int>(),
            8);
  const std::string shown = Admin({"collection", "stats", "baskets"}).output;
  EXPECT_THAT(shown, ::testing::StartsWith("collection  documents  dead "));
  EXPECT_THAT(shown, HasSubstr("\nserver 1 lane 0 "));
  EXPECT_EQ(AdminJson({"collection", "stats"}).at("collections").size(), 1U);

  EXPECT_EQ(Admin({"collection", "drop", "baskets"}).end.code, 4);
  EXPECT_EQ(Admin({"collection", "drop", "baskets", "--yes"}).end.code, 0);
  const ProcessResult gone = Admin({"collection", "stats", "baskets"});
  EXPECT_EQ(gone.end.code, 2);
  EXPECT_THAT(gone.errors, HasSubstr("there is no collection 'baskets'"));
  // The files go with the last search that looks into them, which may be after the answer.
  const std::string folder_of_all = DataFolder(0) + "/collections-0";
  EXPECT_TRUE(WaitUntil([&] { return std::filesystem::is_empty(folder_of_all); }));
}

TEST_F(CollectionProcess, AttributesAreLoadedAndFilterSearches) {
  EXPECT_EQ(Admin({"collection", "create", "baskets", "--attribute", "price"}).end.code, 0);
  const std::string documents = Write("docs.txt", "1\n1\n1\n");
  const std::string prices =
      Write("p.npy", NpyText(NpyHeader("<i8", "(3, 1)"), std::vector<int64_t>{-5, 10, 20}));
  const std::string two =
      Write("two.npy", NpyText(NpyHeader("<i8", "(2, 1)"), std::vector<int64_t>{1, 2}));
  const ProcessResult none = Admin({"collection", "load", "baskets", documents});
  EXPECT_EQ(none.end.code, 2);
  EXPECT_THAT(none.errors,
              HasSubstr("collection 'baskets' has 1 attribute (price): expected --attributes"));
  const std::string wide =
      Write("wide.npy", NpyText(NpyHeader("<i8", "(1, 2)"), std::vector<int64_t>{1, 2}));
  const ProcessResult pairs =
      Admin({"collection", "load", "baskets", documents, "--attributes", wide});
  EXPECT_EQ(pairs.end.code, 2);
  EXPECT_THAT(pairs.errors, HasSubstr("wide.npy, row 0: expected 1 number, as collection 'baskets' "
                                      "has 1 attribute (price); found 2"));
  EXPECT_EQ(Admin({"collection", "create", "plain"}).end.code, 0);
  const ProcessResult more =
      Admin({"collection", "load", "plain", documents, "--attributes", prices});
  EXPECT_EQ(more.end.code, 2);
  EXPECT_THAT(more.errors, HasSubstr("p.npy, row 0: expected 0 numbers, as collection 'plain' has "
                                     "0 attributes; found 1"));
  const ProcessResult few =
      Admin({"collection", "load", "baskets", documents, "--attributes", two});
  EXPECT_EQ(few.end.code, 2);
  EXPECT_THAT(few.errors, HasSubstr("two.npy: expected a row for each of the 3 documents of " +
                                    documents + ", found 2: give as many as there are documents"));
  EXPECT_EQ(Admin({"collection", "load", "baskets", documents, "--attributes", prices}).end.code,
            0);
  EXPECT_EQ(Ids({"--query", "1", "--where", "price:0..10"}),
            (std::vector<std::vector<uint64_t>>{{1}}));
  EXPECT_EQ(Ids({"--query", "1", "--where", "price:20"}),
            (std::vector<std::vector<uint64_t>>{{2}}));
  EXPECT_EQ(Ids({"--query", "1", "--where", "price:..10"}),
            (std::vector<std::vector<uint64_t>>{{0, 1}}));
  const ProcessResult unknown =
      Admin({"collection", "search", "baskets", "--query", "1", "--where", "shop:1..2"});
  EXPECT_EQ(unknown.end.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("has no attribute 'shop'; it has price"));
}

TEST_F(CollectionProcess, DocumentsAreFoundByIdAskedForAndDeleted) {
  using AllIds = std::vector<std::vector<uint64_t>>;
  EXPECT_EQ(Admin({"collection", "create", "baskets", "--attribute", "price"}).end.code, 0);
  EXPECT_EQ(Admin({"collection", "load", "baskets", Write("docs.txt", "3,1,2\n1,2,4\n1,2\n\n9\n"),
                   "--attributes",
                   Write("p.npy", NpyText(NpyHeader("<i8", "(5, 1)"),
                                          std::vector<int64_t>{5, -6, 7, 8, 9}))})
                .end.code,
            0);
  const ProcessResult one = Admin({"collection", "get", "baskets", "1", "0"});
  EXPECT_EQ(one.end.code, 0) << one.errors;
  EXPECT_EQ(one.output,
            "document  price  tokens\n"
            "       0      5  1,2,3\n"
            "       1     -6  1,2,4\n");
  const ProcessResult some = Admin(
      {"-o", "json", "collection", "get", "baskets", "7", "--ids", Write("ids", "3\n4, 8\n")});
  EXPECT_EQ(some.end.code, 2);
  EXPECT_EQ(some.output,
            "{\"id\":3,\"attributes\":{\"price\":8},\"tokens\":[]}\n"
            "{\"id\":4,\"attributes\":{\"price\":9},\"tokens\":[9]}\n");
  EXPECT_THAT(some.errors, HasSubstr("collection 'baskets' has no document 7, 8\n"));

  // Without itself, and no fewer for that.
  EXPECT_EQ(Ids({"--like", "2", "--query", "1,2", "-k", "2", "--where", "price:..7"}),
            (AllIds{{2, 0}, {0, 1}}));
  EXPECT_EQ(Ids({"--like", "0", "--threshold", "0.5"}), (AllIds{{1, 2}}));
  const ProcessResult like = Admin({"collection", "search", "baskets", "--like", "4", "-k", "1"});
  EXPECT_EQ(like.output,
            "query  from    document  score  in common  its tokens\n"
            "    0  like 4         0      0          0           3\n");
  EXPECT_THAT(
      Admin({"-o", "json", "collection", "search", "baskets", "--like", "4", "-k", "1"}).output,
      HasSubstr("{\"query\":0,\"like\":4,\"hits\":[{\"id\":0,"));
  const ProcessResult missing = Admin({"collection", "search", "baskets", "--like", "44"});
  EXPECT_EQ(missing.end.code, 2);
  EXPECT_THAT(missing.errors, HasSubstr("--like: collection 'baskets' has no document 44"));

  const ProcessResult gone =
      Admin({"collection", "delete", "baskets", "0", "0", "77", "--ids", folder_.File("ids")});
  EXPECT_EQ(gone.end.code, 0) << gone.errors;
  EXPECT_THAT(gone.output, ::testing::MatchesRegex(
                               "deleted 3 documents of collection baskets in [^ ]+s, [0-9,]+/s: "
                               "there were none of 2 ids\n"));
  EXPECT_EQ(AdminJson({"collection", "delete", "baskets", "0", "1"}).at("deleted"), 1);
  EXPECT_EQ(AdminJson({"collection", "delete", "baskets", "5", "5", "6"}).at("ids"), 2);
  EXPECT_EQ(Ids({"--query", "1,2"}), (AllIds{{2}}));
  for (const char* command : {"get", "delete"}) {
    const ProcessResult nothing = Admin({"collection", command, "baskets"});
    EXPECT_EQ(nothing.end.code, 2);
    EXPECT_THAT(nothing.errors, HasSubstr("expected ids of documents, or --ids FILE"));
    const ProcessResult nowhere = Admin({"collection", command, "boxes", "1"});
    EXPECT_EQ(nowhere.end.code, 2);
    EXPECT_THAT(nowhere.errors, HasSubstr("there is no collection 'boxes'"));
  }
  EXPECT_THAT(Admin({"collection", "search", "boxes", "--like", "1"}).errors,
              HasSubstr("there is no collection 'boxes'"));
  EXPECT_THAT(Admin({"collection", "search", "baskets", "--queries", Write("none", "")}).errors,
              HasSubstr("none: expected queries, found none"));
}

TEST_F(CollectionProcess, ASearchIsExplained) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  EXPECT_EQ(
      Admin({"collection", "load", "baskets", Write("docs.txt", "1,2\n1,3\n1,4\n5\n")}).end.code,
      0);
  const json all =
      AdminJson({"collection", "explain", "baskets", "--query=1", "--query=5", "-k", "2"});
  EXPECT_EQ(all.at("queries"), 2);
  EXPECT_EQ(all.at("found"), 4);
  ASSERT_EQ(all.at("lanes").size(), 2U);
  EXPECT_EQ(all.at("lanes").at(1).at("lane"), "server 1 lane 0");
  EXPECT_EQ(all.at("all_lanes").at("documents"), 4);
  EXPECT_EQ(all.at("all_lanes").at("queries"), 2);
  uint64_t candidates = 0;
  uint64_t queries = 0;
  for (const json& engine : all.at("all_lanes").at("engines")) {
    candidates += engine.value("candidates", 0U);
    queries += engine.at("queries").get<uint64_t>();
    EXPECT_GT(engine.at("expected_ms"), 0);
  }
  EXPECT_EQ(candidates, 4U);  // whatever shares a token
  EXPECT_GE(queries, 2U);
  const ProcessResult text = Admin({"collection", "explain", "baskets", "--like", "0"});
  EXPECT_EQ(text.end.code, 0) << text.errors;
  for (const char* word : {"queries answered: 1 in ", " 3 documents found", "\nserver 0 lane 0 ",
                           "\nall lanes ", "counting alone", "candidates expected"}) {
    EXPECT_THAT(text.output, HasSubstr(word));
  }
  EXPECT_EQ(Admin({"collection", "explain", "boxes", "--query=1"}).end.code, 2);
}

TEST_F(CollectionProcess, DocumentsAreLoadedUnderIdsOfTheirOwn) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  const std::string documents = Write("docs.txt",
                                      "\xef\xbb\xbf"
                                      "1\n2\n3\n");
  EXPECT_EQ(Admin({"collection", "load", "baskets", documents, "--ids",
                   Write("ids.txt", "18446744073709551615\n7\n0\n")})
                .end.code,
            0);
  EXPECT_EQ(Ids({"--query=1", "--query=2", "--query=3", "-k", "1"}),
            (std::vector<std::vector<uint64_t>>{{UINT64_MAX}, {7}, {0}}));
  EXPECT_EQ(Admin({"collection", "load", "baskets", documents, "--ids",
                   Write("ids.npy", NpyText(NpyHeader("<u8", "(3,)"),
                                            std::vector<uint64_t>{UINT64_MAX - 1, 8, 1}))})
                .end.code,
            0);
  EXPECT_EQ(Admin({"collection", "get", "baskets", "--ids", folder_.File("ids.npy")}).end.code, 0);
  const auto refused = [&](const std::string& ids, const char* words) {
    const ProcessResult result = Admin({"collection", "load", "baskets", documents, "--ids", ids});
    EXPECT_EQ(result.end.code, 2);
    EXPECT_THAT(result.errors, HasSubstr(words));
  };
  refused(Write("twice", "4\n5\n4\n"),
          "twice: expected each id once, found 4 for documents 0 and 2, which count from 0");
  refused(Write("few", "11\n12\n"), "few: expected an id for each of the 3 documents of ");
  refused(Write("many", "11\n12\n13\n14\n"),
          "docs.txt, found 4: give as many as there are documents");
  refused(Write("bad", "11\nx\n13\n"), "bad: line 2: expected an id");
  refused(Write("below.npy", NpyText(NpyHeader("<i8", "(3,)"), std::vector<int64_t>{1, -2, 3})),
          "below.npy: element 1: expected a number from 0 to 2^64 - 1, found -2");
}

TEST_F(CollectionProcess, DocumentsWithoutAnIdAreFoundBeforeAnyIsSent) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  constexpr size_t kDocuments = 20'000;  // more than are under way at a time
  std::string lines;
  std::string ids;
  for (size_t i = 0; i < kDocuments; ++i) lines += "1\n";
  for (size_t i = 1; i < kDocuments; ++i) ids += fmt::format("{}\n", i);
  const std::string documents = Write("docs.txt", lines);
  const auto load = [&](const std::string& option, const std::string& value) {
    return Admin({"collection", "load", "baskets", documents, option, value});
  };
  const uint64_t last = UINT64_MAX - (kDocuments - 1);
  const ProcessResult above = load("--first-id", fmt::to_string(last + 1));
  EXPECT_EQ(above.end.code, 2);
  EXPECT_EQ(above.errors,
            fmt::format("strata-admin: INVALID: --first-id {}: expected an id up to "
                        "2^64 - 1 for each of the 20,000 documents of {}, found ids "
                        "for 19,999: give {} or less, or ids of their own with --ids\n",
                        last + 1, documents, last));
  const ProcessResult few = load("--ids", Write("ids", ids));
  EXPECT_EQ(few.end.code, 2);
  EXPECT_THAT(few.errors, HasSubstr("expected an id for each of the 20,000 documents of "));
  const auto stored = [&] {
    return AdminJson({"collection", "stats", "baskets"}).at("collections").at(0).at("documents");
  };
  EXPECT_EQ(stored(), 0);
  EXPECT_EQ(load("--first-id", fmt::to_string(last)).end.code, 0);
  EXPECT_EQ(stored(), kDocuments);
  EXPECT_EQ(Ids({"--query=1", "-k", "1", "--like", fmt::to_string(UINT64_MAX)}),
            (std::vector<std::vector<uint64_t>>{{last}, {last}}));
}

// Another cluster, with other lanes: what comes back is what went.
TEST_F(CollectionProcess, AnExportIsLoadedIntoAClusterOfOtherLanes) {
  EXPECT_EQ(
      Admin({"collection", "create", "baskets", "--attribute=price", "--attribute=shop"}).end.code,
      0);
  constexpr size_t kDocuments = 10'000;
  std::string lines;
  std::string ids;
  std::vector<int64_t> attributes;
  for (size_t i = 0; i < kDocuments; ++i) {
    lines +=
        i % 100 == 0 ? "\n" : fmt::format("{},{},{}\n", i % 97, 4'000'000'000U + i, i % 7 + 100);
    ids += fmt::format("{}\n", i * 1'000'003 + UINT64_MAX / 2);
    attributes.push_back(static_cast<int64_t>(i) - 5'000);
    attributes.push_back(i == 3 ? INT64_MIN : static_cast<int64_t>(i % 5));
  }
  EXPECT_EQ(
      Admin({"collection", "load", "baskets", Write("docs.txt", lines), "--ids", Write("ids", ids),
             "--attributes", Write("a.npy", NpyText(NpyHeader("<i8", "(10000, 2)"), attributes))})
          .end.code,
      0);
  const std::string folder = folder_.File("backup/baskets");
  const json exported = AdminJson({"collection", "export", "baskets", folder});
  EXPECT_EQ(exported.at("documents"), kDocuments);
  EXPECT_EQ(exported.at("one_moment"), true);
  const json manifest = json::parse(ReadWholeFile(folder + "/collection.json"), nullptr, false);
  EXPECT_EQ(manifest.at("documents"), kDocuments);
  EXPECT_EQ(manifest.at("attributes"), (json{"price", "shop"}));
  const ProcessResult again = Admin({"collection", "export", "baskets", folder});
  EXPECT_EQ(again.end.code, 4);
  EXPECT_THAT(again.errors, HasSubstr("expected a new or an empty folder, found attributes.npy"));

  FreePort port;
  const std::string address = fmt::format("127.0.0.1:{}", port.Release());
  Process other(ProgramPath("strata-server"),
                {.arguments = {"--port=" + address.substr(10), "--lanes=3"}});
  ASSERT_TRUE(other.WaitForOutput("ready")) << other.Errors();
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--server=" + address, "-o", "json", "collection"});
    return RunProcess(ProgramPath("strata-admin"), {.arguments = std::move(words)});
  };
  const ProcessResult none = ask({"load", "boxes", folder});
  EXPECT_EQ(none.end.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("there is no collection 'boxes'; strata-admin collection "
                                     "create boxes --attribute price --attribute shop"));
  EXPECT_EQ(ask({"create", "swapped", "--attribute=shop", "--attribute=price"}).end.code, 0);
  const ProcessResult swapped = ask({"load", "swapped", folder});
  EXPECT_EQ(swapped.end.code, 2);
  EXPECT_THAT(swapped.errors, HasSubstr("(price, shop), in their order; found shop, price"));
  EXPECT_EQ(ask({"create", "boxes", "--attribute=price", "--attribute=shop"}).end.code, 0);
  EXPECT_THAT(ask({"load", "boxes", folder, "--ids=x"}).errors,
              HasSubstr("is an export, which has"));
  const ProcessResult loaded = ask({"load", "boxes", folder});
  EXPECT_EQ(loaded.end.code, 0) << loaded.errors;
  const ProcessResult there = ask({"get", "boxes", "--ids", folder_.File("ids")});
  const ProcessResult here =
      Admin({"-o", "json", "collection", "get", "baskets", "--ids", folder_.File("ids")});
  EXPECT_EQ(there.end.code, 0) << there.errors;
  EXPECT_EQ(there.output, here.output);
  EXPECT_EQ(std::ranges::count(here.output, '\n'), static_cast<ptrdiff_t>(kDocuments));

  // A byte that is another one is found before anything is loaded.
  std::string tokens = ReadWholeFile(folder + "/tokens.npy");
  tokens[tokens.size() - 5] = static_cast<char>(tokens[tokens.size() - 5] + 1);
  WriteWholeFile(folder + "/tokens.npy", tokens);
  const ProcessResult damaged = ask({"load", "boxes", folder});
  EXPECT_EQ(damaged.end.code, 1);
  EXPECT_THAT(damaged.errors, HasSubstr("tokens.npy: expected checksum"));
  other.Signal(SIGTERM);
  other.Wait();
}

TEST_F(CollectionProcess, IdsDoNotBeginAgain) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  const std::string documents = Write("docs.txt", "1\n2\n3\n");
  const ProcessResult wrapped =
      Admin({"collection", "load", "baskets", documents, "--first-id", "18446744073709551614"});
  EXPECT_EQ(wrapped.end.code, 2);
  EXPECT_THAT(wrapped.errors,
              HasSubstr("--first-id 18446744073709551614: expected an id up to 2^64 - 1 "));
  EXPECT_EQ(AdminJson({"collection", "stats"}).at("collections").at(0).at("documents"), 0);
  const std::string two = Write("two.txt", "1\n2\n");
  EXPECT_EQ(
      Admin({"collection", "load", "baskets", two, "--first-id", "18446744073709551614"}).end.code,
      0);
  EXPECT_EQ(Ids({"--query", "2", "-k", "1"}),
            (std::vector<std::vector<uint64_t>>{{18446744073709551615U}}));
}

// More than are loaded before anybody stops it.
std::string ManyEmptySets() {
  std::string lines;
  lines.resize(30'000'000, '\n');
  return lines;
}

TEST_F(CollectionProcess, ALoadThatIsStoppedSaysHowFarItIs) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  Process load(ProgramPath("strata-admin"),
               {.arguments = {"--config=" + config(), "collection", "load", "baskets",
                              Write("many.txt", ManyEmptySets())}});
  const auto documents = [&] {
    return AdminJson({"collection", "stats"}).at("collections").at(0).at("documents").get<size_t>();
  };
  ASSERT_TRUE(WaitUntil([&] { return documents() > 0; })) << load.Errors();
  load.Signal(SIGINT);
  const auto end = load.Wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 1);
  unsigned long acknowledged = 0;
  std::string errors = load.Errors();
  std::erase(errors, ',');
  const size_t at = errors.find("stopped by SIGINT: the first ");
  ASSERT_NE(at, std::string::npos) << errors;
  ASSERT_EQ(
      std::sscanf(errors.c_str() + at, "stopped by SIGINT: the first %lu documents", &acknowledged),
      1);
  EXPECT_EQ(acknowledged, documents());
}

// Whatever breaks it off: what it says of the servers is so.
TEST_F(CollectionProcess, ALoadThatFailsSaysWhatIsAcknowledged) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  const auto documents = [&] {
    return AdminJson({"collection", "stats"}).at("collections").at(0).at("documents").get<size_t>();
  };
  const std::string wrong = Write("wrong.txt", std::string(20'000, '\n') + "x\n");
  const ProcessResult early = Admin({"collection", "load", "baskets", wrong});
  EXPECT_EQ(early.end.code, 2);
  EXPECT_THAT(early.errors,
              HasSubstr("line 20001: column 1: expected a token, a whole number from 0 to "
                        "4294967295, found 'x'\n"
                        "strata-admin: INVALID: the first 16,384 documents are acknowledged, none "
                        "behind them was sent: to go on, give the same command again"));
  EXPECT_EQ(documents(), 16'384U);

  Process load(ProgramPath("strata-admin"),
               {.arguments = {"--config=" + config(), "--timeout=1s", "collection", "load",
                              "baskets", Write("many.txt", ManyEmptySets())}});
  ASSERT_TRUE(WaitUntil([&] { return documents() > 16'384; })) << load.Errors();
  Kill(1);
  const auto end = load.Wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 3) << load.Errors();
  std::string errors = load.Errors();
  std::erase(errors, ',');
  unsigned long acknowledged = 0;
  unsigned long unknown = 0;
  const size_t at = errors.find("the first ");
  ASSERT_NE(at, std::string::npos) << errors;
  ASSERT_EQ(std::sscanf(errors.c_str() + at,
                        "the first %lu documents are acknowledged of the %lu behind them it is "
                        "not known whether they are stored: to go on",
                        &acknowledged, &unknown),
            2)
      << errors;
  Start(1);
  ASSERT_TRUE(servers_[1]->WaitForOutput("ready")) << servers_[1]->Errors();
  EXPECT_GE(documents(), acknowledged);
  EXPECT_LE(documents(), acknowledged + unknown);
}

TEST_F(CollectionProcess, AServerThatLostItsDataIsTold) {
  EXPECT_EQ(AdminJson({"collection", "create", "baskets"}).at("existed"), false);
  EXPECT_EQ(AdminJson({"collection", "create", "baskets"}).at("existed"), true);
  Kill(1);
  std::filesystem::remove_all(DataFolder(1));
  Start(1);
  ASSERT_TRUE(servers_[1]->WaitForOutput("ready")) << servers_[1]->Errors();
  const ProcessResult stats = Admin({"collection", "stats"});
  EXPECT_EQ(stats.end.code, 0) << stats.errors;
  EXPECT_THAT(stats.output, HasSubstr("collection baskets is missing on server 1 lane 0"));
  EXPECT_EQ(Admin({"collection", "search", "baskets", "--query", "1"}).end.code, 2);
  const ProcessResult again = Admin({"collection", "create", "baskets"});
  EXPECT_EQ(again.end.code, 0) << again.errors;
  EXPECT_THAT(again.output, HasSubstr("there is already a collection baskets"));
  EXPECT_THAT(again.output, HasSubstr("it was missing on server 1 lane 0"));
  EXPECT_EQ(AdminJson({"collection", "create", "baskets"}).at("was_missing_on").size(), 0U);
}

// Servers know each other by the machine list.
TEST_F(CollectionProcess, CopiesAreMadeAndMadeAnew) {
  const ProcessResult created = Admin({"collection", "create", "baskets", "--copies", "2"});
  EXPECT_EQ(created.end.code, 0) << created.errors;
  EXPECT_THAT(created.output, HasSubstr("each document on 2 servers"));
  const ProcessResult many = Admin({"collection", "create", "other", "--copies", "3"});
  EXPECT_EQ(many.end.code, 2);
  EXPECT_THAT(many.errors, HasSubstr("3 copies of collection 'other' need as many servers"));
  const std::string file = Write("baskets.txt", "1,2,3\n2,3,4\n7,8\n1,2,3,4\n");
  ASSERT_EQ(Admin({"collection", "load", "baskets", file}).end.code, 0);
  const auto await_copies = [&] {
    EXPECT_TRUE(WaitUntil([&] {
      const json stats = AdminJson({"collection", "stats", "baskets"}).at("collections").at(0);
      EXPECT_EQ(stats.at("servers_each"), 2);
      const json& copies = stats.at("copies");
      return copies.at("kept") > 0 && copies.at("ready") == copies.at("kept") &&
             copies.at("documents") == 4;
    }));
  };
  await_copies();
  EXPECT_THAT(Admin({"collection", "stats"}).output, HasSubstr(" ready"));
  const std::vector<std::string> search = {"--query", "1,2,3", "--query", "7", "-k", "2"};
  const auto expected = std::vector<std::vector<uint64_t>>{{0, 3}, {2, 0}};
  EXPECT_EQ(Ids(search), expected);
  Kill(1);
  Start(1);
  ASSERT_TRUE(servers_[1]->WaitForOutput("ready")) << servers_[1]->Errors();
  EXPECT_EQ(Ids(search), expected);
  await_copies();
  EXPECT_EQ(Ids(search), expected);
}

TEST_F(CollectionProcess, AnswersAreNotPutInThePlaceOfAFolder) {
  EXPECT_EQ(Admin({"collection", "create", "baskets"}).end.code, 0);
  const ProcessResult folder =
      Admin({"collection", "search", "baskets", "--query", "1", "--to", folder_.path()});
  EXPECT_EQ(folder.end.code, 2);
  EXPECT_THAT(folder.errors, HasSubstr("is a folder; expected a file"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + ".tmp"));
}

}  // namespace
}  // namespace strata
