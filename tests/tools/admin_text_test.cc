#include <gtest/gtest.h>

#include <cmath>

#include "tools/admin/collection/document_progress.h"
#include "tools/admin/nodes/node_query.h"
#include "tools/admin/text/error_lines.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

TEST(TableText, AlignsColumnsAndTrimsLines) {
  TableText table({{"node"}, {"rows", TableText::Align::kRight}, {"state"}});
  table.AddRow({"server 0", "7", "serving"});
  table.AddRow({"worker 12", "1,234", ""});
  EXPECT_EQ(table.ToString(),
            "node        rows  state\n"
            "server 0       7  serving\n"
            "worker 12  1,234\n");
}

TEST(TableText, CountsCodePointsNotBytes) {
  TableText table({{"a"}, {"b"}});
  table.AddRow({"\xC3\xA9t\xC3\xA9", "x"});  // three letters in five bytes
  EXPECT_EQ(table.ToString(),
            "a    b\n"
            "\xC3\xA9t\xC3\xA9  x\n");
}

TEST(TableText, APeerCannotSteerTheTerminal) {
  TableText table({{"state"}});
  table.AddRow({"\x1b[2Jgone\n\x7f"});
  EXPECT_EQ(table.ToString(), "state\n?[2Jgone??\n");
}

TEST(TableText, WithoutRowsShowsTitles) {
  EXPECT_EQ(TableText({{"name"}, {"dim"}}).ToString(), "name  dim\n");
}

TEST(ErrorLines, EachLineOfAnErrorNamesProgramAndCode) {
  EXPECT_EQ(ErrorLines(Invalid("a:1: x\na:2: y")),
            "strata-admin: INVALID: a:1: x\nstrata-admin: INVALID: a:2: y\n");
  EXPECT_EQ(ErrorLines(Status()), "");
  EXPECT_EQ(
      ErrorLines(DeadlineExceeded("server 0: no answer")),
      "strata-admin: DEADLINE_EXCEEDED: server 0: no answer\n"
      "strata-admin: see whether the servers named above run and what they are at "
      "(strata-admin status, and their logs); to wait longer for an answer, give --timeout\n");
}

NodeAnswer Answer(int rank, Status status) {
  NodeAnswer answer;
  answer.machine.role = Role::kServer;
  answer.machine.rank = rank;
  answer.machine.host = "h";
  answer.machine.port = 7;
  answer.status = std::move(status);
  return answer;
}

TEST(Verdict, TellsNodesThatAreDownFromThoseThatRefuse) {
  EXPECT_TRUE(Verdict({Answer(0, {})}).ok());
  const std::string reason(300, 'r');
  const Status refused = Verdict({Answer(0, Refused(reason)), Answer(1, Refused("other"))});
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_EQ(refused.message(), "server 0 refused: " + reason + "\nserver 1 refused: other");
  const Status mixed = Verdict({Answer(0, Refused("no")), Answer(1, Lost("x")), Answer(2, {})});
  EXPECT_EQ(mixed.code(), StatusCode::kLost);
  EXPECT_EQ(mixed.message(),
            "1 of 3 servers is down: server 1 (h:7); see whether it runs and can be reached at "
            "this address, or name others with --server or --config\nserver 0 refused: no");
}

TEST(DocumentsLine, IsAsThoseOfTheOtherCommands) {
  EXPECT_EQ(DocumentsLine("load", 81'920, 0.45, 66.36),
            "load      45 %  81,920 documents  1,234/s  ETA 1m21s");
  EXPECT_EQ(DocumentsLine("load", 5, 1, 0.5), "load     100 %  5 documents  10/s  ETA 0.0s");
  EXPECT_EQ(DocumentsLine("load", 0, 0, 2), "load       0 %  0 documents  0/s");
  EXPECT_EQ(DocumentsLine("export", 5, 1, 0.5), "export   100 %  5 documents  10/s  ETA 0.0s");
}

TEST(DoneLine, SaysHowManyWhereAndHowFast) {
  EXPECT_EQ(DoneLine("loaded", 81'920, "into collection baskets", 66.36),
            "loaded 81,920 documents into collection baskets in 1m06s, 1,234/s");
  EXPECT_EQ(DoneLine("deleted", 1, "of collection b", 0.5),
            "deleted 1 document of collection b in 0.5s, 2/s");
  EXPECT_EQ(DocumentsPerSecond(3, 2), 1.5);
  EXPECT_EQ(DocumentsPerSecond(0, 0), 0);
  EXPECT_GT(DocumentsPerSecond(1, 0), 0);
  EXPECT_TRUE(std::isfinite(DocumentsPerSecond(UINT64_MAX, 0)));
}

}  // namespace
}  // namespace strata::admin
