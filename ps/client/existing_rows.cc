#include "ps/client/existing_rows.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "proto/wire/commands.h"
#include "proto/wire/existence.h"

namespace strata {
namespace {

Status CheckReply(const TableSpec& spec, const wire::Received& reply, size_t keys) {
  const bool rows_fit = reply.header.count == keys && reply.header.width == spec.dim &&
                        reply.payload[0].size() == keys * spec.dim * sizeof(float);
  if (rows_fit && (reply.payload.size() < 2 || reply.payload[1].size() == keys)) return {};
  return Invalid(
      fmt::format("table '{}': a reply of {} rows x {} does not fit the request for {} "
                  "x {}",
                  spec.name, reply.header.count, reply.header.width, keys, spec.dim));
}

// Each of the reply's rows to its place in `rows`.
Status TakeRows(const TableSpec& spec, const wire::Received& reply,
                std::span<const size_t> positions, std::vector<ExistingRow>* rows) {
  STRATA_TRY(CheckReply(spec, reply, positions.size()));
  STRATA_ASSIGN(const std::vector<float> values,
                wire::ReadRows(reply.payload[0], reply.header.count, spec.dim));
  for (size_t i = 0; i < positions.size(); ++i) {
    ExistingRow& row = (*rows)[positions[i]];
    const auto of_row = std::span(values).subspan(i * spec.dim, spec.dim);
    row.values.assign(of_row.begin(), of_row.end());
    if (reply.payload.size() > 1) row.exists = reply.payload[1].bytes()[i] != std::byte{0};
  }
  return {};
}

}  // namespace

Result<std::vector<ExistingRow>> LookUpExisting(LaneExchange& lanes, const TableSpec& spec,
                                                std::span<const Key> keys, TimeNs deadline) {
  const wire::ShardMap map = lanes.Map();
  LaneMessages messages{.command = wire::Command::kPull,
                        .collection = static_cast<uint64_t>(spec.id()),
                        .deadline = deadline};
  std::vector<std::vector<size_t>> positions;  // of each message's keys
  std::vector<std::vector<size_t>> of_lane(map.lanes.size());
  const auto close = [&](uint16_t lane) {
    std::vector<Key> asked;
    for (const size_t at : of_lane[lane]) asked.push_back(keys[at]);
    if (asked.empty()) return;
    messages.parts.push_back({.lane = lane,
                              .flags = wire::kFlagFull,
                              .count = static_cast<uint32_t>(asked.size()),
                              .reply_bytes = asked.size() * (spec.dim * sizeof(float) + 1),
                              .payload = {Frame::Own(std::move(asked))}});
    positions.push_back(std::exchange(of_lane[lane], {}));
  };
  for (size_t at = 0; at < keys.size(); ++at) {
    const uint16_t lane = map.LaneOf(keys[at]);
    of_lane[lane].push_back(at);
    if (of_lane[lane].size() == wire::kExistenceKeysMax) close(lane);
  }
  for (size_t lane = 0; lane < of_lane.size(); ++lane) close(static_cast<uint16_t>(lane));
  STRATA_ASSIGN(const std::vector<wire::Received> replies, lanes.Exchange(std::move(messages)));
  std::vector<ExistingRow> rows(keys.size());
  for (size_t i = 0; i < replies.size(); ++i) {
    STRATA_TRY(TakeRows(spec, replies[i], positions[i], &rows));
  }
  return rows;
}

}  // namespace strata
