#include "ps/commands/search_explanation.h"

#include <algorithm>

namespace strata {
namespace {

// An estimate may be of any size: what no engine can do is expected to take for ever.
uint64_t Whole(double value) {
  constexpr double kMost = 1e18;
  return static_cast<uint64_t>(std::clamp(value, 0.0, kMost));
}

wire::SearchExplanation::Part PartOf(const SearchReport& report) {
  const SearchPlan& plan = report.plan;
  wire::SearchExplanation::Part part{.blocks = static_cast<uint32_t>(report.blocks),
                                     .threads = static_cast<uint32_t>(report.threads),
                                     .documents = report.documents,
                                     .expected_ns = Whole(ExpectedOf(report)),
                                     .took_ns = Whole(report.total_ns),
                                     .planning_ns = Whole(report.planning_ns),
                                     .counting_ns = Whole(plan.counting_ns),
                                     .scanning_ns = Whole(plan.scanning_ns),
                                     .load_pieces = static_cast<uint32_t>(plan.load_pieces),
                                     .is_gpu_refused = !report.gpu_refused.ok(),
                                     .load_expected_ns = Whole(plan.load_ns),
                                     .load_ns = Whole(report.load_ns)};
  if (plan.gpu_ns) part.gpu_ns = Whole(*plan.gpu_ns);
  for (const EngineUse& use : EnginesOf(report)) {
    part.engines.push_back({.engine = static_cast<uint32_t>(use.engine),
                            .queries = static_cast<uint32_t>(use.queries),
                            .groups = static_cast<uint32_t>(use.groups),
                            .expected_ns = Whole(use.expected_ns),
                            .by_rates_ns = Whole(use.by_rates_ns),
                            .took_ns = Whole(use.took_ns),
                            .expected_candidates = Whole(use.expected_candidates),
                            .candidates = use.candidates});
  }
  return part;
}

}  // namespace

wire::SearchExplanation ExplanationOf(std::span<const SearchReport> reports, uint32_t queries,
                                      TimeNs waited, TimeNs took) {
  wire::SearchExplanation explanation{
      .queries = queries,
      .waited_ns = static_cast<uint64_t>(std::max<TimeNs>(waited, 0)),
      .took_ns = static_cast<uint64_t>(std::max<TimeNs>(took, 0))};
  for (const SearchReport& report : reports) explanation.parts.push_back(PartOf(report));
  return explanation;
}

}  // namespace strata
