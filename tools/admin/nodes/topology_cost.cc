// strata-admin topology cost: what each algorithm of each collective would cost under a model of
// the network, and from which size on which is the fastest. Pure: no node is asked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "cluster/schedule/cost_model.h"
#include "tools/admin/commands.h"
#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRanksMax = 4096;

// Costs closer than this are equal; of equal algorithms the one listed first is taken.
constexpr double kEqual = 1e-9;

struct Point {
  uint64_t bytes = 0;
  int pieces = 1;
  std::vector<Cost> costs;  // of each algorithm
  size_t fastest = 0;       // of them
};

// An operation by all its algorithms, for all sizes.
struct OperationCosts {
  Collective operation = Collective::kAllreduce;
  std::span<const Algorithm> algorithms;
  std::vector<Point> points;
};

// From `bytes` on, `algorithm` (its place in the list) is the fastest.
struct Crossing {
  uint64_t bytes = 0;
  size_t algorithm = 0;
};

Point Simulate(const CostModel& model, Collective operation, int world, uint64_t bytes) {
  Point point{.bytes = bytes, .pieces = BestPieces(model, world, bytes), .costs = {}};
  for (const Algorithm algorithm : AlgorithmsOf(operation)) {
    point.costs.push_back(SimulateCost(model, {.operation = operation,
                                               .algorithm = algorithm,
                                               .block_bytes = EvenBlocks(bytes, world),
                                               .root = 0,
                                               .pieces = point.pieces}));
    const double seconds = point.costs.back().seconds;
    if (seconds < point.costs[point.fastest].seconds * (1 - kEqual)) {
      point.fastest = point.costs.size() - 1;
    }
  }
  return point;
}

OperationCosts SimulateAll(const CostRequest& request, Collective operation, int world) {
  OperationCosts result{
      .operation = operation, .algorithms = AlgorithmsOf(operation), .points = {}};
  // A barrier moves nothing.
  const std::vector<uint64_t> nothing = {0};
  for (const uint64_t bytes : operation == Collective::kBarrier ? nothing : request.bytes) {
    result.points.push_back(Simulate(request.model, operation, world, bytes));
  }
  return result;
}

// Goes on from the fastest algorithm at `low` along the lowest line up to `high`: between two sizes
// costs are taken to lie on straight lines, as all but the pipelined ones do.
void AddCrossings(const Point& low, const Point& high, std::vector<Crossing>* crossings) {
  double at = 0;  // how far from low to high
  for (bool more = true; more;) {
    more = false;
    const size_t now = crossings->back().algorithm;
    Crossing next;
    double next_at = 1;
    for (size_t a = 0; a < low.costs.size(); ++a) {
      const double behind = low.costs[a].seconds - low.costs[now].seconds;
      const double gain = behind - (high.costs[a].seconds - high.costs[now].seconds);
      if (gain <= kEqual * high.costs[now].seconds) continue;
      const double share = std::max(at, behind / gain);
      if (share >= next_at) continue;
      more = true;
      next_at = share;
      const auto apart = static_cast<double>(high.bytes - low.bytes);
      next = {low.bytes + static_cast<uint64_t>(std::llround(share * apart)), a};
    }
    if (!more) break;
    at = next_at;
    if (crossings->back().bytes == next.bytes) crossings->pop_back();
    crossings->push_back(next);
  }
}

std::vector<Crossing> CrossingsOf(const OperationCosts& costs) {
  const std::vector<Point>& points = costs.points;
  if (points.empty()) return {};
  std::vector<Crossing> crossings = {{points[0].bytes, points[0].fastest}};
  for (size_t i = 1; i < points.size(); ++i) AddCrossings(points[i - 1], points[i], &crossings);
  return crossings;
}

Json ToJson(const OperationCosts& costs, const CostModel& model, int world) {
  Json algorithms = Json::array();
  for (size_t a = 0; a < costs.algorithms.size(); ++a) {
    Json points = Json::array();
    for (const Point& point : costs.points) {
      const Cost& cost = point.costs[a];
      Json shown = {{"bytes", point.bytes},           {"seconds", cost.seconds},
                    {"rounds", cost.rounds},          {"path_bytes", cost.path_bytes},
                    {"sent_max", cost.sent_max},      {"sent_all", cost.sent_all},
                    {"reduced_max", cost.reduced_max}};
      if (costs.algorithms[a] == Algorithm::kPipelined) shown["pieces"] = point.pieces;
      points.push_back(std::move(shown));
    }
    algorithms.push_back(
        {{"algorithm", AlgorithmName(costs.algorithms[a])}, {"points", std::move(points)}});
  }
  Json fastest = Json::array();
  for (const Crossing& crossing : CrossingsOf(costs)) {
    fastest.push_back({{"from_bytes", crossing.bytes},
                       {"algorithm", AlgorithmName(costs.algorithms[crossing.algorithm])}});
  }
  return {{"operation", CollectiveName(costs.operation)},
          {"world", world},
          {"alpha_s", model.alpha_s},
          {"beta_s", model.beta_s},
          {"gamma_s", model.gamma_s},
          {"algorithms", std::move(algorithms)},
          {"fastest", std::move(fastest)}};
}

std::string TimeText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string ToText(const OperationCosts& costs) {
  using enum TableText::Align;
  TableText table({{"bytes", kRight},
                   {"algorithm", kLeft},
                   {"rounds", kRight},
                   {"time", kRight},
                   {"on the path", kRight},
                   {"sent, most", kRight},
                   {"sent, all", kRight},
                   {"reduced, most", kRight},
                   {"", kLeft}});
  for (const Point& point : costs.points) {
    for (size_t a = 0; a < point.costs.size(); ++a) {
      const Cost& cost = point.costs[a];
      table.AddRow(
          {a == 0 ? HumanBytes(point.bytes) : "", std::string(AlgorithmName(costs.algorithms[a])),
           HumanCount(static_cast<uint64_t>(cost.rounds)), TimeText(cost.seconds),
           HumanBytes(cost.path_bytes), HumanBytes(cost.sent_max), HumanBytes(cost.sent_all),
           HumanBytes(cost.reduced_max), a == point.fastest ? "fastest" : ""});
    }
  }
  std::string fastest;
  for (const Crossing& crossing : CrossingsOf(costs)) {
    fastest += fmt::format(
        "{}{}", fastest.empty() ? "" : fmt::format(", from {} ", HumanBytes(crossing.bytes)),
        AlgorithmName(costs.algorithms[crossing.algorithm]));
  }
  return fmt::format("{}\n{}fastest: {}\n\n", CollectiveName(costs.operation), table.ToString(),
                     fastest);
}

Status CheckRanks(const CostModel& model, int world) {
  if (world > kRanksMax) {
    return Invalid(
        fmt::format("-n: expected at most {} ranks to simulate, found {}", kRanksMax, world));
  }
  const auto there = [&](std::string_view option, int rank) -> Status {
    if (rank < world) return {};
    return Invalid(fmt::format("{}: rank {}: expected one of 0 to {}", option, rank, world - 1));
  };
  for (const Straggler& straggler : model.stragglers) {
    STRATA_TRY(there("--late, --slow-rank", straggler.rank));
  }
  for (const SlowLink& link : model.slow_links) {
    STRATA_TRY(there("--slow-link", std::max(link.a, link.b)));
  }
  return {};
}

}  // namespace

Status RunTopologyCost(const Request& request, std::string* out) {
  const CostModel& model = request.cost.model;
  STRATA_ASSIGN(const int world, WorldOf(request));
  STRATA_TRY(CheckRanks(model, world));
  const bool json = request.output == Request::Output::kJson;
  if (!json) {
    *out = fmt::format("{}; alpha {}, beta {:.4g} ns a byte, gamma {:.4g} ns a byte\n\n",
                       Counted(static_cast<uint64_t>(world), "rank"), TimeText(model.alpha_s),
                       model.beta_s * 1e9, model.gamma_s * 1e9);
  }
  for (const Collective operation : kCollectives) {
    if (request.cost.operation && operation != *request.cost.operation) continue;
    const OperationCosts costs = SimulateAll(request.cost, operation, world);
    *out += json ? JsonLine(ToJson(costs, model, world)) : ToText(costs);
  }
  return {};
}

}  // namespace strata::admin
