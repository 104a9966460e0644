// The command table: a row for each command of the data plane, with its properties. Whatever asks
// what a command is asks here: the checks of messages, a lane's admission and turns, metrics'
// labels. A new command is a row here, a handler in ps/commands/command_handlers.cc and a line in
// docs/protocol.md; tests find which of them is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proto/wire/header.h"

namespace strata::wire {

// Properties of a command, bits of CommandInfo::traits.
enum CommandTrait : uint16_t {
  kWrites = 1 << 0,         // carries a sequence and is applied exactly once
  kNames = 1 << 1,          // is about a table or collection that exists, which the header names
  kRouted = 1 << 2,         // is sent by the shard map, whose epoch the header has
  kOfCollections = 1 << 3,  // what the header names is a collection
  kUrgent = 1 << 4,         // is short, and goes before what waits
  kAnsweredWhileBusy = 1 << 5,  // needs no table: a busy lane may answer it
};

struct CommandInfo {
  Command command;
  std::string_view name;  // "PULL": logs, metrics, docs
  uint16_t traits;
  uint8_t request_frames_min;  // of the payload
  uint8_t request_frames_max;
  uint8_t reply_frames_min;  // of a reply whose status is OK
  uint8_t reply_frames_max;
  std::string_view request;  // what is in the frames, as docs/protocol.md says it
  std::string_view reply;

  constexpr bool has(CommandTrait trait) const { return (traits & trait) != 0; }
};

std::span<const CommandInfo> CommandTable();
const CommandInfo* FindCommand(uint16_t number);  // null: no such command
const CommandInfo& InfoOf(Command command);       // of one that exists

}  // namespace strata::wire
