// What every collective promises, by every algorithm, whatever carries its messages: the results of
// a plain reference in 64-bit integers, exactly, and sums of floats that are the same on all ranks.
// Each rank runs the same list of calls. Large vectors are summed only; all other reductions are
// tried with what is small.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "cluster/collective/blocks.h"
#include "cluster/collective/group.h"

namespace strata {

class CollectiveContract {
 public:
  // bytes_max bounds what one rank may hold for a call: Algorithm::kInputs needs n inputs.
  explicit CollectiveContract(Group* group, size_t bytes_max = size_t{64} << 20)
      : group_(*group), world_(static_cast<size_t>(group->world())), bytes_max_(bytes_max) {}

  // Calls of `count` elements in all: of each operation with each algorithm.
  void Check(size_t count) {
    CheckReductions(count, ReduceOp::kSum);
    if (count > 0 && count <= 1000) {
      for (const ReduceOp op : {ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
        CheckReductions(count, op);
      }
    }
    for (const Algorithm algorithm : AlgorithmsOf(Collective::kAllgather)) {
      Traced(Collective::kAllgather, algorithm, count, [&] {
        Allgather(Equal(count), {}, {algorithm});
        Allgather(Uneven(count), Uneven(count), {algorithm});
      });
    }
    for (const Algorithm algorithm : AlgorithmsOf(Collective::kAllToAll)) {
      Traced(Collective::kAllToAll, algorithm, count, [&] {
        AllToAll(count / world_, {algorithm});
        AllToAllUneven(count / world_, {algorithm});
      });
    }
    for (const int root : Roots()) {
      for (const Algorithm algorithm : AlgorithmsOf(Collective::kBroadcast)) {
        Traced(Collective::kBroadcast, algorithm, count,
               [&] { Broadcast(count, root, {algorithm}); });
      }
      for (const Algorithm algorithm : AlgorithmsOf(Collective::kGather)) {
        Traced(Collective::kGather, algorithm, count, [&] { Gather(count, root, {algorithm}); });
      }
      for (const Algorithm algorithm : AlgorithmsOf(Collective::kScatter)) {
        Traced(Collective::kScatter, algorithm, count, [&] { Scatter(count, root, {algorithm}); });
      }
    }
    Expect(group_.Barrier());
  }

  // The same, but each operation once, over no other links than those that are there from the
  // start.
  void CheckOneOfEach(size_t count) {
    const int root = group_.world() / 3;
    Allreduce(count, ReduceOp::kSum, {});
    ReduceScatter(Equal(count), {}, ReduceOp::kSum, {});
    Allgather(Uneven(count), Uneven(count), {});
    AllToAllUneven(count / world_, {.algorithm = Algorithm::kBruck});
    Reduce(count, root, ReduceOp::kSum, {});
    Broadcast(count, root, {});
    Gather(count, root, {});
    Scatter(count, root, {});
    Expect(group_.Barrier());
  }

  // One for each float result so far: equal on all ranks.
  const std::vector<uint64_t>& float_hashes() const { return float_hashes_; }

 private:
  using Values = std::vector<int64_t>;
  using Counts = std::vector<size_t>;

  void CheckReductions(size_t count, ReduceOp op) {
    for (const Algorithm algorithm : AlgorithmsOf(Collective::kAllreduce)) {
      if (algorithm == Algorithm::kInputs && count * sizeof(int64_t) * world_ > bytes_max_)
        continue;
      Traced(Collective::kAllreduce, algorithm, count, [&] { Allreduce(count, op, {algorithm}); });
    }
    for (const Algorithm algorithm : AlgorithmsOf(Collective::kReduceScatter)) {
      Traced(Collective::kReduceScatter, algorithm, count, [&] {
        ReduceScatter(Equal(count), {}, op, {algorithm});
        ReduceScatter(Uneven(count), Uneven(count), op, {algorithm});
      });
    }
    for (const int root : Roots()) {
      for (const Algorithm algorithm : AlgorithmsOf(Collective::kReduce)) {
        Traced(Collective::kReduce, algorithm, count,
               [&] { Reduce(count, root, op, {algorithm}); });
      }
    }
  }

  std::vector<int> Roots() const { return {0, group_.world() / 2, group_.world() - 1}; }

  template <typename Body>
  void Traced(Collective operation, Algorithm algorithm, size_t count, const Body& body) {
    if (testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE(testing::Message()
                 << CollectiveName(operation) << " by " << AlgorithmName(algorithm)
                 << ", n=" << world_ << ", rank " << group_.rank() << ", " << count << " elements");
    body();
  }

  static void Expect(const Status& status) { ASSERT_TRUE(status.ok()) << status.ToString(); }

  // What rank r brings as element i: sums stay far from overflow, products wrap around.
  static int64_t Input(size_t rank, size_t i) {
    return static_cast<int64_t>(Mix64(rank << 40 | i) >> 20);
  }
  Values Inputs(size_t count) const {
    Values values(count);
    for (size_t i = 0; i < count; ++i) values[i] = Input(static_cast<size_t>(group_.rank()), i);
    return values;
  }
  // The first `count` elements of all ranks' inputs, reduced.
  const Values& Reduced(size_t count, ReduceOp op) {
    Values& values = reduced_[op];
    for (size_t i = values.size(); i < count; ++i) {
      int64_t value = Input(0, i);
      for (size_t r = 1; r < world_; ++r) {
        const int64_t next = Input(r, i);
        if (op == ReduceOp::kSum) value += next;
        if (op == ReduceOp::kProduct) {
          value = static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(next));
        }
        if (op == ReduceOp::kMin) value = std::min(value, next);
        if (op == ReduceOp::kMax) value = std::max(value, next);
      }
      values.push_back(value);
    }
    return values;
  }

  Counts Equal(size_t count) const {
    Counts counts;
    BlockOffsets offsets;
    EqualBlocks(count, 1, group_.world(), &offsets);
    for (size_t r = 0; r < world_; ++r) counts.push_back(offsets[r + 1] - offsets[r]);
    return counts;
  }
  // Some ranks with nothing, some with much.
  Counts Uneven(size_t count) const {
    Counts counts(world_, 0);
    for (size_t r = 0; r + 1 < world_; ++r) {
      counts[r] = std::min(count, count * (Mix64(r) % 3) / world_);
      count -= counts[r];
    }
    counts.back() = count;
    return counts;
  }
  static size_t Total(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), size_t{0});
  }
  size_t Begin(const Counts& counts) const {
    return std::accumulate(counts.begin(), counts.begin() + group_.rank(), size_t{0});
  }
  size_t Own(const Counts& counts) const { return counts[static_cast<size_t>(group_.rank())]; }

  void Allreduce(size_t count, ReduceOp op, const CallOptions& options) {
    Values data = Inputs(count);
    Expect(group_.Allreduce(std::span(data), op, options));
    const Values& expected = Reduced(count, op);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], expected[i]) << i;
    std::vector<float> floats(count);
    for (size_t i = 0; i < count; ++i) {
      floats[i] = static_cast<float>(Input(static_cast<size_t>(group_.rank()), i)) * 1e-9F;
    }
    Expect(group_.Allreduce(std::span(floats), op, options));
    float_hashes_.push_back(Hash64(std::as_bytes(std::span(floats))));
  }

  void ReduceScatter(const Counts& blocks, const Counts& counts, ReduceOp op,
                     const CallOptions& options) {
    Values data = Inputs(Total(blocks));
    const auto mine = group_.ReduceScatter(std::span(data), op, counts, options);
    ASSERT_TRUE(mine.ok()) << mine.status().ToString();
    ASSERT_EQ(mine->size(), Own(blocks));
    const Values& expected = Reduced(Total(blocks), op);
    const size_t begin = Begin(blocks);
    for (size_t i = 0; i < mine->size(); ++i) ASSERT_EQ((*mine)[i], expected[begin + i]) << i;
  }

  void Allgather(const Counts& blocks, const Counts& counts, const CallOptions& options) {
    Values all(Total(blocks), -1);
    const size_t begin = Begin(blocks);
    for (size_t i = begin; i < begin + Own(blocks); ++i) all[i] = Input(0, i);
    Expect(group_.Allgather(std::span(all), counts, options));
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], Input(0, i)) << i;
  }

  static int64_t Letter(size_t from, size_t to, size_t i) {
    return static_cast<int64_t>(from << 50 | to << 36 | i);
  }

  void AllToAll(size_t block, const CallOptions& options) {
    const auto self = static_cast<size_t>(group_.rank());
    Values in;
    for (size_t to = 0; to < world_; ++to) {
      for (size_t i = 0; i < block; ++i) in.push_back(Letter(self, to, i));
    }
    Values out(in.size(), -1);
    Expect(group_.AllToAll(std::span<const int64_t>(in), std::span(out), {}, {}, options));
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], Letter(i / block, self, i % block));
  }

  void AllToAllUneven(size_t block, const CallOptions& options) {
    const auto self = static_cast<size_t>(group_.rank());
    const auto size = [block](size_t from, size_t to) { return (from * 7 + to * 3) % 4 * block; };
    Values in;
    Values expected;
    Counts in_counts;
    Counts out_counts;
    for (size_t r = 0; r < world_; ++r) {
      in_counts.push_back(size(self, r));
      out_counts.push_back(size(r, self));
      for (size_t i = 0; i < size(self, r); ++i) in.push_back(Letter(self, r, i));
      for (size_t i = 0; i < size(r, self); ++i) expected.push_back(Letter(r, self, i));
    }
    Values out(expected.size(), -1);
    Expect(group_.AllToAll(std::span<const int64_t>(in), std::span(out), in_counts, out_counts,
                           options));
    ASSERT_EQ(out, expected);
  }

  void Reduce(size_t count, int root, ReduceOp op, const CallOptions& options) {
    Values data = Inputs(count);
    Expect(group_.Reduce(std::span(data), op, root, options));
    if (group_.rank() != root) return;
    const Values& expected = Reduced(count, op);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], expected[i]) << i;
  }

  void Broadcast(size_t count, int root, const CallOptions& options) {
    Values data = Inputs(count);
    Expect(group_.Broadcast(std::span(data), root, options));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(data[i], Input(static_cast<size_t>(root), i)) << i;
    }
  }

  void Gather(size_t count, int root, const CallOptions& options) {
    const Counts counts = Uneven(count);
    Values mine;
    for (size_t i = 0; i < Own(counts); ++i) mine.push_back(Input(0, Begin(counts) + i));
    Values all(group_.rank() == root ? count : 0, -1);
    Expect(group_.Gather(std::span<const int64_t>(mine), std::span(all), root, counts, options));
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], Input(0, i)) << i;
  }

  void Scatter(size_t count, int root, const CallOptions& options) {
    const Counts counts = Uneven(count);
    Values all;
    for (size_t i = 0; group_.rank() == root && i < count; ++i) all.push_back(Input(0, i));
    Values mine(Own(counts), -1);
    Expect(group_.Scatter(std::span<const int64_t>(all), std::span(mine), root, counts, options));
    for (size_t i = 0; i < mine.size(); ++i) ASSERT_EQ(mine[i], Input(0, Begin(counts) + i)) << i;
  }

  Group& group_;
  const size_t world_;
  const size_t bytes_max_;
  std::vector<uint64_t> float_hashes_;
  std::map<ReduceOp, Values> reduced_;
};

// The sizes around every cut, and one that does not fit into a cache.
inline std::vector<size_t> ContractSizes(int world, bool large) {
  const auto n = static_cast<size_t>(world);
  std::vector<size_t> sizes = {0, 1, n - 1, n, n + 1, 1000};
  if (large) sizes.push_back((size_t{1} << 20) / sizeof(int64_t));
  return sizes;
}

}  // namespace strata
