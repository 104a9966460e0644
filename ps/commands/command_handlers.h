// Which functions carry out a command: a row for each row of the command table.
#pragma once

#include <span>

#include "ps/commands/dispatch.h"

namespace strata {

struct CommandHandler {
  wire::Command command;
  // Answers the request. Writes come through HandleWrite, which asks the dedup window first.
  void (*handle)(LaneState& lane, Request request);
  // Carries out a write, once; null for what is none.
  Result<Applied> (*apply)(LaneState& lane, Request& request) = nullptr;
};

std::span<const CommandHandler> CommandHandlers();
const CommandHandler* FindHandler(wire::Command command);  // null: there is none

}  // namespace strata
