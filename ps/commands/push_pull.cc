// PUSH_PULL: a push, and rows as they are once it is applied, in one message. Of a synchronous step
// that is the next step's pull.
#include <fmt/format.h>

#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"

namespace strata {

Status SplitPushPull(const LaneState& lane, Request& request) {
  const Frame keys = request.payload[2];
  if (keys.size() % sizeof(Key) != 0) {
    return Invalid(fmt::format("keys to look up: expected {} bytes each, found {} in all",
                               sizeof(Key), keys.size()));
  }
  const auto count = static_cast<uint32_t>(keys.size() / sizeof(Key));
  STRATA_TRY(CheckKeyCount(lane, count));
  STRATA_ASSIGN(std::vector<Key> then, wire::ReadKeys(keys, count));
  STRATA_TRY(lane.CheckOwned(then));
  request.then = std::move(then);
  request.payload.pop_back();
  request.header.command = wire::Command::kPush;
  request.header.frames = 2;
  request.header.body_bytes -= static_cast<uint32_t>(keys.size());
  return {};
}

void AnswerWrite(LaneState& lane, const ReplyTo& to, const Status& status, Lsn lsn,
                 const std::optional<std::vector<Key>>& then) {
  if (!status.ok() || !then) return lane.ReplyToWrite(to, status, lsn);
  // A repeat may find the table changed since.
  const Result<LocalTable*> table = lane.FindTable(to.request);
  Status found = table.ok() ? CheckRowsOut(**table, then->size(), 0) : table.status();
  WriteAnswer out;
  if (found.ok()) {
    Result<Frame> rows = LookUp(lane, **table, *then);
    found = rows.status();
    if (rows.ok()) {
      out = {.count = static_cast<uint32_t>(then->size()),
             .width = (*table)->spec().dim,
             .frame = std::move(*rows)};
    }
  }
  if (!found.ok()) {
    return lane.ReplyToWrite(to, found.Prefixed("the push was applied; its rows"), lsn);
  }
  lane.ReplyToWrite(to, status, lsn, &out);
}

}  // namespace strata
