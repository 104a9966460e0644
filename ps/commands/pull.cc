// PULL: rows by key. Changes nothing; a synchronous one waits until the step before is closed.
#include <fmt/format.h>

#include <utility>

#include "proto/wire/existence.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"

namespace strata {
namespace {

// OK and true: it waits.
Result<bool> ParkIfEarly(LaneState& lane, const Request& request, std::vector<Key>& keys) {
  if (!request.header.is(wire::kFlagSync)) return false;
  const SyncMember member = MemberOf(request);
  STRATA_TRY(lane.barrier.Claim(member, false, request.now));
  if (lane.barrier.CanPull(member)) return false;
  // What has begun is completed while draining; nothing else begins.
  if (!lane.barrier.AllBegun(member)) STRATA_TRY(lane.CheckNotDraining());
  ParkedPull pull{.reply_to = request.reply_to(),
                  .step = member.step,
                  .keys = std::move(keys),
                  .deadline = request.deadline};
  STRATA_TRY(lane.Count(Refusal::kQueue, lane.barrier.AddPull(member, std::move(pull))));
  return true;
}

void Gather(LaneState& lane, LocalTable& table, const ReplyTo& to, std::span<const Key> keys) {
  LaneState::GatheredPulls& gathered = lane.gathered_pulls;
  if (gathered.table != &table || gathered.keys.size() + keys.size() > kGatheredKeysMax) {
    AnswerGathered(lane);
  }
  LaneState::GatheredPulls::Pull pull{to, keys.size()};
  gathered.pulls.reserve(gathered.pulls.size() + 1);  // all that follows is there, or nothing
  gathered.keys.insert(gathered.keys.end(), keys.begin(), keys.end());
  gathered.table = &table;
  gathered.pulls.push_back(std::move(pull));
}

void ReplyRows(LaneState& lane, const ReplyTo& to, uint32_t dim, Message rows) {
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.width = dim;
  lane.ReplyWith(to.peer, header, std::move(rows));
}

Status CheckExisting(const wire::Header& header) {
  if (!header.is(wire::kFlagFull) || header.count <= wire::kExistenceKeysMax) return {};
  return Invalid(
      fmt::format("a pull that asks which keys have a row has at most {} keys, found {}; split the "
                  "pull",
                  wire::kExistenceKeysMax, header.count));
}

// With the rows, and which of them exist: a table counts the keys that it is asked for and has.
void AnswerExisting(LaneState& lane, LocalTable& table, const ReplyTo& to,
                    std::span<const Key> keys) {
  const uint32_t dim = table.spec().dim;
  std::vector<float> rows(keys.size() * dim);
  std::vector<uint8_t> exists(keys.size());
  uint64_t hits = table.Stats().lookup_hits;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Status status = table.Lookup(keys.subspan(i, 1), std::span(rows).subspan(i * dim, dim));
    if (!status.ok()) return lane.Reply(to, status);
    const uint64_t before = std::exchange(hits, table.Stats().lookup_hits);
    exists[i] = hits == before ? 0 : 1;
  }
  lane.metrics.pulled_keys.Add(keys.size());
  ReplyRows(lane, to, dim, {Frame::Own(std::move(rows)), Frame::Own(std::move(exists))});
}

}  // namespace

Status CheckRowsOut(const LocalTable& table, size_t count, uint32_t width) {
  const TableSpec& spec = table.spec();
  if (width != 0 && width != spec.dim) {
    return Invalid(fmt::format("table '{}' has dimension {}, the pull expects {}", spec.name,
                               spec.dim, width));
  }
  const size_t bytes = count * spec.dim * sizeof(float);
  const size_t limit = wire::kMessageBytesMax - wire::kHeaderBytes;
  if (bytes <= limit) return {};
  return Invalid(
      fmt::format("{} rows of dimension {} are {} bytes, a reply holds {}; split the "
                  "pull",
                  count, spec.dim, bytes, limit));
}

void HandlePull(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<LocalTable*> table = lane.FindTable(request.header);
  if (!table.ok()) return lane.Reply(to, table.status());
  const wire::Header& header = request.header;
  Status fits = CheckRowsOut(**table, header.count, header.width);
  if (fits.ok()) fits = CheckExisting(header);
  if (!fits.ok()) return lane.Reply(to, fits);
  Result<std::vector<Key>> keys = OwnedKeys(lane, request);
  if (!keys.ok()) return lane.Reply(to, keys.status());
  const Result<bool> parked = ParkIfEarly(lane, request, *keys);
  if (!parked.ok()) return lane.Reply(to, parked.status());
  if (*parked) return;
  if ((*table)->PrefersLargeBatches() && !header.is(wire::kFlagFull)) {
    Gather(lane, **table, to, *keys);
  } else {
    AnswerPull(lane, **table, to, *keys);
  }
}

void AnswerGathered(LaneState& lane) {
  if (lane.gathered_pulls.pulls.empty()) return;
  const MustAllocate must;
  const LaneState::GatheredPulls gathered = std::exchange(lane.gathered_pulls, {});
  const Result<Frame> rows = LookUp(lane, *gathered.table, gathered.keys);
  const uint32_t dim = gathered.table->spec().dim;
  size_t begin = 0;
  for (const LaneState::GatheredPulls::Pull& pull : gathered.pulls) {
    const size_t bytes = pull.keys * dim * sizeof(float);
    if (rows.ok()) {
      ReplyRows(lane, pull.to, dim, {rows->Part(begin, bytes)});
    } else {
      lane.Reply(pull.to, rows.status());
    }
    begin += bytes;
  }
}

Result<Frame> LookUp(LaneState& lane, LocalTable& table, std::span<const Key> keys) {
  return OrOutOfMemory("rows that are pulled", [&]() -> Result<Frame> {
    const size_t elements = keys.size() * table.spec().dim;
    const std::shared_ptr<float[]> owner = table.RoomForRows(elements);
    const std::span<float> rows(owner.get(), elements);
    STRATA_TRY(table.Lookup(keys, rows));
    lane.metrics.pulled_keys.Add(keys.size());
    return Frame(owner, std::as_bytes(rows));
  });
}

void AnswerPull(LaneState& lane, LocalTable& table, const ReplyTo& to, std::span<const Key> keys) {
  if (to.request.is(wire::kFlagFull)) return AnswerExisting(lane, table, to, keys);
  Result<Frame> rows = LookUp(lane, table, keys);
  if (!rows.ok()) return lane.Reply(to, rows.status());
  ReplyRows(lane, to, table.spec().dim, {std::move(*rows)});
}

}  // namespace strata
