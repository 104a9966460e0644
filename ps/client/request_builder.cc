#include "ps/client/request_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/human_text.h"
#include "proto/wire/command_table.h"
#include "proto/wire/commands.h"
#include "ps/client/split.h"
#include "ps/client/table_wire.h"

namespace strata::client {
namespace {

constexpr size_t kBodyBytesMax = wire::kMessageBytesMax - wire::kHeaderBytes;

wire::Command CommandOf(OpKind kind) {
  switch (kind) {
    case OpKind::kUpdate:
      return wire::Command::kPush;
    case OpKind::kUpdateLookup:
      return wire::Command::kPushPull;
    case OpKind::kAssign:
      return wire::Command::kPut;
    case OpKind::kErase:
      return wire::Command::kErase;
    case OpKind::kScan:
      return wire::Command::kScan;
    case OpKind::kStats:
      return wire::Command::kStats;
    default:
      return wire::Command::kPull;
  }
}

uint32_t WidthOf(const TablePart& part) {
  const size_t in = part.keys.empty() ? 0 : part.in.size() / part.keys.size();
  const size_t keys_out = part.then.empty() ? part.keys.size() : part.then.size();
  const size_t out = keys_out == 0 ? 0 : part.out.size() / keys_out;
  return static_cast<uint32_t>(std::max(in, out));
}

class Builder {
 public:
  Builder(const std::shared_ptr<Call>& call, const wire::ShardMap& map, KeyShare share,
          size_t chunk_bytes, WorkPool* threads)
      : call_(call), map_(map), share_(share), chunk_bytes_(chunk_bytes), threads_(threads) {}

  Status AddPart(size_t index) {
    const TablePart& part = call_->operation.parts[index];
    switch (call_->operation.kind) {
      case OpKind::kUpdateLookup:
        return AddUpdateLookup(index, part);
      case OpKind::kScan:
        return AddScan(index, *part.page);
      case OpKind::kStats:
        *part.stats = {};
        for (size_t lane = 0; lane < map_.lanes.size(); ++lane) Add(index, lane, {});
        return {};
      default:
        return AddKeys(index, part);
    }
  }

  std::vector<std::shared_ptr<Request>> Take() { return std::move(requests_); }

 private:
  Request& Add(size_t index, size_t lane, std::vector<uint32_t> positions) {
    const Operation& operation = call_->operation;
    const TablePart& part = operation.parts[index];
    auto request = std::make_shared<Request>();
    request->call = call_;
    request->part = index;
    request->lane = static_cast<uint16_t>(lane);
    request->positions = std::move(positions);
    wire::Header& header = request->header;
    header.command = CommandOf(operation.kind);
    header.epoch = map_.epoch;
    header.SetName(static_cast<uint64_t>(part.table));
    header.count = static_cast<uint32_t>(request->positions.size());
    header.width = WidthOf(part);
    header.ack = static_cast<uint8_t>(operation.ack);
    header.step = operation.step;
    if (operation.kind == OpKind::kErase) header.flags |= wire::kFlagFull;
    if (operation.sync) {
      header.flags |= wire::kFlagSync;
      header.group = operation.sync->id + share_.index;
      header.rank = operation.sync->rank;
      header.world = operation.sync->world;
      header.first_step = operation.sync->first_step;
    }
    request->writes = wire::InfoOf(header.command).has(wire::kWrites);
    request->bytes = 2 * wire::kHeaderBytes +
                     request->positions.size() * (sizeof(Key) + sizeof(float) * header.width);
    requests_.push_back(request);
    return *request;
  }

  Status AddScan(size_t index, const ScanPage& page) {
    if (page.lane >= map_.lanes.size()) {
      return Invalid(fmt::format("a scan goes on in lane {}, but the cluster has {}", page.lane,
                                 Counted(map_.lanes.size(), "lane")));
    }
    Request& request = Add(index, page.lane, {});
    request.header.cursor = page.cursor;
    request.header.count = page.rows_max;
    if (page.with_state) request.header.flags |= wire::kFlagWithState;
    return {};
  }

  // Nothing of it is split further: what is looked up has to see all that is pushed.
  Status AddUpdateLookup(size_t index, const TablePart& part) {
    auto lanes = SplitKeys(part, part.keys, map_, share_, threads_);
    auto then = SplitKeys(part, part.then, map_, share_, threads_);
    const size_t row_bytes = sizeof(float) * WidthOf(part);
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      const size_t out_bytes = then[lane].size() * row_bytes;
      const size_t in_bytes =
          lanes[lane].size() * (sizeof(Key) + row_bytes) + then[lane].size() * sizeof(Key);
      if (std::max(in_bytes, out_bytes) > kBodyBytesMax ||
          std::max(lanes[lane].size(), then[lane].size()) > wire::kKeysMax) {
        return Refused(fmt::format(
            "an update of {} keys and a lookup of {} in one, all to one lane, exceed the {} bytes "
            "or {} keys of a message; make the batch smaller, run more lanes, or use two "
            "operations",
            lanes[lane].size(), then[lane].size(), wire::kMessageBytesMax, wire::kKeysMax));
      }
      if (lanes[lane].empty() && then[lane].empty() && !call_->operation.sync) continue;
      Request& request = Add(index, lane, std::move(lanes[lane]));
      request.bytes += then[lane].size() * (sizeof(Key) + row_bytes);
      request.then = std::move(then[lane]);
    }
    return {};
  }

  Status AddKeys(size_t index, const TablePart& part) {
    const bool update = call_->operation.kind == OpKind::kUpdate;
    const bool whole = update && call_->operation.sync.has_value();
    const size_t key_bytes = sizeof(Key) + sizeof(float) * WidthOf(part);
    const size_t keys_hard_max = std::min(kBodyBytesMax / key_bytes, wire::kKeysMax);
    const size_t keys_max =
        whole ? keys_hard_max : std::clamp<size_t>(chunk_bytes_ / key_bytes, 1, keys_hard_max);
    auto lanes = SplitKeys(part, part.keys, map_, share_, threads_);
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      const bool first_of_empty = part.keys.empty() && lane == 0;
      if (lanes[lane].empty() && !whole && !first_of_empty) continue;
      if (whole && lanes[lane].size() > keys_max) {
        return Refused(fmt::format(
            "a synchronous push of {} keys to one lane exceeds the {} bytes or {} keys of a "
            "message; make the batch smaller or run more lanes",
            lanes[lane].size(), wire::kMessageBytesMax, wire::kKeysMax));
      }
      const bool writes = call_->operation.kind != OpKind::kLookup;
      STRATA_ASSIGN(auto pieces, SplitBySize(part.keys, std::move(lanes[lane]), keys_max,
                                             keys_hard_max, writes));
      for (auto& piece : pieces) Add(index, lane, std::move(piece));
    }
    return {};
  }

  const std::shared_ptr<Call>& call_;
  const wire::ShardMap& map_;
  const KeyShare share_;
  const size_t chunk_bytes_;
  WorkPool* const threads_;
  std::vector<std::shared_ptr<Request>> requests_;
};

Status WrongReply(const wire::Received& reply, size_t rows, uint32_t width) {
  return Invalid(fmt::format("reply of {} rows x {} does not fit the request for {} x {}",
                             reply.header.count, reply.header.width, rows, width));
}

// The rows of the keys at `positions` of the part's, into their places.
Status TakeRows(const Request& request, std::span<const uint32_t> positions,
                const wire::Received& reply, WorkPool* threads) {
  if (positions.empty() && reply.header.count == 0) return {};
  const uint32_t width = request.header.width;
  const size_t row_bytes = sizeof(float) * width;
  if (reply.payload.size() != 1 || reply.header.count != positions.size() ||
      reply.header.width != width || reply.payload[0].size() != positions.size() * row_bytes) {
    return WrongReply(reply, positions.size(), width);
  }
  std::span<float> out = request.call->operation.parts[request.part].out;
  PlaceRows(positions, reply.payload[0].bytes(), row_bytes, std::as_writable_bytes(out).data(),
            threads);
  return {};
}

Status TakeCounters(const Frame& frame, uint32_t count, std::vector<RowCounters>& counters) {
  if (frame.size() != size_t{count} * sizeof(RowCounters)) {
    return Invalid(fmt::format("scan reply: {} counters are {} bytes, found {}", count,
                               size_t{count} * sizeof(RowCounters), frame.size()));
  }
  counters.resize(count);
  if (count > 0) std::memcpy(counters.data(), frame.bytes().data(), frame.size());
  return {};
}

Status TakePage(const Request& request, const wire::Received& reply, const wire::ShardMap& map) {
  ScanPage& page = *request.call->operation.parts[request.part].page;
  const wire::Header& header = reply.header;
  if (reply.payload.size() != (page.with_state ? 3U : 2U)) {
    return WrongReply(reply, request.header.count, request.header.width);
  }
  STRATA_ASSIGN(page.keys, wire::ReadKeys(reply.payload[0], header.count));
  STRATA_ASSIGN(page.rows, wire::ReadRows(reply.payload[1], header.count, header.width));
  page.counters.clear();
  if (page.with_state) STRATA_TRY(TakeCounters(reply.payload[2], header.count, page.counters));
  const bool lane_done = header.is(wire::kFlagDone);
  page.lane = request.lane + (lane_done ? 1U : 0U);
  page.cursor = lane_done ? 0 : header.cursor;
  page.done = page.lane == map.lanes.size();
  return {};
}

Status AddStats(const Request& request, const wire::Received& reply) {
  STRATA_ASSIGN(const wire::StatsReply more, wire::DecodeStats(reply.payload[0].bytes()));
  TableStats& stats = *request.call->operation.parts[request.part].stats;
  stats.rows += more.rows;
  stats.bytes += more.bytes;
  stats.lookups += more.lookups;
  stats.lookup_hits += more.lookup_hits;
  stats.updates += more.updates;
  stats.steps = std::max(stats.steps, more.steps);  // one update may reach every lane
  stats.rejected += more.rejected;
  return {};
}

Status AddErased(Call& call, const wire::Received& reply) {
  if (reply.payload.empty()) {
    call.erased.reset();
    return {};
  }
  STRATA_ASSIGN(const std::vector<uint64_t> rows, wire::ReadKeys(reply.payload[0], 1));
  if (call.erased) *call.erased += rows[0];
  return {};
}

Status TakeTables(const Request& request, const wire::Received& reply) {
  STRATA_ASSIGN(const auto definitions, wire::DecodeTableDefinitions(reply.payload[0].bytes()));
  for (const wire::TableDefinition& definition : definitions) {
    STRATA_ASSIGN(TableSpec spec, FromWire(definition));
    auto& tables = request.call->tables;
    const auto at =
        std::lower_bound(tables.begin(), tables.end(), spec,
                         [](const TableSpec& a, const TableSpec& b) { return a.name < b.name; });
    if (at == tables.end() || at->name != spec.name) tables.insert(at, std::move(spec));
  }
  return {};
}

}  // namespace

Result<std::vector<std::shared_ptr<Request>>> BuildRequests(const std::shared_ptr<Call>& call,
                                                            const wire::ShardMap& map,
                                                            KeyShare share, size_t chunk_bytes,
                                                            WorkPool* threads) {
  Builder builder(call, map, share, chunk_bytes, threads);
  for (size_t i = 0; i < call->operation.parts.size(); ++i) STRATA_TRY(builder.AddPart(i));
  return builder.Take();
}

Message BuildPayload(const Request& request, WorkPool* threads) {
  using wire::Command;
  const Command command = request.header.command;
  if (request.reply_at) return request.payload;
  if (command == Command::kCreateTable) {
    return {wire::EncodeTableDefinitions(std::span(&*request.definition, 1))};
  }
  Message payload;
  const bool brings_rows =
      command == Command::kPush || command == Command::kPushPull || command == Command::kPut;
  if (command != Command::kPull && command != Command::kErase && !brings_rows) return payload;
  const Operation& operation = request.call->operation;
  const TablePart& part = operation.parts[request.part];
  const auto& owner = operation.owner;
  payload.push_back(RowsAt(request.positions, part.keys, 1, owner, threads));
  if (brings_rows) {
    payload.push_back(RowsAt(request.positions, part.in, request.header.width, owner, threads));
  }
  if (command == Command::kPushPull) {
    payload.push_back(RowsAt(request.then, part.then, 1, owner, threads));
  }
  return payload;
}

Status TakeReply(const Request& request, const wire::Received& reply, const wire::ShardMap& map,
                 WorkPool* threads) {
  if (request.reply_at) {
    request.call->replies[*request.reply_at] = reply;
    return {};
  }
  switch (request.header.command) {
    case wire::Command::kPull:
      return TakeRows(request, request.positions, reply, threads);
    case wire::Command::kPushPull:
      return TakeRows(request, request.then, reply, threads);
    case wire::Command::kScan:
      return TakePage(request, reply, map);
    case wire::Command::kStats:
      return AddStats(request, reply);
    case wire::Command::kErase:
      return AddErased(*request.call, reply);
    case wire::Command::kListTables:
      return TakeTables(request, reply);
    default:
      return {};
  }
}

}  // namespace strata::client
