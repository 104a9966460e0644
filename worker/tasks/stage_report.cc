#include "worker/tasks/stage_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace strata {
namespace {

constexpr size_t kNumbers = kStages + 2;  // of a rank: its stages, their total, reading
using Times = std::array<uint64_t, kNumbers>;

OverWorkers Over(const std::vector<Times>& ranks, size_t number) {
  OverWorkers over;
  for (const Times& times : ranks) {
    const double seconds = static_cast<double>(times[number]) / static_cast<double>(kSecond);
    over.mean += seconds / static_cast<double>(ranks.size());
    over.max = std::max(over.max, seconds);
  }
  return over;
}

Stage LimitOf(const std::vector<Times>& ranks) {
  constexpr auto kAllreduce = static_cast<size_t>(Stage::kAllreduce);
  const Times& slowest =
      *std::ranges::min_element(ranks, {}, [](const Times& times) { return times[kAllreduce]; });
  const auto stages = std::span(slowest).first(kStages);
  return static_cast<Stage>(std::ranges::max_element(stages) - stages.begin());
}

double ShareInPercent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

nlohmann::ordered_json OverJson(const OverWorkers& over) {
  return {{"mean_seconds", over.mean}, {"max_seconds", over.max}};
}

}  // namespace

Result<StageReport> GatherStages(Group& group, const StageTimes& mine, TimeNs reading) {
  std::vector<Times> ranks(static_cast<size_t>(group.world()));
  Times& own = ranks[static_cast<size_t>(group.rank())];
  for (size_t stage = 0; stage < kStages; ++stage) {
    own[stage] = static_cast<uint64_t>(mine.time(static_cast<Stage>(stage)));
  }
  own[kStages] = static_cast<uint64_t>(mine.total());
  own[kStages + 1] = static_cast<uint64_t>(reading);
  STRATA_TRY(group.Allgather(std::span(ranks.front().data(), ranks.size() * kNumbers)));
  StageReport report{.workers = group.world(),
                     .total = Over(ranks, kStages),
                     .stages = {},
                     .reading = Over(ranks, kStages + 1),
                     .limit = LimitOf(ranks)};
  for (size_t stage = 0; stage < kStages; ++stage) report.stages[stage] = Over(ranks, stage);
  return report;
}

std::string StageShares(const StageReport& report) {
  std::string text;
  for (size_t stage = 0; stage < kStages; ++stage) {
    const OverWorkers& over = report.stages[stage];
    text +=
        fmt::format("{}{} {:.0f} %", stage == 0 ? "" : ", ", StageName(static_cast<Stage>(stage)),
                    ShareInPercent(over.mean, report.total.mean));
    if (report.workers == 1) continue;
    text += fmt::format(" (at most {:.0f} %)", ShareInPercent(over.max, report.total.mean));
  }
  return text;
}

std::string ReaderText(const StageReport& report) {
  return fmt::format("busy {:.0f} % of the time",
                     ShareInPercent(report.reading.mean, report.total.mean));
}

nlohmann::ordered_json StagesJson(const StageReport& report) {
  nlohmann::ordered_json object = {{"total", OverJson(report.total)}};
  for (size_t stage = 0; stage < kStages; ++stage) {
    object[StageName(static_cast<Stage>(stage))] = OverJson(report.stages[stage]);
  }
  object["reading"] = OverJson(report.reading);
  object["limit"] = StageName(report.limit);
  return object;
}

}  // namespace strata
