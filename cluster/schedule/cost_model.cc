#include "cluster/schedule/cost_model.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>

#include "strata/status.h"

namespace strata {
namespace {

// Schedules of n - 1 rounds are long when n is large; messages are kept for so many at a time, and
// the schedules made anew for the next ones.
constexpr int kMessagesHeld = 1 << 23;

constexpr int kPiecesMax = 1024;

// What a rank does in a round.
struct Message {
  int to = -1;
  int from = -1;
  uint64_t bytes = 0;  // sent
  bool reduces = false;
};

// A point in time, and the bytes of the messages that led to it. Of two chains that end together
// the one with more bytes counts.
struct Moment {
  double seconds = 0;
  uint64_t bytes = 0;
  auto operator<=>(const Moment&) const = default;
};

class Simulation {
 public:
  Simulation(const CostModel& model, const CostCase& what)
      : model_(model),
        what_(what),
        world_(static_cast<int>(what.block_bytes.size())),
        now_(what.block_bytes.size()),
        slowdown_(what.block_bytes.size(), 1),
        sent_(what.block_bytes.size()),
        reduced_(what.block_bytes.size()) {
    for (const Straggler& straggler : model.stragglers) {
      now_[Index(straggler.rank)].seconds += straggler.delay_s;
      slowdown_[Index(straggler.rank)] *= straggler.slowdown;
    }
    total_ = std::accumulate(what.block_bytes.begin(), what.block_bytes.end(), uint64_t{0});
    std::vector<uint64_t> blocks = what.block_bytes;
    if (what.algorithm == Algorithm::kPipelined) blocks = EvenBlocks(total_, what.pieces);
    if (what.algorithm == Algorithm::kInputs) blocks.assign(blocks.size(), total_);
    offsets_.resize(blocks.size() + 1);
    std::partial_sum(blocks.begin(), blocks.end(), offsets_.begin() + 1);
  }

  Cost Run() {
    const int rounds = ScheduleOf(0).rounds;
    const int held = std::max(1, std::min(rounds, kMessagesHeld / world_));
    for (int first = 0; first < rounds; first += held) {
      Hold(first, std::min(held, rounds - first));
      for (size_t at = 0; at < messages_.size(); at += Index(world_)) RunRound(&messages_[at]);
    }
    if (what_.algorithm == Algorithm::kInputs) ReduceInputs();
    const Moment end = std::ranges::max(now_);
    return {.rounds = rounds,
            .seconds = end.seconds,
            .path_bytes = end.bytes,
            .sent_max = std::ranges::max(sent_),
            .sent_all = std::accumulate(sent_.begin(), sent_.end(), uint64_t{0}),
            .reduced_max = std::ranges::max(reduced_)};
  }

 private:
  static size_t Index(int rank) { return static_cast<size_t>(rank); }

  Schedule ScheduleOf(int rank) const {
    return MakeSchedule(
        what_.operation, what_.algorithm,
        {.world = world_, .rank = rank, .root = what_.root, .pieces = what_.pieces});
  }

  uint64_t BytesOf(int rank, const Step& step, int blocks) const {
    BlockSet set = step.send;
    // The other schedules of an all-to-all name blocks by their distance already.
    if (what_.algorithm == Algorithm::kPairwise) set.start = Cyclic(step.to - rank, world_);
    uint64_t bytes = 0;
    VisitRuns(set, blocks, [&](int first, int count) {
      bytes += offsets_[Index(first + count)] - offsets_[Index(first)];
    });
    return bytes;
  }

  // The messages of all ranks in `count` rounds from `first` on, round by round.
  void Hold(int first, int count) {
    messages_.assign(Index(count) * Index(world_), {});
    for (int rank = 0; rank < world_; ++rank) {
      const Schedule schedule = ScheduleOf(rank);
      auto step = std::ranges::lower_bound(schedule.steps, first, {}, &Step::round);
      for (; step != schedule.steps.end() && step->round < first + count; ++step) {
        messages_[Index(step->round - first) * Index(world_) + Index(rank)] = {
            .to = step->to,
            .from = step->from,
            .bytes = step->to < 0 ? 0 : BytesOf(rank, *step, schedule.blocks),
            .reduces = step->on_arrival == OnArrival::kReduce};
      }
    }
  }

  Moment After(Moment begin, int from, int to, uint64_t bytes) const {
    double slowdown = std::max(slowdown_[Index(from)], slowdown_[Index(to)]);
    for (const SlowLink& link : model_.slow_links) {
      const bool here = (link.a == from && link.b == to) || (link.a == to && link.b == from);
      if (here) slowdown *= link.slowdown;
    }
    begin.seconds += slowdown * (model_.alpha_s + model_.beta_s * static_cast<double>(bytes));
    begin.bytes += bytes;
    return begin;
  }

  double ReduceSeconds(int rank, uint64_t bytes) const {
    return slowdown_[Index(rank)] * model_.gamma_s * static_cast<double>(bytes);
  }

  // messages: of each rank in this round.
  void RunRound(const Message* messages) {
    entered_ = now_;
    for (int rank = 0; rank < world_; ++rank) {
      const size_t r = Index(rank);
      const Message& mine = messages[r];
      if (mine.to >= 0) {
        now_[r] = After(entered_[r], rank, mine.to, mine.bytes);
        sent_[r] += mine.bytes;
      }
      if (mine.from < 0) continue;
      const uint64_t bytes = messages[mine.from].bytes;
      const Moment both = std::max(entered_[r], entered_[Index(mine.from)]);
      Moment arrived = After(both, mine.from, rank, bytes);
      if (mine.reduces) {
        arrived.seconds += ReduceSeconds(rank, bytes);
        reduced_[r] += bytes;
      }
      now_[r] = std::max(now_[r], arrived);
    }
  }

  void ReduceInputs() {
    const uint64_t bytes = total_ * static_cast<uint64_t>(world_ - 1);
    for (int rank = 0; rank < world_; ++rank) {
      now_[Index(rank)].seconds += ReduceSeconds(rank, bytes);
      reduced_[Index(rank)] += bytes;
    }
  }

  const CostModel& model_;
  const CostCase& what_;
  const int world_;
  uint64_t total_ = 0;
  std::vector<uint64_t> offsets_;  // offsets_[b] .. offsets_[b + 1] is block b
  std::vector<Message> messages_;
  std::vector<Moment> now_;      // of each rank: when its last step ended
  std::vector<Moment> entered_;  // the same before the round
  std::vector<double> slowdown_;
  std::vector<uint64_t> sent_;
  std::vector<uint64_t> reduced_;
};

}  // namespace

Cost SimulateCost(const CostModel& model, const CostCase& what) {
  STRATA_CHECK(!what.block_bytes.empty() && what.pieces > 0);
  return Simulation(model, what).Run();
}

std::vector<uint64_t> EvenBlocks(uint64_t bytes, int blocks) {
  const auto n = static_cast<uint64_t>(blocks);
  // b * bytes / n without overflow.
  const auto offset = [&](uint64_t b) { return bytes / n * b + bytes % n * b / n; };
  std::vector<uint64_t> sizes;
  for (uint64_t b = 0; b < n; ++b) sizes.push_back(offset(b + 1) - offset(b));
  return sizes;
}

int BestPieces(const CostModel& model, int world, uint64_t bytes) {
  const double many = std::sqrt((world - 2) * model.beta_s * static_cast<double>(bytes));
  const double pieces = many / std::sqrt(model.alpha_s);
  if (world <= 2 || !(pieces > 1)) return 1;
  return static_cast<int>(std::lround(std::min(pieces, double{kPiecesMax})));
}

}  // namespace strata
