// What a lane counts. The daemon shows it at /metrics, and status replies read it back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <utility>

#include "base/metrics.h"
#include "proto/wire/commands.h"
#include "storage/memory/local_table.h"
#include "strata/status.h"

namespace strata {

// Why a lane refused what it, or another one, would have done otherwise.
enum class Refusal : uint8_t {
  kCluster,  // it is for another cluster
  kMap,      // it was routed by another shard map
  kClients,  // too many clients, or too many unsettled writes of one
  kQueue,    // no room to wait for a step
  kMemory,   // no room for rows
  kCredit,   // the client sends far more than it was granted
};
constexpr size_t kRefusals = 6;

// A metric is declared where its name and its help stand, and nowhere else. Counters are
// thread-safe.
class LaneMetrics {
  const LabelledMetrics lane_;  // before the metrics that are made of it

 public:
  // The registry outlives it.
  LaneMetrics(MetricsRegistry& registry, uint16_t lane);

  // A command has series once it has come. The lane's thread only, but for Requests.
  Counter& RequestsOf(wire::Command command);
  LatencyHistogram& SecondsOf(wire::Command command);
  Counter& ErrorsOf(StatusCode code) { return *errors_.at(code); }
  Counter& RefusedFor(Refusal reason) { return *refused_[static_cast<size_t>(reason)]; }
  uint64_t Requests() const;  // of all commands

  Counter& malformed = lane_.AddCounter("strata_lane_malformed_messages_total",
                                        "Messages that could not be opened.");
  Counter& expired = lane_.AddCounter("strata_lane_expired_requests_total",
                                      "Requests whose deadline passed before they were begun.");
  Counter& repeated = lane_.AddCounter("strata_lane_repeated_writes_total",
                                       "Writes that came again and were not applied again.");
  Counter& pulled_keys =
      lane_.AddCounter("strata_lane_pulled_keys_total", "Keys of answered pulls, repeats counted.");
  Counter& pushed_keys =
      lane_.AddCounter("strata_lane_pushed_keys_total", "Keys of applied pushes, repeats counted.");
  Counter& changed_items = lane_.AddCounter(
      "strata_lane_changed_items_total", "Documents of collections that were put in or deleted.");
  Counter& searched_queries =
      lane_.AddCounter("strata_lane_searched_queries_total", "Queries of answered searches.");
  Counter& search_batches =
      lane_.AddCounter("strata_lane_search_batches_total", "Batches that answered them.");
  Counter& received_bytes =
      lane_.AddCounter("strata_lane_received_bytes_total", "Bytes of received messages.");
  Counter& sent_bytes = lane_.AddCounter("strata_lane_sent_bytes_total", "Bytes of sent replies.");
  Counter& dropped =
      lane_.AddCounter("strata_lane_dropped_requests_total",
                       "Requests that were not looked at, as their client's connection was gone.");
  Counter& closed_connections = lane_.AddCounter(
      "strata_lane_closed_connections_total",
      "Connections that the server ended, as there were too many, or as they had sent too much "
      "of a message without an end.");
  Counter& undelivered = lane_.AddCounter("strata_lane_undelivered_replies_total",
                                          "Replies whose peer was gone or did not read.");
  Gauge& parked_requests =
      lane_.AddGauge("strata_lane_parked_requests",
                     "Requests that wait for a synchronous step to close, or for "
                     "the merges of a collection.");
  Gauge& parked_bytes =
      lane_.AddGauge("strata_lane_parked_bytes", "Bytes held by parked requests.");
  Gauge& clients = lane_.AddGauge("strata_lane_clients", "Clients whose writes are remembered.");
  Gauge& log_bytes = lane_.AddGauge("strata_lane_log_bytes", "Bytes of the log on disk.");
  Gauge& log_appended = lane_.AddGauge("strata_lane_log_appended_lsn", "LSN of the last record.");
  Gauge& log_synced =
      lane_.AddGauge("strata_lane_log_synced_lsn", "LSN of the last record on stable storage.");
  LatencyHistogram& log_sync_seconds =
      lane_.AddLatency("strata_lane_log_sync_seconds", "Time of a sync of the log.");
  Gauge& recovery_seconds =
      lane_.AddGauge("strata_lane_recovery_seconds", "Time that recovery took at start.");
  Gauge& torn_bytes = lane_.AddGauge("strata_lane_log_torn_bytes",
                                     "Bytes that were cut from the log's end at start.");
  Gauge& disk_full = lane_.AddGauge("strata_lane_disk_full",
                                    "1 while the log, or the cold tier, has no room: writes are "
                                    "refused with DISK_FULL, pulls go on.");

  // What the lane's tables hold in each tier, by Tier; what they have counted, those that are gone
  // too.
  void ShowTiers(const std::array<TierUse, kTiers>& tiers);

 private:
  struct OfCommand {
    explicit OfCommand(LabelledMetrics of) : metrics(std::move(of)) {}
    const LabelledMetrics metrics;
    std::atomic<Counter*> requests = nullptr;
    LatencyHistogram* seconds = nullptr;
  };

  std::map<wire::Command, OfCommand> commands_;  // all of them
  std::map<StatusCode, Counter*> errors_;
  std::array<Counter*, kRefusals> refused_;
};

}  // namespace strata
