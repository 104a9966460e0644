// The collectives and the algorithms there are for each, by name. docs/collectives.md says what
// each costs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace strata {

// DO NOT CHANGE THESE VALUES: they travel in the frames of an exchange.
enum class Collective : uint8_t {
  kAllreduce = 1,
  kAllgather = 2,
  kBroadcast = 3,
  kGather = 4,
  kScatter = 5,
  kReduce = 6,
  kReduceScatter = 7,
  kAllToAll = 8,
  kBarrier = 9,
};
constexpr Collective kCollectives[] = {
    Collective::kAllreduce, Collective::kAllgather,     Collective::kBroadcast,
    Collective::kGather,    Collective::kScatter,       Collective::kReduce,
    Collective::kAllToAll,  Collective::kReduceScatter, Collective::kBarrier,
};
std::string_view CollectiveName(Collective operation);  // "reduce-scatter"
constexpr bool HasRoot(Collective operation) {
  return operation == Collective::kBroadcast || operation == Collective::kGather ||
         operation == Collective::kScatter || operation == Collective::kReduce;
}
std::optional<Collective> CollectiveNamed(std::string_view name);

// Which algorithms an operation has: AlgorithmsOf. DO NOT CHANGE THESE VALUES: they travel, too.
enum class Algorithm : uint8_t {
  kBruck = 1,             // allgather, all-to-all
  kDoubling = 2,          // allgather, allreduce: recursive doubling
  kRing = 3,              // allgather, reduce-scatter, allreduce
  kBinomial = 4,          // broadcast, gather, scatter, reduce; allreduce: reduce + broadcast
  kBinaryTree = 5,        // broadcast, gather, scatter, reduce
  kScatterAllgather = 6,  // broadcast: van de Geijn
  kPipelined = 7,         // broadcast
  kRabenseifner = 8,      // reduce: reduce-scatter + gather
  kHalving = 9,           // reduce-scatter: recursive halving, the last ranks pair up (LightGBM)
  kHalvingFolded = 10,    // the same, the first ranks fold (virtual ranks)
  kHalvingBruck = 11,     // allreduce: kHalving + Bruck's allgather
  kCirculant = 12,  // reduce-scatter: Bruck's allgather transposed; allreduce: with its allgather
  kPairwise = 13,   // all-to-all
  kDissemination = 14,  // barrier
  kInputs = 15,         // allreduce: all inputs to all ranks, each reduces them in rank order
};
std::string_view AlgorithmName(Algorithm algorithm);  // "scatter-allgather"
std::optional<Algorithm> AlgorithmNamed(std::string_view name);

// The algorithms of a collective; the last is the one that does well whatever the sizes.
std::span<const Algorithm> AlgorithmsOf(Collective operation);
bool Has(Collective operation, Algorithm algorithm);

}  // namespace strata
