// PULL: rows by key. Changes nothing; a synchronous one waits until the step before is closed.
#include <fmt/format.h>

#include "ps/service/handlers.h"

namespace strata {
namespace {

Status CheckPull(const LocalTable& table, const wire::Header& header) {
  const TableSpec& spec = table.spec();
  if (header.width != 0 && header.width != spec.dim) {
    return Invalid(fmt::format("table '{}' has dimension {}, the pull expects {}", spec.name,
                               spec.dim, header.width));
  }
  const size_t bytes = size_t{header.count} * spec.dim * sizeof(float);
  const size_t limit = wire::kMessageBytesMax - wire::kHeaderBytes;
  if (bytes <= limit) return {};
  return Invalid(
      fmt::format("{} rows of dimension {} are {} bytes, a reply holds {}; split the "
                  "pull",
                  header.count, spec.dim, bytes, limit));
}

// OK and true: it waits.
Result<bool> ParkIfEarly(LaneState& lane, const Request& request, std::vector<Key>& keys) {
  if (!request.header.is(wire::kFlagSync)) return false;
  const SyncMember member = MemberOf(request);
  STRATA_TRY(lane.barrier.Claim(member, false, request.now));
  if (lane.barrier.CanPull(member)) return false;
  // What has begun is completed while draining; nothing else begins.
  if (!lane.barrier.AllBegun(member)) STRATA_TRY(lane.CheckNotDraining());
  STRATA_TRY(lane.barrier.AddPull(member, {.reply_to = request.reply_to(),
                                           .step = member.step,
                                           .keys = std::move(keys),
                                           .deadline = request.deadline}));
  return true;
}

}  // namespace

void HandlePull(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<LocalTable*> table = lane.FindTable(request.header.table);
  if (!table.ok()) return lane.Reply(to, table.status());
  if (const Status status = CheckPull(**table, request.header); !status.ok()) {
    return lane.Reply(to, status);
  }
  Result<std::vector<Key>> keys = OwnedKeys(lane, request);
  if (!keys.ok()) return lane.Reply(to, keys.status());
  const Result<bool> parked = ParkIfEarly(lane, request, *keys);
  if (!parked.ok()) return lane.Reply(to, parked.status());
  if (!*parked) AnswerPull(lane, **table, to, *keys);
}

void AnswerPull(LaneState& lane, LocalTable& table, const ReplyTo& to, std::span<const Key> keys) {
  const uint32_t dim = table.spec().dim;
  // No std::vector, which would clear what the lookup overwrites.
  const size_t elements = keys.size() * dim;
  const auto owner = std::make_shared_for_overwrite<float[]>(elements);
  const std::span<float> rows(owner.get(), elements);
  table.Lookup(keys, rows);
  lane.metrics.pulled_keys.Add(keys.size());
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.width = dim;
  lane.ReplyWith(to.peer, header, {Frame(owner, std::as_bytes(rows))});
}

}  // namespace strata
