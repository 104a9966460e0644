#include "bench/suites/collective/collective_tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/suites/collective/collective_measure.h"
#include "bench/suites/collective/rank_set.h"

namespace strata::bench {
namespace {

constexpr Collective kTuned[] = {Collective::kAllreduce, Collective::kReduceScatter,
                                 Collective::kAllgather, Collective::kBroadcast,
                                 Collective::kReduce,    Collective::kAllToAll};
constexpr double kFasterBy = 0.95;
// All inputs at all ranks: never the fastest where it needs much memory.
constexpr uint64_t kInputsBytesMax = 256 << 10;

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// The fastest of a size, the one before it unless beaten clearly.
size_t Winner(const SizeTimes& size, size_t before) {
  size_t best = kNone;
  for (size_t i = 0; i < size.us.size(); ++i) {
    if (size.us[i] > 0 && (best == kNone || size.us[i] < size.us[best])) best = i;
  }
  const bool stays = before != kNone && best != kNone && size.us[before] > 0 &&
                     size.us[best] > size.us[before] * kFasterBy;
  return stays ? before : best;
}

Result<CollectiveTimes> Measure(const RankSet& set, Collective operation,
                                const TuneOptions& options) {
  CollectiveTimes times{.operation = operation, .world = set.world(), .sizes = {}};
  const std::span<const Algorithm> algorithms = AlgorithmsOf(operation);
  for (const uint64_t bytes : options.sizes) {
    std::vector<std::optional<RankOrder>> orders(algorithms.size());
    for (size_t i = 0; i < algorithms.size(); ++i) {
      if (algorithms[i] == Algorithm::kInputs && bytes > kInputsBytesMax) continue;
      const RankOrder order = {.operation = operation,
                               .variant = static_cast<uint32_t>(i + 1),
                               .bytes = bytes,
                               .calls = 1};
      STRATA_ASSIGN(orders[i], Calibrated(set, order, options.round));
    }
    std::vector<std::vector<double>> us(algorithms.size());
    for (int round = 0; round < options.rounds; ++round) {
      for (size_t i = 0; i < algorithms.size(); ++i) {
        if (!orders[i]) continue;
        STRATA_ASSIGN(const RankAnswer answer, Done(set, *orders[i]));
        us[i].push_back(answer.p50_us);
      }
    }
    SizeTimes size{.bytes = bytes, .us = {}};
    for (auto& of_one : us) size.us.push_back(of_one.empty() ? 0 : Median(std::move(of_one)));
    times.sizes.push_back(std::move(size));
  }
  return times;
}

std::string Line(const CollectiveTimes& times, const SizeTimes& size) {
  std::string line =
      fmt::format("{} n={} bytes={}:", CollectiveName(times.operation), times.world, size.bytes);
  const auto algorithms = AlgorithmsOf(times.operation);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    if (size.us[i] > 0) line += fmt::format(" {} {:.1f}", AlgorithmName(algorithms[i]), size.us[i]);
  }
  return line + " us";
}

}  // namespace

std::vector<ChoiceRule> RulesOf(const std::vector<CollectiveTimes>& times) {
  std::vector<ChoiceRule> rules;
  for (size_t t = 0; t < times.size(); ++t) {
    const CollectiveTimes& of = times[t];
    const bool last = t + 1 == times.size() || times[t + 1].operation != of.operation;
    ChoiceRule rule = {.operation = of.operation,
                       .ranks_max = last ? std::numeric_limits<int>::max() : of.world,
                       .bytes_max = std::numeric_limits<uint64_t>::max(),
                       .algorithm = AlgorithmsOf(of.operation).back()};
    size_t winner = kNone;
    for (size_t s = 0; s < of.sizes.size(); ++s) {
      const size_t next = Winner(of.sizes[s], winner);
      if (winner != kNone && next != winner) {
        rule.bytes_max = static_cast<uint64_t>(std::sqrt(
            static_cast<double>(of.sizes[s - 1].bytes) * static_cast<double>(of.sizes[s].bytes)));
        rules.push_back(rule);
      }
      winner = next;
      rule.algorithm = AlgorithmsOf(of.operation)[winner];
    }
    rule.bytes_max = std::numeric_limits<uint64_t>::max();
    rules.push_back(rule);
  }
  return rules;
}

Result<std::string> TuneCollectives(const TuneOptions& options,
                                    const std::function<void(const std::string&)>& say) {
  std::vector<CollectiveTimes> times;
  for (const int world : options.worlds) {
    STRATA_ASSIGN(const auto set,
                  RankSet::Start(OurRanks(Transport::kSockets), world, options.congestion));
    for (const Collective operation : kTuned) {
      STRATA_ASSIGN(CollectiveTimes of, Measure(*set, operation, options));
      for (const SizeTimes& size : of.sizes) say(Line(of, size));
      times.push_back(std::move(of));
    }
  }
  std::ranges::stable_sort(times, {}, &CollectiveTimes::operation);
  const ChoiceTable table(RulesOf(times), "measured");
  return fmt::format(
      "# Measured by strata-bench collective --tune on {}.\n"
      "# Ranks {} on loopback, {} to {} bytes, float sums, congestion control {}.\n{}",
      MachineName(), fmt::join(options.worlds, ", "), options.sizes.front(), options.sizes.back(),
      options.congestion.empty() ? "of the system" : options.congestion, table.Text());
}

}  // namespace strata::bench
