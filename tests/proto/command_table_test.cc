// The command table, and docs/protocol.md, which has a row for each of its rows.
#include "proto/wire/command_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_folder.h"

namespace strata::wire {
namespace {

using ::testing::HasSubstr;

TEST(CommandTable, RowsStandByNumberAndAgreeWithThemselves) {
  uint16_t last = 0;
  for (const CommandInfo& info : CommandTable()) {
    SCOPED_TRACE(info.name);
    const auto number = static_cast<uint16_t>(info.command);
    EXPECT_GT(number, last);
    last = number;
    EXPECT_LE(info.request_frames_min, info.request_frames_max);
    EXPECT_LE(info.reply_frames_min, info.reply_frames_max);
    EXPECT_EQ(info.request == "none", info.request_frames_max == 0);
    EXPECT_EQ(info.reply == "none", info.reply_frames_max == 0);
    EXPECT_FALSE(info.has(kAnsweredWhileBusy) && !info.has(kUrgent));
    EXPECT_FALSE(info.has(kRouted) && !info.has(kNames)) << "what else says where it belongs?";
    EXPECT_EQ(FindCommand(number), &info);
    EXPECT_EQ(&InfoOf(info.command), &info);
  }
  EXPECT_EQ(FindCommand(0), nullptr);
  EXPECT_EQ(FindCommand(UINT16_MAX), nullptr);
}

TEST(CommandTable, TheProtocolsPageHasTheSameRows) {
  const std::string page = ReadWholeFile(STRATA_PROTOCOL_PAGE);
  std::string rows;
  for (const CommandInfo& info : CommandTable()) {
    rows += fmt::format("| {} | {} |{}| {} | {} |\n", static_cast<int>(info.command), info.name,
                        info.has(kWrites) ? " yes " : " ", info.request, info.reply);
  }
  EXPECT_THAT(page, HasSubstr(rows)) << "expected these rows in docs/protocol.md, in one piece";
}

}  // namespace
}  // namespace strata::wire
