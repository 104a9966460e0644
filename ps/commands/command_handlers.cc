#include "ps/commands/command_handlers.h"

#include <algorithm>
#include <array>

#include "ps/commands/checkpoints.h"
#include "ps/commands/collections.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"
#include "ps/commands/sessions.h"

namespace strata {
namespace {

using wire::Command;

constexpr std::array<CommandHandler, 32> kHandlers = {{
    {Command::kHello, HandleHello},
    {Command::kShardMap, HandleShardMap},
    {Command::kPing, HandlePing},
    {Command::kLeave, HandleLeave},
    {Command::kCreateTable, HandleWrite, ApplyCreateTable},
    {Command::kDropTable, HandleWrite, ApplyDropTable},
    {Command::kListTables, HandleListTables},
    {Command::kPull, HandlePull},
    {Command::kPush, HandleWrite, ApplyPush},
    {Command::kPut, HandleWrite, ApplyPut},
    {Command::kErase, HandleWrite, ApplyErase},
    {Command::kScan, HandleScan},
    {Command::kStats, HandleStats},
    {Command::kPrefetch, HandlePrefetch},
    {Command::kPushPull, HandleWrite},  // becomes a PUSH there
    {Command::kCheckpoint, HandleCheckpoint},
    {Command::kCommitCheckpoint, HandleCommitCheckpoint},
    {Command::kTrimLog, HandleTrimLog},
    {Command::kListCheckpoints, HandleListCheckpoints},
    {Command::kReadAttachment, HandleReadAttachment},
    {Command::kRestore, HandleWrite, BeginRestore},
    {Command::kCut, HandleCut},
    {Command::kControl, HandleControl},
    {Command::kCreateCollection, HandleWrite, ApplyCreateCollection},
    {Command::kDropCollection, HandleWrite, ApplyDropCollection},
    {Command::kListCollections, HandleListCollections},
    {Command::kChangeItems, HandleChangeItems, ApplyChangeItems},
    {Command::kReadItems, HandleReadItems},
    {Command::kSearch, HandleSearch},
    {Command::kCollectionStats, HandleCollectionStats},
    {Command::kFollowItems, HandleFollowItems},
    {Command::kScanItems, HandleScanItems},
}};

}  // namespace

std::span<const CommandHandler> CommandHandlers() { return kHandlers; }

const CommandHandler* FindHandler(Command command) {
  const auto found = std::ranges::find(kHandlers, command, &CommandHandler::command);
  return found == kHandlers.end() ? nullptr : &*found;
}

}  // namespace strata
