// What a collective costs: the schedules of all its ranks, run under an alpha-beta-gamma model
// (Hockney's latency and bandwidth, and a price for reducing), with stragglers and slow links.
//
// A rank takes its steps one after the other. A step's send takes alpha + beta bytes from the
// moment its rank enters the step; its receive takes as long from the moment both ends have entered
// it, and gamma for each byte reduced; both run at the same time, and the step ends with the later
// one. No rank waits for a round to end elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/schedule/algorithms.h"

namespace strata {

struct Straggler {
  int rank = 0;
  double delay_s = 0;   // how much later than the others it begins
  double slowdown = 1;  // its messages, either way, and its reducing take so many times as long
};

struct SlowLink {
  int a = 0;
  int b = 0;
  double slowdown = 1;  // messages between the two, either way, take so many times as long
};

// Several entries of a rank or a pair add up: delays as a sum, slowdowns as a product.
struct CostModel {
  double alpha_s = 0;  // for a message
  double beta_s = 0;   // for a byte of a message
  double gamma_s = 0;  // for a byte reduced
  std::vector<Straggler> stragglers = {};
  std::vector<SlowLink> slow_links = {};
};

// Of a network of 10 Gbit/s; what holds where nobody says otherwise.
inline CostModel UsualCosts() { return {.alpha_s = 20e-6, .beta_s = 0.8e-9, .gamma_s = 0.04e-9}; }

struct CostCase {
  Collective operation = Collective::kAllreduce;
  Algorithm algorithm = Algorithm::kCirculant;
  // The bytes of each rank's block, one entry a rank; their sum is the vector that all ranks
  // reduce, gather or broadcast. All-to-all: entry d is what each rank has for the one d further
  // on.
  std::vector<uint64_t> block_bytes = {};
  int root = 0;
  int pieces = 1;  // of Algorithm::kPipelined: it cuts the sum evenly
};

struct Cost {
  int rounds = 0;
  double seconds = 0;        // from the first rank's beginning to the last one's end
  uint64_t path_bytes = 0;   // of the messages, one behind the other, that ended last
  uint64_t sent_max = 0;     // bytes, of the rank that sends most
  uint64_t sent_all = 0;     // bytes, of all ranks
  uint64_t reduced_max = 0;  // bytes, of the rank that reduces most
};

// The operation must have the algorithm, and the model's ranks must be there. Quick up to some
// thousand ranks: a second or two for a ring of 4,096, in some 200 MB.
Cost SimulateCost(const CostModel& model, const CostCase& what);

// `bytes` in `blocks` nearly equal blocks: block b begins at b * bytes / blocks.
std::vector<uint64_t> EvenBlocks(uint64_t bytes, int blocks);

// How many pieces make Algorithm::kPipelined fastest, here and in the groups of ranks: the root of
// (n-2) beta bytes / alpha, from 1 to 1,024.
int BestPieces(const CostModel& model, int world, uint64_t bytes);

}  // namespace strata
