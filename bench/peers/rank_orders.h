// What strata-bench and the rank processes of suite "collective" say to one another over a Unix
// socket a rank, and what every rank process does with it. A rank that is not asked for anything
// sleeps, so that contenders can take turns. Both ends are of one build: structs travel as they lie
// in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/schedule/algorithms.h"
#include "strata/status.h"

namespace strata::bench {

// A rank's first word; the answer is one port for each rank.
struct RankHello {
  int32_t rank = 0;
  uint16_t port = 0;  // where it listens; 0: its library finds its ranks by itself
};

// What all ranks shall do at the same time: calls of one collective, a sum where it reduces, rank 0
// the root where there is one.
struct RankOrder {
  Collective operation = Collective::kAllreduce;
  uint32_t variant = 0;  // as RankCollectives numbers them
  uint64_t bytes = 0;    // of the whole vector of floats; of blocks, rounded up to whole ones
  uint64_t calls = 1;    // how often, with two before that do not count
};

enum class RankOutcome : uint32_t {
  kDone,
  kNoVariant,  // there are not so many
  kWrong,      // the result is not what it has to be
  kFailed,
};
struct RankAnswer {
  RankOutcome outcome = RankOutcome::kDone;
  double p50_us = 0;  // of a call
  double p99_us = 0;
  double seconds = 0;  // of all that count
  char text[228] = {};
};

// Ranks that call collectives over floats; a peer implements it over its library.
class RankCollectives {
 public:
  virtual ~RankCollectives() = default;
  // In how many ways it can do the operation. 0: it cannot.
  virtual uint32_t variants(Collective operation) const = 0;
  // Makes ready for calls over `data`, which stays where it is until the next order that differs.
  virtual Status Prepare(const RankOrder& order, std::span<float> data) = 0;
  // data: this rank's whole input; for allgather, block rank of it; what else it holds may be used
  // up, too.
  virtual Status Call() = 0;
  // Where a call leaves its result: the whole vector, or this rank's block of a reduce-scatter.
  virtual std::span<const float> Result() const = 0;
};

// How many floats the vector of such an order has.
size_t FloatsOf(const RankOrder& order, int world);
// What a collective over them has to yield, by rank; rank r puts In(r, i) into its element i.
std::vector<float> Expected(const RankOrder& order, int rank, int world);

// The strata-bench that started this process.
class RankMaster {
 public:
  // kFailed: nobody listens at this path.
  static Result<RankMaster> Reach(const char* path);
  explicit RankMaster(int fd) : fd_(fd) {}
  RankMaster(RankMaster&& other) noexcept;
  ~RankMaster();

  // The ports of all ranks, in rank order.
  Result<std::vector<uint16_t>> Meet(const RankHello& hello, int world) const;
  // Carries out orders until there are no more. Checks the result of each configuration before it
  // is timed.
  Status Serve(int rank, int world, RankCollectives& collectives) const;

 private:
  int fd_;
};

// main() of a rank process: runs `body` and says on stderr what failed.
int RankMain(int argc, char** argv, Status (*body)(std::span<char*> arguments));

}  // namespace strata::bench
