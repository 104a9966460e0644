// What a server shows at /metrics: what its lanes count, and the state of its tables and
// collections.
#pragma once

#include <string>

#include "base/metrics.h"
#include "ps/service/control_service.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe.
class ServerMetrics {
 public:
  // `registry` has what the lanes count, and outlives it.
  ServerMetrics(MetricsRegistry& registry, bool has_gpus, bool is_insecure)
      : registry_(registry), has_gpus_(has_gpus), is_insecure_(is_insecure) {}

  // In Prometheus' form. An error in place of totals: lanes were too busy to report, and what they
  // said last is shown again.
  std::string Text(const Result<ServerTotals>& totals);

 private:
  void ShowServer(const ServerTotals& totals);
  void ShowTables(const ServerTotals& totals);
  void ShowCollections(const ServerTotals& totals);

  MetricsRegistry& registry_;
  const bool has_gpus_;
  const bool is_insecure_;
  std::string of_tables_;       // their metrics, as they were shown last
  std::string of_collections_;  // likewise
};

}  // namespace strata
