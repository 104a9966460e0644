#include "bench/suites/collective/collective_measure.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::bench {
namespace {

constexpr uint64_t kCallsMax = 20'000;  // of one round
constexpr uint64_t kCallsMin = 5;

}  // namespace

std::vector<uint64_t> CollectiveSizes() {
  return {8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
}

Result<std::optional<RankOrder>> Calibrated(const RankSet& set, RankOrder order, TimeNs round) {
  const double wanted = static_cast<double>(round) / kSecond;
  for (order.calls = 1;; order.calls *= 4) {
    STRATA_ASSIGN(const RankAnswer answer, set.Do(order));
    if (answer.outcome == RankOutcome::kNoVariant) return std::optional<RankOrder>();
    if (answer.outcome != RankOutcome::kDone) {
      return Failed(fmt::format("{}: {}", set.name(), answer.text));
    }
    if (answer.seconds * 8 < wanted && order.calls < kCallsMax) continue;
    const double calls = wanted / std::max(answer.seconds, 1e-9) * static_cast<double>(order.calls);
    order.calls = std::clamp(static_cast<uint64_t>(std::min(calls, 1e9)), kCallsMin, kCallsMax);
    return std::optional(order);
  }
}

Result<RankAnswer> Done(const RankSet& set, const RankOrder& order) {
  STRATA_ASSIGN(const RankAnswer answer, set.Do(order));
  if (answer.outcome != RankOutcome::kDone) {
    return Failed(fmt::format("{}: {}", set.name(), answer.text));
  }
  return answer;
}

}  // namespace strata::bench
