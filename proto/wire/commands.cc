#include "proto/wire/commands.h"

#include <array>

namespace strata::wire {
namespace {

constexpr std::array<CommandInfo, 32> kCommands = {{
    // command, name, writes, request frames, reply frames: least, most
    {Command::kHello, "HELLO", false, 1, 1, 2},
    {Command::kShardMap, "SHARD_MAP", false, 0, 1, 1},
    {Command::kPing, "PING", false, 0, 0, 0},
    {Command::kLeave, "LEAVE", false, 0, 0, 0},
    {Command::kCreateTable, "CREATE_TABLE", true, 1, 0, 0},
    {Command::kDropTable, "DROP_TABLE", true, 0, 0, 0},
    {Command::kListTables, "LIST_TABLES", false, 0, 1, 1},
    {Command::kPull, "PULL", false, 1, 1, 1},
    {Command::kPush, "PUSH", true, 2, 0, 0},
    {Command::kPut, "PUT", true, 2, 0, 0},
    {Command::kErase, "ERASE", true, 1, 0, 1},
    {Command::kScan, "SCAN", false, 0, 2, 3},
    {Command::kStats, "STATS", false, 0, 1, 1},
    {Command::kPrefetch, "PREFETCH", false, 1, 0, 0},
    {Command::kPushPull, "PUSH_PULL", true, 3, 0, 1},
    {Command::kCheckpoint, "CHECKPOINT", false, 0, 1, 1},
    {Command::kCommitCheckpoint, "COMMIT_CHECKPOINT", false, 2, 0, 0},
    {Command::kTrimLog, "TRIM_LOG", false, 0, 0, 0},
    {Command::kListCheckpoints, "LIST_CHECKPOINTS", false, 0, 1, 2},
    {Command::kReadAttachment, "READ_ATTACHMENT", false, 1, 1, 1},
    {Command::kRestore, "RESTORE", true, 0, 0, 0},
    {Command::kCut, "CUT", false, 0, 0, 0},
    {Command::kControl, "CONTROL", false, 1, 1, 1},
    {Command::kCreateCollection, "CREATE_COLLECTION", true, 1, 0, 0},
    {Command::kDropCollection, "DROP_COLLECTION", true, 0, 0, 0},
    {Command::kListCollections, "LIST_COLLECTIONS", false, 0, 1, 1},
    {Command::kChangeItems, "CHANGE_ITEMS", true, 1, 0, 0},
    {Command::kReadItems, "READ_ITEMS", false, 1, 1, 1},
    {Command::kSearch, "SEARCH", false, 3, 2, 3},
    {Command::kCollectionStats, "COLLECTION_STATS", false, 0, 1, 1},
    {Command::kFollowItems, "FOLLOW_ITEMS", false, 1, 3, 3},
    {Command::kScanItems, "SCAN_ITEMS", false, 0, 1, 1},
}};

}  // namespace

std::span<const CommandInfo> CommandTable() { return kCommands; }

const CommandInfo* FindCommand(uint16_t number) {
  for (const CommandInfo& info : kCommands) {
    if (static_cast<uint16_t>(info.command) == number) return &info;
  }
  return nullptr;
}

}  // namespace strata::wire
