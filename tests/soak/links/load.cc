#include "tests/soak/links/load.h"

#include <algorithm>
#include <span>

#include "base/hash.h"
#include "base/random.h"
#include "cluster/collective/blocks.h"

namespace strata::soak {
namespace {

// Most messages are short, a few long enough to be caught in the middle of.
constexpr uint64_t kShortBitsMax = 16;
constexpr uint64_t kLongBits = 19;
constexpr double kLong = 1.0 / 16;

constexpr int64_t kRankStep = 1'000'003;

}  // namespace

RankCall PlanRankCall(uint64_t seed, uint64_t number, int world) {
  Random random(Mix64(seed) + number);
  RankCall call;
  call.operation = kCollectives[random.Below(std::size(kCollectives))];
  const auto algorithms = AlgorithmsOf(call.operation);
  call.algorithm = algorithms[random.Below(algorithms.size())];
  const uint64_t bits = random.Chance(kLong) ? kLongBits : random.Below(kShortBitsMax + 1);
  call.count = random.Below(uint64_t{1} << bits);
  call.root = static_cast<int>(random.Below(static_cast<uint64_t>(world)));
  call.base = static_cast<int64_t>(random.Below(1'000'000));
  return call;
}

int64_t RankLoad::Value(const RankCall& call, int rank, size_t index) const {
  return call.base + rank * kRankStep + static_cast<int64_t>(index);
}

int64_t RankLoad::Sum(const RankCall& call, size_t index) const {
  const int64_t n = group_->world();
  return n * (call.base + static_cast<int64_t>(index)) + n * (n - 1) / 2 * kRankStep;
}

Status RankLoad::Do(const RankCall& call, bool* right) {
  switch (call.operation) {
    case Collective::kAllreduce:
    case Collective::kReduce:
    case Collective::kReduceScatter:
      return Reduce(call, right);
    case Collective::kAllgather:
    case Collective::kBroadcast:
      return Spread(call, right);
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllToAll:
      return Deal(call, right);
    case Collective::kBarrier:
      break;
  }
  return group_->Barrier({.algorithm = call.algorithm});
}

Status RankLoad::Reduce(const RankCall& call, bool* right) {
  const CallOptions options{.algorithm = call.algorithm};
  const int rank = group_->rank();
  in_.resize(call.count);
  for (size_t i = 0; i < in_.size(); ++i) in_[i] = Value(call, rank, i);
  std::span<int64_t> result(in_);
  if (call.operation == Collective::kAllreduce) {
    STRATA_TRY(group_->Allreduce(result, ReduceOp::kSum, options));
  } else if (call.operation == Collective::kReduce) {
    STRATA_TRY(group_->Reduce(result, ReduceOp::kSum, call.root, options));
    if (rank != call.root) return {};
  } else {
    STRATA_ASSIGN(result, group_->ReduceScatter(result, ReduceOp::kSum, {}, options));
  }
  const auto first = static_cast<size_t>(result.data() - in_.data());
  for (size_t i = 0; i < result.size(); ++i) *right &= result[i] == Sum(call, first + i);
  return {};
}

Status RankLoad::Spread(const RankCall& call, bool* right) {
  const CallOptions options{.algorithm = call.algorithm};
  const int rank = group_->rank();
  in_.assign(call.count, -1);
  size_t first = 0;
  size_t end = rank == call.root ? call.count : 0;
  if (call.operation == Collective::kAllgather) {
    BlockOffsets offsets;
    EqualBlocks(call.count, 1, group_->world(), &offsets);
    first = offsets[static_cast<size_t>(rank)];
    end = offsets[static_cast<size_t>(rank) + 1];
  }
  for (size_t i = first; i < end; ++i) in_[i] = Value(call, 0, i);
  if (call.operation == Collective::kAllgather) {
    STRATA_TRY(group_->Allgather(std::span(in_), {}, options));
  } else {
    STRATA_TRY(group_->Broadcast(std::span(in_), call.root, options));
  }
  for (size_t i = 0; i < in_.size(); ++i) *right &= in_[i] == Value(call, 0, i);
  return {};
}

Status RankLoad::Deal(const RankCall& call, bool* right) {
  const CallOptions options{.algorithm = call.algorithm};
  const auto n = static_cast<size_t>(group_->world());
  const auto rank = static_cast<size_t>(group_->rank());
  const size_t block = call.count / n;
  const auto value = [&](size_t from, size_t to, size_t i) {
    return Value(call, static_cast<int>(from * n + to), i);
  };
  const auto root = static_cast<size_t>(call.root);
  if (call.operation == Collective::kGather) {
    in_.resize(block);
    out_.assign(rank == root ? n * block : 0, -1);
    for (size_t i = 0; i < block; ++i) in_[i] = value(rank, root, i);
    STRATA_TRY(
        group_->Gather(std::span<const int64_t>(in_), std::span(out_), call.root, {}, options));
    for (size_t i = 0; i < out_.size(); ++i) *right &= out_[i] == value(i / block, root, i % block);
  } else if (call.operation == Collective::kScatter) {
    in_.resize(rank == root ? n * block : 0);
    out_.assign(block, -1);
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = value(root, i / block, i % block);
    STRATA_TRY(
        group_->Scatter(std::span<const int64_t>(in_), std::span(out_), call.root, {}, options));
    for (size_t i = 0; i < block; ++i) *right &= out_[i] == value(root, rank, i);
  } else {
    in_.resize(n * block);
    out_.assign(n * block, -1);
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = value(rank, i / block, i % block);
    STRATA_TRY(group_->AllToAll(std::span<const int64_t>(in_), std::span(out_), {}, {}, options));
    for (size_t i = 0; i < out_.size(); ++i) *right &= out_[i] == value(i / block, rank, i % block);
  }
  return {};
}

Status RankLoad::AnySaysSo(bool mine, bool* any) {
  int64_t said = mine ? 1 : 0;
  STRATA_TRY(group_->Allreduce(std::span(&said, 1), ReduceOp::kMax));
  *any = said != 0;
  return {};
}

}  // namespace strata::soak
