#include "ps/shard/lane_metrics.h"

#include <string>
#include <string_view>

#include "proto/wire/command_table.h"

namespace strata {
namespace {

Labels LaneLabel(uint16_t lane) { return {{"lane", std::to_string(lane)}}; }

constexpr StatusCode kErrorCodes[] = {
    StatusCode::kFailed,           StatusCode::kInvalid,        StatusCode::kLost,
    StatusCode::kRefused,          StatusCode::kNotFound,       StatusCode::kExists,
    StatusCode::kDeadlineExceeded, StatusCode::kCorrupt,        StatusCode::kCancelled,
    StatusCode::kDiskFull,         StatusCode::kSessionExpired, StatusCode::kUnavailable,
    StatusCode::kInternal};

// By Refusal.
constexpr std::array<std::string_view, kRefusals> kRefusalNames = {"cluster", "map",    "clients",
                                                                   "queue",   "memory", "credit"};

}  // namespace

LaneMetrics::LaneMetrics(MetricsRegistry& registry, uint16_t lane)
    : malformed(registry.AddCounter("strata_lane_malformed_messages_total",
                                    "Messages that could not be opened.", LaneLabel(lane))),
      expired(registry.AddCounter("strata_lane_expired_requests_total",
                                  "Requests whose deadline passed before they were begun.",
                                  LaneLabel(lane))),
      repeated(registry.AddCounter("strata_lane_repeated_writes_total",
                                   "Writes that came again and were not applied again.",
                                   LaneLabel(lane))),
      pulled_keys(registry.AddCounter("strata_lane_pulled_keys_total",
                                      "Keys of answered pulls, repeats counted.", LaneLabel(lane))),
      pushed_keys(registry.AddCounter("strata_lane_pushed_keys_total",
                                      "Keys of applied pushes, repeats counted.", LaneLabel(lane))),
      changed_items(registry.AddCounter("strata_lane_changed_items_total",
                                        "Documents of collections that were put in or deleted.",
                                        LaneLabel(lane))),
      searched_queries(registry.AddCounter("strata_lane_searched_queries_total",
                                           "Queries of answered searches.", LaneLabel(lane))),
      search_batches(registry.AddCounter("strata_lane_search_batches_total",
                                         "Batches that answered them.", LaneLabel(lane))),
      received_bytes(registry.AddCounter("strata_lane_received_bytes_total",
                                         "Bytes of received messages.", LaneLabel(lane))),
      sent_bytes(registry.AddCounter("strata_lane_sent_bytes_total", "Bytes of sent replies.",
                                     LaneLabel(lane))),
      dropped(registry.AddCounter(
          "strata_lane_dropped_requests_total",
          "Requests that were not looked at, as their client's connection was gone.",
          LaneLabel(lane))),
      closed_connections(registry.AddCounter(
          "strata_lane_closed_connections_total",
          "Connections that the server ended, as there were too many, or as they had sent too much "
          "of a message without an end.",
          LaneLabel(lane))),
      undelivered(registry.AddCounter("strata_lane_undelivered_replies_total",
                                      "Replies whose peer was gone or did not read.",
                                      LaneLabel(lane))),
      parked_requests(
          registry.AddGauge("strata_lane_parked_requests",
                            "Requests that wait for a synchronous step to close, or for "
                            "the merges of a collection.",
                            LaneLabel(lane))),
      parked_bytes(registry.AddGauge("strata_lane_parked_bytes", "Bytes held by parked requests.",
                                     LaneLabel(lane))),
      clients(registry.AddGauge("strata_lane_clients", "Clients whose writes are remembered.",
                                LaneLabel(lane))),
      log_bytes(
          registry.AddGauge("strata_lane_log_bytes", "Bytes of the log on disk.", LaneLabel(lane))),
      log_appended(registry.AddGauge("strata_lane_log_appended_lsn", "LSN of the last record.",
                                     LaneLabel(lane))),
      log_synced(registry.AddGauge("strata_lane_log_synced_lsn",
                                   "LSN of the last record on stable storage.", LaneLabel(lane))),
      log_sync_seconds(registry.AddLatency("strata_lane_log_sync_seconds",
                                           "Time of a sync of the log.", LaneLabel(lane))),
      recovery_seconds(registry.AddGauge("strata_lane_recovery_seconds",
                                         "Time that recovery took at start.", LaneLabel(lane))),
      torn_bytes(registry.AddGauge("strata_lane_log_torn_bytes",
                                   "Bytes that were cut from the log's end at start.",
                                   LaneLabel(lane))),
      disk_full(registry.AddGauge("strata_lane_disk_full",
                                  "1 while the log, or the cold tier, has no room: writes are "
                                  "refused with DISK_FULL, pulls go on.",
                                  LaneLabel(lane))),
      registry_(registry) {
  for (const wire::CommandInfo& info : wire::CommandTable()) {
    Labels& labels = commands_[info.command].labels;
    labels = LaneLabel(lane);
    labels["command"] = std::string(info.name);
  }
  for (size_t i = 0; i < kTiers; ++i) {
    Labels labels = LaneLabel(lane);
    labels["tier"] = std::string(TierName(static_cast<Tier>(i)));
    const auto now = [&](const char* name, const char* help) {
      return &registry.AddGauge(name, help, labels);
    };
    const auto so_far = [&](const char* name, const char* help) {
      return &registry.AddCounter(name, help, labels);
    };
    tiers_[i] = {now("strata_lane_tier_rows", "Rows in a tier: hot (GPU), warm (host), cold."),
                 now("strata_lane_tier_bytes", "Memory that a tier's rows take."),
                 so_far("strata_lane_tier_hits_total", "Keys found in a tier."),
                 so_far("strata_lane_tier_rows_in_total", "Rows that came to a tier from another."),
                 so_far("strata_lane_tier_bytes_in_total", "Bytes of those rows.")};
  }
  for (const StatusCode code : kErrorCodes) {
    Labels labels = LaneLabel(lane);
    labels["code"] = std::string(StatusCodeName(code));
    errors_[code] =
        &registry.AddCounter("strata_lane_errors_total", "Error replies by status.", labels);
  }
  for (size_t i = 0; i < kRefusals; ++i) {
    Labels labels = LaneLabel(lane);
    labels["reason"] = std::string(kRefusalNames[i]);
    refused_[i] = &registry.AddCounter(
        "strata_lane_refused_total",
        "Requests that were refused as they are for another cluster, were routed by another map, "
        "come from too many clients, find no room in the queue or in memory, or exceed by far what "
        "their client was granted.",
        labels);
  }
}

void LaneMetrics::ShowTiers(const std::array<TierUse, kTiers>& tiers) {
  for (size_t i = 0; i < kTiers; ++i) {
    tiers_[i].rows->Set(static_cast<double>(tiers[i].rows));
    tiers_[i].bytes->Set(static_cast<double>(tiers[i].bytes));
    tiers_[i].hits->RaiseTo(tiers[i].hits);
    tiers_[i].rows_in->RaiseTo(tiers[i].rows_in);
    tiers_[i].bytes_in->RaiseTo(tiers[i].bytes_in);
  }
}

Counter& LaneMetrics::RequestsOf(wire::Command command) {
  OfCommand& of = commands_.at(command);
  Counter* counter = of.requests.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter =
        &registry_.AddCounter("strata_lane_requests_total", "Requests by command.", of.labels);
    of.requests.store(counter, std::memory_order_release);
  }
  return *counter;
}

LatencyHistogram& LaneMetrics::SecondsOf(wire::Command command) {
  OfCommand& of = commands_.at(command);
  if (of.seconds == nullptr) {
    of.seconds = &registry_.AddLatency("strata_lane_request_seconds",
                                       "Time in the lane's thread, waiting excluded.", of.labels);
  }
  return *of.seconds;
}

uint64_t LaneMetrics::Requests() const {
  uint64_t total = 0;
  for (const auto& [command, of] : commands_) {
    const Counter* const counter = of.requests.load(std::memory_order_acquire);
    if (counter != nullptr) total += counter->Value();
  }
  return total;
}

}  // namespace strata
