// Each command of the command table has its handler, and nothing else has one.
#include "ps/commands/command_handlers.h"

#include <gtest/gtest.h>

#include "proto/wire/command_table.h"

namespace strata {
namespace {

TEST(CommandHandlers, ThereIsOneForEachCommand) {
  EXPECT_EQ(CommandHandlers().size(), wire::CommandTable().size());
  for (const wire::CommandInfo& info : wire::CommandTable()) {
    SCOPED_TRACE(info.name);
    const CommandHandler* const handler = FindHandler(info.command);
    ASSERT_NE(handler, nullptr) << "ps/commands/command_handlers.cc has no row for it";
    EXPECT_NE(handler->handle, nullptr);
    // A PUSH_PULL is applied as the PUSH in it.
    const bool is_applied = info.has(wire::kWrites) && info.command != wire::Command::kPushPull;
    EXPECT_EQ(handler->apply != nullptr, is_applied);
  }
}

}  // namespace
}  // namespace strata
