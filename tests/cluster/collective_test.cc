// Collectives over MemoryWorld: every algorithm and number of ranks, sizes on both sides of every
// switch, against a reference in double precision.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <thread>

#include "base/hash.h"
#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"
#include "tests/cluster/collective_contract.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int kWorldMax = 17;
// Up to how many ranks large vectors are tried. Sanitizers take minutes for more, and see nothing
// new.
constexpr int kLargeWorldMax = kSanitized ? 4 : 33;

// Runs `body` as every rank of a world, each in a thread of its own.
void RunRanks(int world, const std::function<void(Group&)>& body) {
  MemoryWorld memory(world);
  std::vector<std::thread> threads;
  for (int r = 0; r < world; ++r) {
    threads.emplace_back([&, r] {
      Group group(memory.rank(r));
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A number in [-1000, 1000] with a fraction: sums of it round.
template <typename T>
T Input(int rank, size_t i) {
  const uint64_t bits = Mix64(static_cast<uint64_t>(rank) << 32 | i);
  return static_cast<T>((static_cast<double>(bits % 2'000'001) - 1'000'000.0) / 1000.0);
}

template <typename T>
std::vector<T> Inputs(int rank, size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = Input<T>(rank, i);
  return values;
}

template <typename T>
double Reference(int world, size_t i, ReduceOp op) {
  double result = static_cast<double>(Input<T>(0, i));
  for (int r = 1; r < world; ++r) {
    const auto next = static_cast<double>(Input<T>(r, i));
    if (op == ReduceOp::kSum) result += next;
    if (op == ReduceOp::kMin) result = std::min(result, next);
    if (op == ReduceOp::kMax) result = std::max(result, next);
  }
  return result;
}

template <typename T>
void CheckAllreduce(int world, size_t count, ReduceOp op) {
  SCOPED_TRACE("n=" + std::to_string(world) + " count=" + std::to_string(count));
  std::vector<std::vector<T>> results(static_cast<size_t>(world));
  RunRanks(world, [&](Group& group) {
    std::vector<T> data = Inputs<T>(group.rank(), count);
    const Status status = group.Allreduce(std::span<T>(data), op);
    EXPECT_TRUE(status.ok()) << status.ToString();
    results[static_cast<size_t>(group.rank())] = std::move(data);
  });
  const double tolerance = op == ReduceOp::kSum && std::is_same_v<T, float> ? 0.02 : 1e-9;
  for (size_t i = 0; i < count; ++i) {
    ASSERT_NEAR(static_cast<double>(results[0][i]), Reference<T>(world, i, op), tolerance) << i;
  }
  for (const auto& result : results) ASSERT_EQ(result, results[0]);  // to the bit
}

TEST(Group, AllreduceSumOfFloats) {
  for (int world = 1; world <= kWorldMax; ++world) {
    for (size_t count : {0, 1, 5, 1023, 1024, 1025, 5000}) {
      ASSERT_NO_FATAL_FAILURE(CheckAllreduce<float>(world, count, ReduceOp::kSum));
    }
  }
}

TEST(Group, AllreduceOfOtherTypesAndReductions) {
  for (int world : {2, 3, 6, 8, 13}) {
    for (size_t count : {3, 700}) {
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax}) {
        CheckAllreduce<float>(world, count, op);
        CheckAllreduce<double>(world, count, op);
        CheckAllreduce<int64_t>(world, count, op);
        CheckAllreduce<int16_t>(world, count, op);
      }
    }
  }
}

// Every algorithm of every operation, in threads, against the reference.
void CheckContract(int world) {
  std::vector<std::vector<uint64_t>> hashes(static_cast<size_t>(world));
  RunRanks(world, [&](Group& group) {
    CollectiveContract contract(&group);
    for (const size_t count : ContractSizes(world, world <= kLargeWorldMax)) contract.Check(count);
    hashes[static_cast<size_t>(group.rank())] = contract.float_hashes();
  });
  for (const auto& mine : hashes) ASSERT_EQ(mine, hashes[0]);
}

class GroupOf : public testing::TestWithParam<int> {};

TEST_P(GroupOf, EveryAlgorithmInThreads) { CheckContract(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ranks, GroupOf, testing::Range(1, kWorldMax + 1));
INSTANTIATE_TEST_SUITE_P(ManyRanks, GroupOf, testing::Values(31, 32, 33));

TEST(Group, InputsAreSummedInRankOrder) {
  constexpr int kWorld = 5;
  constexpr size_t kCount = 100;
  RunRanks(kWorld, [&](Group& group) {
    std::vector<float> data = Inputs<float>(group.rank(), kCount);
    ASSERT_TRUE(
        group.Allreduce(std::span<float>(data), ReduceOp::kSum, {.algorithm = Algorithm::kInputs})
            .ok());
    for (size_t i = 0; i < kCount; ++i) {
      float expected = Input<float>(0, i);
      for (int r = 1; r < kWorld; ++r) expected += Input<float>(r, i);
      ASSERT_EQ(data[i], expected);
    }
  });
}

std::vector<std::byte> Bytes(int rank, size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(Mix64(static_cast<uint64_t>(rank) * 1'000'003 + i));
  }
  return bytes;
}

TEST(Group, AllgatherOfDifferentSizes) {
  for (int world = 1; world <= kWorldMax; ++world) {
    SCOPED_TRACE(world);
    const auto size_of = [](int rank) { return static_cast<size_t>(rank % 4 * 333); };
    RunRanks(world, [&](Group& group) {
      std::vector<std::vector<std::byte>> all;
      for (int repeat = 0; repeat < 2; ++repeat) {
        const Status status = group.Allgather(Bytes(group.rank(), size_of(group.rank())), &all);
        ASSERT_TRUE(status.ok()) << status.ToString();
        ASSERT_EQ(all.size(), static_cast<size_t>(world));
        for (int r = 0; r < world; ++r) {
          ASSERT_EQ(all[static_cast<size_t>(r)], Bytes(r, size_of(r)));
        }
      }
    });
  }
}

TEST(Group, ManyCallsInARow) {
  RunRanks(6, [](Group& group) {
    for (int64_t call = 0; call < 200; ++call) {
      std::vector<int64_t> data(static_cast<size_t>(call * 7 % 1500), group.rank() + call);
      ASSERT_TRUE(group.Allreduce(std::span<int64_t>(data), ReduceOp::kSum).ok());
      for (int64_t value : data) ASSERT_EQ(value, 15 + 6 * call);
    }
  });
}

TEST(Group, DifferentSizesAreAnErrorOnAllRanks) {
  for (size_t other : {9, 5000}) {
    RunRanks(4, [&](Group& group) {
      std::vector<float> data(group.rank() == 2 ? other : 10);
      const Status status = group.Allreduce(std::span<float>(data), ReduceOp::kSum);
      ASSERT_FALSE(status.ok());
      EXPECT_THAT(status.message(), HasSubstr("allreduce"));
      // The group has ended: later calls say the same.
      EXPECT_EQ(group.Allreduce(std::span<float>(data), ReduceOp::kSum).message(),
                status.message());
    });
  }
}

// Blocks that travel by way of others show nobody on the way that their ends disagree.
TEST(Group, UnevenBlocksThatSenderAndReceiverCountDifferentlyAreAnErrorOnAllRanks) {
  for (const size_t sent : {size_t{0}, size_t{9}, size_t{11}, size_t{5000}}) {
    RunRanks(3, [&](Group& group) {
      const std::vector<size_t> in_counts = {group.rank() == 1 ? sent : 10, 10, 10};
      const std::vector<size_t> out_counts = {10, 10, 10};
      std::vector<int64_t> in(in_counts[0] + 20);
      std::vector<int64_t> out(30, -1);
      const Status status = group.AllToAll(std::span<const int64_t>(in), std::span(out), in_counts,
                                           out_counts, {.algorithm = Algorithm::kBruck});
      ASSERT_EQ(status.code(), group.rank() == 0 ? StatusCode::kFailed : StatusCode::kLost);
      EXPECT_THAT(
          status.message(),
          HasSubstr(fmt::format("rank 1 sends {} bytes to rank 0, which expects 80", 8 * sent)));
      EXPECT_EQ(out, std::vector<int64_t>(30, -1));
    });
  }
}

TEST(Group, DifferentCollectivesAreAnError) {
  RunRanks(3, [&](Group& group) {
    std::vector<int64_t> data(1);
    std::vector<std::vector<std::byte>> all;
    const Status status = group.rank() == 1
                              ? group.Allgather(std::as_bytes(std::span(data)), &all)
                              : group.Allreduce(std::span<int64_t>(data), ReduceOp::kSum);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("allgather (bruck) call 0"));
    EXPECT_THAT(status.message(), HasSubstr("allreduce"));
  });
}

TEST(Group, IntegerSumsWrapAround) {
  RunRanks(2, [](Group& group) {
    std::vector<int64_t> data = {group.rank() == 0 ? INT64_MAX : 1};
    ASSERT_TRUE(group.Allreduce(std::span<int64_t>(data), ReduceOp::kSum).ok());
    EXPECT_EQ(data[0], INT64_MIN);
  });
}

// Zeros of either sign compare equal, and NaN does not compare: the ranks must still agree.
TEST(Group, ResultsAreTheSameBitsOnAllRanks) {
  for (const int world : {2, 3, 5, 8}) {
    for (const Algorithm algorithm : AlgorithmsOf(Collective::kAllreduce)) {
      for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kSum}) {
        std::vector<std::vector<uint64_t>> bits(static_cast<size_t>(world));
        RunRanks(world, [&](Group& group) {
          std::vector<double> data(64, group.rank() % 2 == 0 ? 0.0 : -0.0);
          data[7] = group.rank() == 1 ? std::nan("") : 1.0;
          ASSERT_TRUE(group.Allreduce(std::span(data), op, {.algorithm = algorithm}).ok());
          auto& mine = bits[static_cast<size_t>(group.rank())];
          for (const double value : data) mine.push_back(std::bit_cast<uint64_t>(value));
        });
        for (const auto& mine : bits) {
          ASSERT_EQ(mine, bits[0]) << AlgorithmName(algorithm) << " n=" << world;
        }
      }
    }
  }
}

// The sum and the number of what was summed, as one element of 24 bytes.
struct Moments {
  double sum = 0;
  double squares = 0;
  uint64_t count = 0;
};

TEST(Group, ReductionsOfTheCallersOwn) {
  const Reduction add = CustomReduction(
      sizeof(Moments), [](void* into, const void* from, size_t count, const void* /*context*/) {
        auto* const a = static_cast<Moments*>(into);
        const auto* const b = static_cast<const Moments*>(from);
        for (size_t i = 0; i < count; ++i) {
          a[i].sum += b[i].sum;
          a[i].squares += b[i].squares;
          a[i].count += b[i].count;
        }
      });
  RunRanks(5, [&](Group& group) {
    for (const Algorithm algorithm : AlgorithmsOf(Collective::kAllreduce)) {
      std::vector<Moments> data(100, {1.0 * group.rank(), 1.0 * group.rank() * group.rank(), 1});
      ASSERT_TRUE(
          group.Allreduce(std::as_writable_bytes(std::span(data)), add, {.algorithm = algorithm})
              .ok());
      for (const Moments& moments : data) {
        ASSERT_EQ(moments.sum, 10);
        ASSERT_EQ(moments.squares, 30);
        ASSERT_EQ(moments.count, 5u);
      }
    }
    std::vector<std::byte> none(8);
    EXPECT_EQ(group.Allreduce(std::span(none), CustomReduction(0, nullptr)).code(),
              StatusCode::kInvalid);
    std::vector<std::byte> ten(10);
    const Reduction of_four = CustomReduction(4, nullptr);
    EXPECT_THAT(group.Allreduce(std::span(ten), of_four).message(),
                HasSubstr("allreduce: 10 bytes are no elements of 4"));
    EXPECT_EQ(group.Reduce(std::span(ten), of_four, 0).code(), StatusCode::kInvalid);
  });
}

TEST(Group, GroupsWithinTheGroup) {
  RunRanks(7, [](Group& group) {
    // Odd and even ranks, the highest first.
    auto half = group.Split(group.rank() % 2, -group.rank());
    ASSERT_TRUE(half.ok()) << half.status().ToString();
    const int world = group.rank() % 2 == 0 ? 4 : 3;
    ASSERT_EQ(half->world(), world);
    EXPECT_EQ(half->rank(), world - 1 - group.rank() / 2);
    std::vector<int64_t> data(1000, group.rank());
    ASSERT_TRUE(half->Allreduce(std::span(data), ReduceOp::kSum).ok());
    EXPECT_EQ(data, std::vector<int64_t>(1000, group.rank() % 2 == 0 ? 12 : 9));
    // The whole group goes on beside them, and so do groups within groups.
    ASSERT_TRUE(group.Barrier().ok());
    auto quarter = half->Split(half->rank() / 2, 0);
    ASSERT_TRUE(quarter.ok()) << quarter.status().ToString();
    std::vector<int64_t> ones(10, 1);
    ASSERT_TRUE(quarter->Allreduce(std::span(ones), ReduceOp::kSum).ok());
    EXPECT_EQ(ones[0], quarter->world());
    ASSERT_TRUE(group.Barrier().ok());
  });
}

TEST(Group, WhatCannotBeIsRefusedBeforeAnythingIsSent) {
  RunRanks(2, [](Group& group) {
    std::vector<int64_t> data(10);
    const std::vector<size_t> three = {1, 2, 7};
    const std::vector<size_t> short_by_one = {4, 5};
    EXPECT_THAT(group.Broadcast(std::span(data), 2).message(), HasSubstr("root 2 of a group of 2"));
    EXPECT_THAT(group.Allgather(std::span(data), three).message(),
                HasSubstr("3 counts for 2 ranks"));
    EXPECT_THAT(group.Allgather(std::span(data), short_by_one).message(),
                HasSubstr("the counts make 72 bytes, the buffer has 80"));
    EXPECT_THAT(group.Allreduce(std::span(data), ReduceOp::kSum, {.algorithm = Algorithm::kBruck})
                    .message(),
                HasSubstr("allreduce has no algorithm bruck"));
    // The group goes on.
    ASSERT_TRUE(group.Allreduce(std::span(data), ReduceOp::kSum).ok());
  });
}

TEST(EqualBlocks, CoverEverythingWithoutOverflow) {
  BlockOffsets offsets;
  for (int world = 1; world <= 40; ++world) {
    for (size_t count : {size_t{0}, size_t{1}, size_t{39}, size_t{1000}, size_t{1} << 59}) {
      EqualBlocks(count, 4, world, &offsets);
      ASSERT_EQ(offsets.front(), 0u);
      ASSERT_EQ(offsets.back(), count * 4);
      for (size_t b = 0; b + 1 < offsets.size(); ++b) {
        const size_t elements = (offsets[b + 1] - offsets[b]) / 4;
        ASSERT_GE(elements, count / static_cast<size_t>(world));
        ASSERT_LE(elements, count / static_cast<size_t>(world) + 1);
      }
    }
  }
}

}  // namespace
}  // namespace strata
