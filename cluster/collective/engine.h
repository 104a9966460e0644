// The engine: runs a schedule over an exchanger.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cluster/collective/blocks.h"
#include "cluster/link/exchange/exchange.h"
#include "cluster/schedule/schedule.h"
#include "strata/status.h"

namespace strata {

// Memory that calls use again.
struct Workspace {
  std::vector<std::span<const std::byte>> send;
  std::vector<std::span<std::byte>> receive;
  std::vector<std::byte> bytes;
};

// A buffer and its blocks.
struct Blocks {
  std::span<std::byte> bytes;
  const BlockOffsets* offsets = nullptr;
};

struct ScheduleCall {
  const Schedule* schedule = nullptr;
  ExchangeTag tag;                       // step 0
  Blocks from;                           // what sends name; only read
  Blocks into;                           // what receives name; mostly the same
  const Reduction* reduction = nullptr;  // of schedules that reduce
  TimeNs deadline = 0;
};

// Blocks lie at their final places from the start: nothing is rotated, and nothing is allocated
// once `workspace` has grown.
Status RunSchedule(Exchanger& exchanger, const ScheduleCall& call, Workspace* workspace);

}  // namespace strata
