// SCAN, STATS and PREFETCH: what is read of a table without a lookup.
#include <algorithm>

#include "ps/client/table_wire.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"

namespace strata {
namespace {

constexpr size_t kRowsMax = 262'144;  // of a page: others wait while it is gathered

}  // namespace

// One page of this lane's rows of a table.
void HandleScan(LaneState& lane, Request request) {
  const Result<LocalTable*> table = lane.FindTable(request.header);
  if (!table.ok()) return lane.Reply(request.reply_to(), table.status());
  const RowSchema schema = SchemaOf((*table)->spec());
  ScanPage page;
  page.cursor = request.header.cursor;
  page.with_state = request.header.is(wire::kFlagWithState);
  const uint32_t width = schema.dim + (page.with_state ? schema.state_width : 0);
  const size_t row_bytes = sizeof(Key) + width * sizeof(float) + sizeof(RowCounters);
  const size_t rows_max =
      std::min(kRowsMax, (wire::kMessageBytesMax - wire::kHeaderBytes) / row_bytes);
  const uint32_t wanted = request.header.count == 0 ? ScanPage{}.rows_max : request.header.count;
  page.rows_max = static_cast<uint32_t>(std::min<size_t>(wanted, rows_max));
  if (const Status status = (*table)->Scan(page); !status.ok()) {
    return lane.Reply(request.reply_to(), status);
  }

  wire::Header header = wire::ReplyHeader(request.header, lane.incarnation());
  header.cursor = page.cursor;
  header.count = static_cast<uint32_t>(page.keys.size());
  header.width = width;
  if (page.done) header.flags |= wire::kFlagDone;
  Message payload = {Frame::Own(std::move(page.keys)), Frame::Own(std::move(page.rows))};
  if (page.with_state) payload.push_back(Frame::Own(std::move(page.counters)));
  lane.ReplyWith(request.peer, header, std::move(payload));
}

// The counts of this lane's part of a table.
void HandleStats(LaneState& lane, Request request) {
  const Result<LocalTable*> table = lane.FindTable(request.header);
  if (!table.ok()) return lane.Reply(request.reply_to(), table.status());
  lane.Reply(request.reply_to(), {}, {wire::EncodeStats(ToWire((*table)->Stats()))});
}

// A hint. The table brings the rows of these keys up beside the requests; the reply says with
// kFlagDone that it has no need of hints.
void HandlePrefetch(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<LocalTable*> table = lane.FindTable(request.header);
  if (!table.ok()) return lane.Reply(to, table.status());
  const Result<std::vector<Key>> keys = OwnedKeys(lane, request);
  if (!keys.ok()) return lane.Reply(to, keys.status());
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  if (!(*table)->Prefetch(*keys)) header.flags |= wire::kFlagDone;
  lane.ReplyWith(to.peer, header, {});
}

}  // namespace strata
