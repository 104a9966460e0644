#include "proto/wire/commands.h"

#include <array>

namespace strata::wire {
namespace {

constexpr std::array<CommandInfo, 32> kCommands = {{
    // command, name, writes, names, request frames, reply frames: least, most
    {Command::kHello, "HELLO", false, false, 1, 1, 2},
    {Command::kShardMap, "SHARD_MAP", false, false, 0, 1, 1},
    {Command::kPing, "PING", false, false, 0, 0, 0},
    {Command::kLeave, "LEAVE", false, false, 0, 0, 0},
    {Command::kCreateTable, "CREATE_TABLE", true, false, 1, 0, 0},
    {Command::kDropTable, "DROP_TABLE", true, true, 0, 0, 0},
    {Command::kListTables, "LIST_TABLES", false, false, 0, 1, 1},
    {Command::kPull, "PULL", false, true, 1, 1, 2},
    {Command::kPush, "PUSH", true, true, 2, 0, 0},
    {Command::kPut, "PUT", true, true, 2, 0, 0},
    {Command::kErase, "ERASE", true, true, 1, 0, 1},
    {Command::kScan, "SCAN", false, true, 0, 2, 3},
    {Command::kStats, "STATS", false, true, 0, 1, 1},
    {Command::kPrefetch, "PREFETCH", false, true, 1, 0, 0},
    {Command::kPushPull, "PUSH_PULL", true, true, 3, 0, 1},
    {Command::kCheckpoint, "CHECKPOINT", false, false, 0, 1, 1},
    {Command::kCommitCheckpoint, "COMMIT_CHECKPOINT", false, false, 2, 0, 0},
    {Command::kTrimLog, "TRIM_LOG", false, false, 0, 0, 0},
    {Command::kListCheckpoints, "LIST_CHECKPOINTS", false, false, 0, 1, 2},
    {Command::kReadAttachment, "READ_ATTACHMENT", false, false, 1, 1, 1},
    {Command::kRestore, "RESTORE", true, false, 0, 0, 0},
    {Command::kCut, "CUT", false, false, 0, 0, 0},
    {Command::kControl, "CONTROL", false, false, 1, 1, 1},
    {Command::kCreateCollection, "CREATE_COLLECTION", true, false, 1, 0, 0},
    {Command::kDropCollection, "DROP_COLLECTION", true, true, 0, 0, 0},
    {Command::kListCollections, "LIST_COLLECTIONS", false, false, 0, 1, 1},
    {Command::kChangeItems, "CHANGE_ITEMS", true, true, 1, 0, 0},
    {Command::kReadItems, "READ_ITEMS", false, true, 1, 1, 1},
    {Command::kSearch, "SEARCH", false, true, 3, 2, 3},
    {Command::kCollectionStats, "COLLECTION_STATS", false, true, 0, 1, 1},
    {Command::kFollowItems, "FOLLOW_ITEMS", false, true, 1, 3, 3},
    {Command::kScanItems, "SCAN_ITEMS", false, true, 0, 1, 1},
}};

}  // namespace

std::span<const CommandInfo> CommandTable() { return kCommands; }

const CommandInfo* FindCommand(uint16_t number) {
  for (const CommandInfo& info : kCommands) {
    if (static_cast<uint16_t>(info.command) == number) return &info;
  }
  return nullptr;
}

uint8_t RequestFramesMax(const CommandInfo& info) {
  const bool may_name_table = info.command == Command::kRestore;
  return static_cast<uint8_t>(info.request_frames + (may_name_table ? 1 : 0));
}

}  // namespace strata::wire
