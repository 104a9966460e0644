// What a lane counts. The daemon shows it at /metrics, and status replies read it back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

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

// Made from a registry, which outlives it. Counters are thread-safe.
class LaneMetrics {
 public:
  LaneMetrics(MetricsRegistry& registry, uint16_t lane);

  // A command has series once it has come. The lane's thread only, but for Requests.
  Counter& RequestsOf(wire::Command command);
  LatencyHistogram& SecondsOf(wire::Command command);
  Counter& ErrorsOf(StatusCode code) { return *errors_.at(code); }
  Counter& RefusedFor(Refusal reason) { return *refused_[static_cast<size_t>(reason)]; }
  uint64_t Requests() const;  // of all commands

  Counter& malformed;  // messages that could not be opened
  Counter& expired;    // requests whose deadline passed before they were begun
  Counter& repeated;   // writes answered from the dedup window
  Counter& pulled_keys;
  Counter& pushed_keys;
  Counter& changed_items;     // documents put in, or gone
  Counter& searched_queries;  // of answered searches
  Counter& search_batches;    // that answered them
  Counter& received_bytes;
  Counter& sent_bytes;
  Counter& dropped;             // requests whose client was gone before their turn
  Counter& closed_connections;  // as they were too many, or sent a message without an end
  Counter& undelivered;         // replies whose peer was gone or did not read
  Gauge& parked_requests;       // waiting for a step to close, or for a collection's merges
  Gauge& parked_bytes;
  Gauge& clients;  // whose writes are remembered
  Gauge& log_bytes;
  Gauge& log_appended;  // LSNs
  Gauge& log_synced;
  LatencyHistogram& log_sync_seconds;
  Gauge& recovery_seconds;
  Gauge& torn_bytes;  // cut from the log's end at start
  Gauge& disk_full;   // 1 while the log or the cold tier has no room

  // What the lane's tables hold in each tier, by Tier; what they have counted, those that are gone
  // too.
  void ShowTiers(const std::array<TierUse, kTiers>& tiers);

 private:
  struct OfCommand {
    Labels labels;
    std::atomic<Counter*> requests = nullptr;
    LatencyHistogram* seconds = nullptr;
  };

  MetricsRegistry& registry_;
  std::map<wire::Command, OfCommand> commands_;  // all of them
  std::map<StatusCode, Counter*> errors_;
  std::array<Counter*, kRefusals> refused_;
  struct TierMetrics {
    Gauge* rows;
    Gauge* bytes;
    Counter* hits;
    Counter* rows_in;
    Counter* bytes_in;
  };
  std::array<TierMetrics, kTiers> tiers_;
};

}  // namespace strata
