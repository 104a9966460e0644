// The records of a lane's log, applied again: by the same code, and in the same order.
#include "ps/commands/replay.h"

#include <fmt/format.h>

#include "ps/commands/checkpoints.h"
#include "ps/commands/collections.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"

namespace strata {
namespace {

Status ReplayWrites(LaneState& lane, const LogRecord& record, TimeNs now) {
  STRATA_ASSIGN(std::vector<LoggedWrite> writes, DecodeWrites(record.body));
  std::vector<Request> requests;
  for (LoggedWrite& write : writes) {
    requests.push_back(
        {.peer = {}, .header = write.header, .payload = std::move(write.payload), .now = now});
  }
  const bool step = requests.front().header.is(wire::kFlagSync);
  if (!step && requests.size() != 1) return Corrupt("several writes that are no step");
  Status applied;
  if (step) {
    applied = ReplayStep(lane, std::move(requests));
  } else {
    applied = Apply(lane, requests.front()).status();
  }
  STRATA_TRY(applied);
  for (const LoggedWrite& write : writes) {
    const wire::Header& header = write.header;
    lane.dedup.Restore({header.client_hi, header.client_lo}, header.sequence, header.settled_below,
                       {}, record.lsn, now);
  }
  return {};
}

Status ReplayAnswer(LaneState& lane, const LogRecord& record, TimeNs now) {
  STRATA_ASSIGN(const LoggedAnswer answer, DecodeAnswer(record.body));
  const wire::Header& header = answer.header;
  lane.dedup.Restore({header.client_hi, header.client_lo}, header.sequence, header.settled_below,
                     answer.answer, record.lsn, now);
  return {};
}

Status ReplayExpired(LaneState& lane, const LogRecord& record) {
  STRATA_ASSIGN(const ClientId client, DecodeExpired(record.body));
  lane.dedup.Expire(client);
  return {};
}

Status ReplayCut(LaneState& lane, const LogRecord& record, TimeNs now) {
  STRATA_ASSIGN(const uint32_t number, DecodeCut(record.body));
  if (wire::CutOrNone(number) == 0) return {};  // an older version took any number from anybody
  if (number <= lane.checkpoint.cut) {
    return Corrupt(fmt::format("cut {} behind cut {}", number, lane.checkpoint.cut));
  }
  return CutLane(lane, number, now);
}

Status ReplayOne(LaneState& lane, const LogRecord& record, TimeNs now) {
  switch (record.kind) {
    case RecordKind::kWrites:
      return ReplayWrites(lane, record, now);
    case RecordKind::kAnswer:
      return ReplayAnswer(lane, record, now);
    case RecordKind::kExpired:
      return ReplayExpired(lane, record);
    case RecordKind::kCut:
      return ReplayCut(lane, record, now);
    case RecordKind::kRestored:
      return ReplayRestored(lane, record, now);
    case RecordKind::kItemsNote:
      return ReplayItemsNote(lane, record, now);
    case RecordKind::kItems:
      return Corrupt("changes of a collection, which has a log of its own");
  }
  return Corrupt(fmt::format("no such kind of record: {}", static_cast<uint16_t>(record.kind)));
}

}  // namespace

Status ReplayRecord(LaneState& lane, const LogRecord& record, TimeNs now) {
  lane.replayed = record.lsn;
  const Status status = ReplayOne(lane, record, now);
  lane.replayed = 0;
  return status.Prefixed(fmt::format("record {} of the log of lane {} cannot be applied again",
                                     record.lsn, lane.config.name.lane));
}

}  // namespace strata
