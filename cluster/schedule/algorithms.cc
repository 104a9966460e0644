#include "cluster/schedule/algorithms.h"

#include <algorithm>
#include <array>

#include "cluster/schedule/all_to_all.h"
#include "cluster/schedule/allgather.h"
#include "cluster/schedule/doubling_allreduce.h"
#include "cluster/schedule/rooted.h"
#include "cluster/schedule/transpose.h"
#include "strata/status.h"

namespace strata {
namespace {

using enum Algorithm;

constexpr std::array kAllreduces = {kInputs, kDoubling,     kBinomial,
                                    kRing,   kHalvingBruck, kCirculant};
constexpr std::array kAllgathers = {kDoubling, kRing, kBruck};
constexpr std::array kBroadcasts = {kBinomial, kBinaryTree, kPipelined, kScatterAllgather};
constexpr std::array kGathers = {kBinaryTree, kBinomial};
constexpr std::array kScatters = {kBinaryTree, kBinomial};
constexpr std::array kReduces = {kBinaryTree, kBinomial, kRabenseifner};
constexpr std::array kReduceScatters = {kHalving, kHalvingFolded, kRing, kCirculant};
constexpr std::array kAllToAlls = {kBruck, kPairwise};
constexpr std::array kBarriers = {kDissemination};

constexpr std::pair<Algorithm, std::string_view> kAlgorithmNames[] = {
    {kBruck, "bruck"},
    {kDoubling, "doubling"},
    {kRing, "ring"},
    {kBinomial, "binomial"},
    {kBinaryTree, "binary-tree"},
    {kScatterAllgather, "scatter-allgather"},
    {kPipelined, "pipelined"},
    {kRabenseifner, "rabenseifner"},
    {kHalving, "halving"},
    {kHalvingFolded, "halving-folded"},
    {kHalvingBruck, "halving-bruck"},
    {kCirculant, "circulant"},
    {kPairwise, "pairwise"},
    {kDissemination, "dissemination"},
    {kInputs, "inputs"},
};

constexpr std::pair<Collective, std::string_view> kOperationNames[] = {
    {Collective::kAllreduce, "allreduce"},
    {Collective::kAllgather, "allgather"},
    {Collective::kBroadcast, "broadcast"},
    {Collective::kGather, "gather"},
    {Collective::kScatter, "scatter"},
    {Collective::kReduce, "reduce"},
    {Collective::kReduceScatter, "reduce-scatter"},
    {Collective::kAllToAll, "all-to-all"},
    {Collective::kBarrier, "barrier"},
};

std::string_view NameIn(const auto& names, auto value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

Schedule Allgather(Algorithm algorithm, const SchedulePlace& at) {
  switch (algorithm) {
    case kDoubling:
      return DoublingAllgather(at.world, at.rank, HalvingForm::kPairLast);
    case kRing:
      return RingAllgather(at.world, at.rank);
    default:
      return BruckAllgather(at.world, at.rank);
  }
}

Schedule ReduceScatter(Algorithm algorithm, const SchedulePlace& at) {
  const auto backwards = [](const Schedule& allgather) {
    return Transposed(allgather, OnArrival::kReduce);
  };
  switch (algorithm) {
    case kHalving:
      return backwards(DoublingAllgather(at.world, at.rank, HalvingForm::kPairLast));
    case kHalvingFolded:
      return backwards(DoublingAllgather(at.world, at.rank, HalvingForm::kFoldFirst));
    case kRing:
      return backwards(RingAllgather(at.world, at.rank));
    default:
      return backwards(BruckAllgather(at.world, at.rank));
  }
}

Schedule Broadcast(Algorithm algorithm, const SchedulePlace& at) {
  switch (algorithm) {
    case kBinaryTree:
      return BinaryTreeBroadcast(at.world, at.rank, at.root);
    case kScatterAllgather:
      return ScatterAllgatherBroadcast(at.world, at.rank, at.root);
    case kPipelined:
      return PipelinedBroadcast(at.world, at.rank, at.root, at.pieces);
    default:
      return BinomialBroadcast(at.world, at.rank, at.root);
  }
}

Schedule Scatter(Algorithm algorithm, const SchedulePlace& at) {
  return algorithm == kBinaryTree ? BinaryTreeScatter(at.world, at.rank, at.root)
                                  : BinomialScatter(at.world, at.rank, at.root);
}

Schedule Gather(Algorithm algorithm, const SchedulePlace& at) {
  return Transposed(Scatter(algorithm, at), OnArrival::kPlace);
}

Schedule Reduce(Algorithm algorithm, const SchedulePlace& at) {
  if (algorithm == kRabenseifner) return Then(ReduceScatter(kCirculant, at), Gather(kBinomial, at));
  return Transposed(Broadcast(algorithm, at), OnArrival::kReduce);
}

Schedule Allreduce(Algorithm algorithm, const SchedulePlace& at) {
  switch (algorithm) {
    case kDoubling:
      return DoublingAllreduce(at.world, at.rank, HalvingForm::kPairLast);
    case kBinomial:
      return Then(Reduce(kBinomial, at), Broadcast(kBinomial, at));
    case kHalvingBruck:
      return Then(ReduceScatter(kHalving, at), Allgather(kBruck, at));
    case kRing:
      return Then(ReduceScatter(kRing, at), Allgather(kRing, at));
    case kCirculant:
      return Then(ReduceScatter(kCirculant, at), Allgather(kBruck, at));
    default:  // kInputs
      return Allgather(kBruck, at);
  }
}

}  // namespace

std::string_view CollectiveName(Collective operation) { return NameIn(kOperationNames, operation); }

std::optional<Collective> CollectiveNamed(std::string_view name) {
  for (const auto& [operation, known] : kOperationNames) {
    if (known == name) return operation;
  }
  return std::nullopt;
}

std::string_view AlgorithmName(Algorithm algorithm) { return NameIn(kAlgorithmNames, algorithm); }

std::optional<Algorithm> AlgorithmNamed(std::string_view name) {
  for (const auto& [algorithm, known] : kAlgorithmNames) {
    if (known == name) return algorithm;
  }
  return std::nullopt;
}

std::span<const Algorithm> AlgorithmsOf(Collective operation) {
  switch (operation) {
    case Collective::kAllreduce:
      return kAllreduces;
    case Collective::kAllgather:
      return kAllgathers;
    case Collective::kBroadcast:
      return kBroadcasts;
    case Collective::kGather:
      return kGathers;
    case Collective::kScatter:
      return kScatters;
    case Collective::kReduce:
      return kReduces;
    case Collective::kReduceScatter:
      return kReduceScatters;
    case Collective::kAllToAll:
      return kAllToAlls;
    case Collective::kBarrier:
      return kBarriers;
  }
  return {};
}

bool Has(Collective operation, Algorithm algorithm) {
  return std::ranges::count(AlgorithmsOf(operation), algorithm) > 0;
}

Schedule MakeSchedule(Collective operation, Algorithm algorithm, const SchedulePlace& place) {
  STRATA_CHECK(Has(operation, algorithm));
  switch (operation) {
    case Collective::kAllreduce:
      return Allreduce(algorithm, place);
    case Collective::kAllgather:
      return Allgather(algorithm, place);
    case Collective::kBroadcast:
      return Broadcast(algorithm, place);
    case Collective::kGather:
      return Gather(algorithm, place);
    case Collective::kScatter:
      return Scatter(algorithm, place);
    case Collective::kReduce:
      return Reduce(algorithm, place);
    case Collective::kReduceScatter:
      return ReduceScatter(algorithm, place);
    case Collective::kAllToAll:
      return algorithm == kBruck ? BruckAllToAll(place.world, place.rank)
                                 : PairwiseAllToAll(place.world, place.rank);
    case Collective::kBarrier:
      break;
  }
  return DisseminationBarrier(place.world, place.rank);
}

}  // namespace strata
