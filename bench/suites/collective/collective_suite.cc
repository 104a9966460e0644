// Suite "collective": groups of ranks beside Open MPI, gloo and LightGBM's pattern. Every contender
// is one process a rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>

#include "base/print.h"
#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/suites/collective/collective_measure.h"
#include "bench/suites/collective/collective_tls.h"
#include "bench/suites/collective/rank_set.h"

namespace strata::bench {
namespace {

constexpr Collective kMeasured[] = {Collective::kAllreduce, Collective::kReduceScatter,
                                    Collective::kAllgather, Collective::kBroadcast};
// What counts as behind a peer, and in what share of the rounds: less may be the machine.
constexpr double kBehindBy = 1.25;
constexpr double kBehindShare = 0.8;
constexpr int kBehindWorldMax = 4;  // above it, this machine's scheduler is what is measured

// The p50s of ours over a peer's, of all cells so far.
struct Totals {
  double log_sum = 0;
  int cells = 0;
  int cells_behind = 0;
};

// Contenders for one transport and number of ranks, ours first, started when they are needed; and
// what all cases have come to.
class CollectiveField {
 public:
  Status Start(Transport transport, int world, const std::string& congestion) {
    if (!sets_.empty() && transport_ == transport && sets_.front()->world() == world) return {};
    sets_.clear();
    transport_ = transport;
    STRATA_ASSIGN(auto ours, RankSet::Start(OurRanks(transport), world, congestion));
    sets_.push_back(std::move(ours));
    for (const RankProgram& peer : PeerRanks(transport)) {
      auto set = RankSet::Start(peer, world, congestion);
      if (set.ok()) {
        sets_.push_back(std::move(set).value());
      } else {
        PrintStderr("left out: {}\n", set.status().ToString());
      }
    }
    return {};
  }
  void Stop() { sets_.clear(); }

  const std::vector<std::unique_ptr<RankSet>>& sets() const { return sets_; }
  std::map<std::string, Totals>& totals() { return totals_; }

 private:
  Transport transport_ = Transport::kSockets;
  std::vector<std::unique_ptr<RankSet>> sets_;
  std::map<std::string, Totals> totals_;  // by peer
};

// A contender's best variant of an order, and what it took in each round.
struct Turn {
  const RankSet* set = nullptr;
  RankOrder order;
  std::vector<double> p50_us = {};
  std::vector<double> p99_us = {};
};

// Ours goes by its table; of a peer with several ways the fastest is taken.
Result<std::optional<RankOrder>> BestOf(const RankSet& set, RankOrder order, TimeNs round) {
  std::optional<RankOrder> best;
  double best_us = 0;
  Status last;
  for (order.variant = 0;; ++order.variant) {
    const auto calibrated = Calibrated(set, order, round / 4);
    if (!calibrated.ok()) {
      last = calibrated.status();
      if (order.variant >= 8) break;
      continue;
    }
    if (!*calibrated) break;
    STRATA_ASSIGN(const RankAnswer answer, Done(set, **calibrated));
    if (best && answer.p50_us >= best_us) continue;
    best = **calibrated;
    best_us = answer.p50_us;
  }
  if (!best) {
    if (last.ok()) return best;
    return last;
  }
  return Calibrated(set, *best, round);
}

Figure TimeFigure(std::string name, double ours_us) {
  Figure figure;
  figure.name = std::move(name);
  figure.unit = "us";
  figure.more_is_better = false;
  figure.ours = ours_us;
  return figure;
}

void Count(const Turn& ours, const Turn& peer, Totals& totals) {
  totals.log_sum += std::log(Median(ours.p50_us) / Median(peer.p50_us));
  ++totals.cells;
  if (ours.set->world() > kBehindWorldMax) return;
  size_t behind = 0;
  for (size_t i = 0; i < ours.p50_us.size(); ++i) {
    if (ours.p50_us[i] > kBehindBy * peer.p50_us[i]) ++behind;
  }
  const double share = static_cast<double>(behind) / static_cast<double>(ours.p50_us.size());
  if (share >= kBehindShare) ++totals.cells_behind;
}

Result<std::vector<Figure>> RunCell(CollectiveField& field, const std::string& name,
                                    Transport transport, int world, const RankOrder& order,
                                    const BenchOptions& options) {
  STRATA_TRY(field.Start(transport, world, options.congestion));
  std::vector<Turn> turns;
  for (const auto& set : field.sets()) {
    const bool ours = turns.empty();
    auto best = ours ? Calibrated(*set, order, options.round) : BestOf(*set, order, options.round);
    if (!best.ok() && ours) return best.status();
    if (!best.ok()) PrintStderr("{}: left out: {}\n", name, best.status().ToString());
    if (best.ok() && *best) turns.push_back({.set = set.get(), .order = **best});
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Turn& turn : turns) {
      STRATA_ASSIGN(const RankAnswer answer, Done(*turn.set, turn.order));
      turn.p50_us.push_back(answer.p50_us);
      turn.p99_us.push_back(answer.p99_us);
    }
  }
  Figure p50 = TimeFigure(name + " p50", Median(turns[0].p50_us));
  Figure p99 = TimeFigure(name + " p99", Median(turns[0].p99_us));
  if (turns.size() == 1) return std::vector<Figure>{p50, p99};
  std::vector<Figure> figures;
  for (size_t i = 1; i < turns.size(); ++i) {
    Count(turns[0], turns[i], field.totals()[turns[i].set->name()]);
    p50.peer = p99.peer = turns[i].set->name();
    p50.peer_value = Median(turns[i].p50_us);
    p99.peer_value = Median(turns[i].p99_us);
    figures.push_back(p50);
    figures.push_back(p99);
  }
  return figures;
}

Result<std::vector<Figure>> Summary(CollectiveField& field) {
  field.Stop();
  std::vector<Figure> figures;
  for (const auto& [peer, totals] : field.totals()) {
    Figure mean;
    mean.name = fmt::format("summary: mean p50 of {} cells over peer's", totals.cells);
    mean.unit = "x";
    mean.more_is_better = false;
    mean.ours = std::exp(totals.log_sum / totals.cells);
    mean.peer = peer;
    mean.peer_value = 1;
    figures.push_back(mean);
    Figure behind;
    behind.name = fmt::format("summary: n<={}, above {} x in {:.0f} % of rounds", kBehindWorldMax,
                              kBehindBy, kBehindShare * 100);
    behind.unit = "cells";
    behind.more_is_better = false;
    behind.ours = totals.cells_behind;
    behind.peer = peer;
    figures.push_back(behind);
  }
  return figures;
}

std::vector<Case> CollectiveCases(bool all) {
  const auto field = std::make_shared<CollectiveField>();
  const std::vector<int> worlds = all ? std::vector<int>{2, 3, 4, 8} : std::vector<int>{2, 4};
  const std::vector<uint64_t> sizes =
      all ? CollectiveSizes() : std::vector<uint64_t>{8, 4 << 10, 256 << 10, 4 << 20};
  std::vector<Case> cases;
  const auto add = [&](Transport transport, int world, Collective operation, uint64_t bytes) {
    const RankOrder order = {.operation = operation, .variant = 0, .bytes = bytes, .calls = 1};
    const std::string name =
        fmt::format("{} {} n={} bytes={}", transport == Transport::kMemory ? "memory" : "sockets",
                    CollectiveName(operation), world, bytes);
    cases.push_back({name, [=](const BenchOptions& options) {
                       return RunCell(*field, name, transport, world, order, options);
                     }});
  };
  for (const Transport transport : {Transport::kSockets, Transport::kMemory}) {
    for (const int world : worlds) {
      for (const Collective operation : kMeasured) {
        for (const uint64_t bytes : sizes) add(transport, world, operation, bytes);
      }
    }
  }
  std::ranges::move(TlsCases(), std::back_inserter(cases));
  cases.push_back({"summary", [field](const BenchOptions&) { return Summary(*field); }});
  return cases;
}

}  // namespace

Suite CollectiveSuite() {
  return {"collective",
          "collectives of ranks of this host beside Open MPI, gloo, LightGBM's pattern",
          CollectiveCases};
}

}  // namespace strata::bench
