#include "ps/shard/lane.h"

#include <fmt/format.h>

#include <algorithm>

#include "ps/service/handlers.h"

namespace strata {
namespace {

// For a request that states no deadline: parked requests always end.
constexpr TimeNs kParkedMax = 600 * kSecond;
constexpr TimeNs kHousekeepingEvery = 60 * kSecond;

bool RoutesByMap(wire::Command command) {
  return command == wire::Command::kPull || command == wire::Command::kPush ||
         command == wire::Command::kPut || command == wire::Command::kErase ||
         command == wire::Command::kScan;
}

}  // namespace

Lane::Lane(LaneConfig config, LaneMetrics& metrics) : state_(std::move(config), metrics) {}

std::optional<wire::Command> Lane::Handle(Envelope in, TimeNs now, std::vector<Envelope>* out) {
  state_.out = out;
  state_.metrics.received_bytes.Add(MessageBytes(in.message));
  const std::optional<wire::Command> command = Open(std::move(in), now);
  Housekeep(now);
  state_.out = nullptr;
  return command;
}

std::optional<wire::Command> Lane::Open(Envelope in, TimeNs now) {
  // Kept for the reply to a message whose header makes sense and whose payload does not.
  const Frame first = in.message.empty() ? Frame() : in.message.front();
  Result<wire::Received> received = wire::Open(std::move(in.message));
  if (!received.ok()) {
    state_.metrics.malformed.Add();
    const wire::Header header = wire::PeekHeader(first.bytes()).value_or(wire::Header{});
    if (!header.is(wire::kFlagReply)) state_.Reply({in.peer, header}, received.status());
    return std::nullopt;
  }
  if (received->header.is(wire::kFlagReply)) {
    state_.metrics.malformed.Add();  // answering it could go on for ever
    return std::nullopt;
  }
  Request request{.peer = std::move(in.peer),
                  .header = received->header,
                  .payload = std::move(received->payload),
                  .now = now};
  const uint32_t timeout_ms = request.header.timeout_ms;
  request.deadline =
      now + std::min(kParkedMax, timeout_ms == 0 ? kParkedMax : timeout_ms * kMillisecond);
  state_.metrics.RequestsOf(request.header.command).Add();
  if (const Status status = Admit(request); !status.ok()) {
    state_.Reply(request.reply_to(), status);
    return std::nullopt;
  }
  const wire::Command command = request.header.command;
  Dispatch(state_, std::move(request));
  return command;
}

Status Lane::Admit(const Request& request) const {
  const wire::Header& header = request.header;
  if (header.cluster_id != state_.config.cluster_id) {
    return Refused(
        fmt::format("this server belongs to cluster {:016x}, the request to {:016x}; "
                    "check the cluster's name in cluster.toml on both sides",
                    state_.config.cluster_id, header.cluster_id));
  }
  if (header.incarnation != 0 && header.incarnation != state_.incarnation()) {
    return Lost(
        fmt::format("server {} has restarted: this is incarnation {:016x}, the request is "
                    "for {:016x}; what that one held in memory is gone",
                    state_.config.name.server, state_.incarnation(), header.incarnation));
  }
  if (RoutesByMap(header.command) && header.epoch != state_.config.map->epoch) {
    return Refused(
        fmt::format("the request was routed by the shard map of epoch {}, server {} lane "
                    "{} has epoch {}: fetch the map again",
                    header.epoch, state_.config.name.server, state_.config.name.lane,
                    state_.config.map->epoch));
  }
  return {};
}

void Lane::Tick(TimeNs now, std::vector<Envelope>* out) {
  state_.out = out;
  AnswerEnded(state_, state_.barrier.Expire(now));
  next_housekeeping_ = now + kHousekeepingEvery;
  Housekeep(now);
  state_.out = nullptr;
}

void Lane::Housekeep(TimeNs now) {
  if (next_housekeeping_ == 0) next_housekeeping_ = now + kHousekeepingEvery;
  state_.metrics.parked_requests.Set(static_cast<double>(state_.barrier.parked()));
  state_.metrics.parked_bytes.Set(static_cast<double>(state_.barrier.parked_bytes()));
  state_.metrics.clients.Set(static_cast<double>(state_.dedup.clients()));
}

TimeNs Lane::NextTick() const {
  const TimeNs idle = state_.barrier.groups() == 0 ? kNever : next_housekeeping_;
  return std::min(idle, state_.barrier.NextDeadline());
}

void Lane::Drain(std::vector<Envelope>* out) {
  state_.draining = true;
  state_.out = out;
  AnswerEnded(state_, state_.barrier.EndUnbegun(state_.CheckNotDraining()));
  state_.out = nullptr;
}

bool Lane::Idle() const { return state_.barrier.parked() == 0; }

void Lane::EndAll(std::vector<Envelope>* out) {
  state_.out = out;
  AnswerEnded(state_, state_.barrier.EndAll(Lost(fmt::format(
                          "server {} is shutting down; nothing of this request was applied",
                          state_.config.name.server))));
  state_.out = nullptr;
}

LaneReport Lane::Report() const {
  LaneReport report;
  for (const auto& [id, table] : state_.tables) {
    report.tables.push_back({table->spec(), table->Stats()});
  }
  std::ranges::sort(report.tables, {}, [](const auto& table) { return table.spec.name; });
  report.parked_requests = state_.barrier.parked();
  report.parked_bytes = state_.barrier.parked_bytes();
  report.clients = state_.dedup.clients();
  report.draining = state_.draining;
  return report;
}

}  // namespace strata
