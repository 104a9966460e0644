#include "ps/shard/lane_metrics.h"

#include <string>
#include <string_view>

#include "proto/wire/command_table.h"

namespace strata {
namespace {

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
    : lane_(registry, {{"lane", std::to_string(lane)}}) {
  for (const wire::CommandInfo& info : wire::CommandTable()) {
    commands_.try_emplace(info.command, lane_.With("command", info.name));
  }
  for (const StatusCode code : kErrorCodes) {
    errors_[code] = &lane_.With("code", StatusCodeName(code))
                         .AddCounter("strata_lane_errors_total", "Error replies by status.");
  }
  for (size_t i = 0; i < kRefusals; ++i) {
    refused_[i] =
        &lane_.With("reason", kRefusalNames[i])
             .AddCounter("strata_lane_refused_total",
                         "Requests that were refused as they are for another cluster, were routed "
                         "by another map, come from too many clients, find no room in the queue or "
                         "in memory, or exceed by far what their client was granted.");
  }
  ShowTiers({});
}

void LaneMetrics::ShowTiers(const std::array<TierUse, kTiers>& tiers) {
  for (size_t i = 0; i < kTiers; ++i) {
    const LabelledMetrics tier = lane_.With("tier", TierName(static_cast<Tier>(i)));
    const TierUse& use = tiers[i];
    tier.Set("strata_lane_tier_rows", "Rows in a tier: hot (GPU), warm (host), cold.", use.rows);
    tier.Set("strata_lane_tier_bytes", "Memory that a tier's rows take.", use.bytes);
    tier.Raise("strata_lane_tier_hits_total", "Keys found in a tier.", use.hits);
    tier.Raise("strata_lane_tier_rows_in_total", "Rows that came to a tier from another.",
               use.rows_in);
    tier.Raise("strata_lane_tier_bytes_in_total", "Bytes of those rows.", use.bytes_in);
  }
}

Counter& LaneMetrics::RequestsOf(wire::Command command) {
  OfCommand& of = commands_.at(command);
  Counter* counter = of.requests.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &of.metrics.AddCounter("strata_lane_requests_total", "Requests by command.");
    of.requests.store(counter, std::memory_order_release);
  }
  return *counter;
}

LatencyHistogram& LaneMetrics::SecondsOf(wire::Command command) {
  OfCommand& of = commands_.at(command);
  if (of.seconds == nullptr) {
    of.seconds = &of.metrics.AddLatency("strata_lane_request_seconds",
                                        "Time in the lane's thread, waiting excluded.");
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
