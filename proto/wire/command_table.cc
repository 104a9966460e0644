#include "proto/wire/command_table.h"

#include <array>

namespace strata::wire {
namespace {

// By rising number. command, name, traits, frames of a request and of a reply (least, most), and
// what is in them.
constexpr std::array<CommandInfo, 32> kCommands = {{
    {Command::kHello, "HELLO", kUrgent | kAnsweredWhileBusy, 1, 1, 1, 2, "hello request",
     "hello reply; with full also lane endpoints, where there are some (an older server "
     "leaves that frame out)"},
    {Command::kShardMap, "SHARD_MAP", kUrgent | kAnsweredWhileBusy, 0, 0, 1, 1, "none",
     "shard map"},
    {Command::kPing, "PING", kUrgent | kAnsweredWhileBusy, 0, 0, 0, 0, "none", "none"},
    {Command::kLeave, "LEAVE", 0, 0, 0, 0, 0, "none", "none"},
    {Command::kCreateTable, "CREATE_TABLE", kWrites, 1, 1, 0, 0, "one table definition", "none"},
    {Command::kDropTable, "DROP_TABLE", kWrites | kNames, 0, 0, 0, 0, "none", "none"},
    {Command::kListTables, "LIST_TABLES", 0, 0, 0, 1, 1, "none", "table definitions, in one frame"},
    {Command::kPull, "PULL", kNames | kRouted, 1, 1, 1, 2, "keys",
     "rows: count x width, in the order of the keys; with full also existence (an older "
     "server leaves that frame out)"},
    {Command::kPush, "PUSH", kWrites | kNames | kRouted, 2, 2, 0, 0, "keys, gradients", "none"},
    {Command::kPut, "PUT", kWrites | kNames | kRouted, 2, 2, 0, 0, "keys, values", "none"},
    {Command::kErase, "ERASE", kWrites | kNames | kRouted, 1, 1, 0, 1, "keys",
     "none; with full the number of rows that went, u64 (not in the answer to a repeat, and "
     "an older server leaves that frame out)"},
    {Command::kScan, "SCAN", kNames | kRouted, 0, 0, 2, 3, "none",
     "keys, rows; with with_state also counters"},
    {Command::kStats, "STATS", kNames, 0, 0, 1, 1, "none", "table stats"},
    {Command::kPrefetch, "PREFETCH", kNames | kRouted, 1, 1, 0, 0, "keys", "none"},
    {Command::kPushPull, "PUSH_PULL", kWrites | kNames | kRouted, 3, 3, 0, 1,
     "keys, gradients, keys to look up", "rows, one for each of the last frame's keys"},
    {Command::kCheckpoint, "CHECKPOINT", 0, 0, 0, 1, 1, "none", "description of the lane's part"},
    {Command::kCommitCheckpoint, "COMMIT_CHECKPOINT", 0, 2, 2, 0, 0,
     "part descriptions, attachments", "none"},
    {Command::kTrimLog, "TRIM_LOG", 0, 0, 0, 0, 0, "none", "none"},
    {Command::kListCheckpoints, "LIST_CHECKPOINTS", 0, 0, 0, 1, 2, "none",
     "checkpoints, in one frame; with full also damaged checkpoints (an older server leaves "
     "that frame out); REFUSED where none are kept"},
    {Command::kReadAttachment, "READ_ATTACHMENT", 0, 1, 1, 1, 1, "its name", "its bytes"},
    {Command::kRestore, "RESTORE", kWrites, 0, 1, 0, 0, "none, or the name of one table", "none"},
    {Command::kCut, "CUT", 0, 0, 0, 0, 0, "none", "none"},
    {Command::kControl, "CONTROL", kUrgent, 1, 1, 1, 1, "protobuf", "protobuf"},
    {Command::kCreateCollection, "CREATE_COLLECTION", kWrites | kOfCollections, 1, 1, 0, 0,
     "one collection definition", "none"},
    {Command::kDropCollection, "DROP_COLLECTION", kWrites | kNames | kOfCollections, 0, 0, 0, 0,
     "none", "none"},
    {Command::kListCollections, "LIST_COLLECTIONS", kOfCollections, 0, 0, 1, 1, "none",
     "collection definitions, in one frame"},
    {Command::kChangeItems, "CHANGE_ITEMS", kWrites | kNames | kRouted | kOfCollections, 1, 1, 0, 0,
     "item changes", "none"},
    {Command::kReadItems, "READ_ITEMS", kNames | kRouted | kOfCollections, 1, 1, 1, 1, "ids",
     "item changes"},
    {Command::kSearch, "SEARCH", kNames | kRouted | kOfCollections, 3, 3, 2, 3,
     "search terms, offsets, tokens",
     "offsets, hits; with full also search explanation (an older server leaves that frame out)"},
    {Command::kCollectionStats, "COLLECTION_STATS", kNames | kOfCollections, 0, 0, 1, 1, "none",
     "collection stats"},
    {Command::kFollowItems, "FOLLOW_ITEMS", kNames | kOfCollections, 1, 1, 3, 3, "follow request",
     "follow reply, item changes of records, item changes that put documents in"},
    {Command::kScanItems, "SCAN_ITEMS", kNames | kRouted | kOfCollections, 0, 0, 1, 1, "none",
     "item changes"},
}};

}  // namespace

std::span<const CommandInfo> CommandTable() { return kCommands; }

const CommandInfo* FindCommand(uint16_t number) {
  for (const CommandInfo& info : kCommands) {
    if (static_cast<uint16_t>(info.command) == number) return &info;
  }
  return nullptr;
}

const CommandInfo& InfoOf(Command command) {
  const CommandInfo* const info = FindCommand(static_cast<uint16_t>(command));
  STRATA_CHECK(info != nullptr);
  return *info;
}

}  // namespace strata::wire
