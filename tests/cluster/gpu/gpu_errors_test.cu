// What a group of GPUs refuses, and that it gives up in time where a peer does not come.
#include <functional>
#include <latch>

#include "tests/cluster/gpu/gpu_oracle.cuh"
#include "tests/cluster/gpu/rank_threads.cuh"

namespace strata {
namespace {

constexpr TimeNs kDeadline = 3 * kSecond;  // NCCL's groups take one on a busy machine
constexpr TimeNs kBound = 10 * kSecond;    // for what must take about kDeadline

// Other ranks wait for this one, however its body ends.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> what) : what_(std::move(what)) {}
  ~AtEnd() { what_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  const std::function<void()> what_;
};

void AddBytes(void*, const void*, size_t, const void*) {}

TEST(GpuReductionTest, WhatNcclHasIsTakenAndACustomReductionIsRefused) {
  const Result<GpuReduction> taken = OnGpus(MakeReduction<int64_t>(ReduceOp::kMax));
  ASSERT_TRUE(taken.ok()) << taken.status().ToString();
  EXPECT_EQ(taken->type, ElementType::kInt64);
  EXPECT_EQ(taken->op, ReduceOp::kMax);

  const Status custom = OnGpus(CustomReduction(24, AddBytes)).status();
  EXPECT_EQ(custom.code(), StatusCode::kInvalid);
  EXPECT_NE(custom.message().find("24"), std::string::npos) << custom.ToString();
  EXPECT_EQ(OnGpus(MakeReduction<int8_t>(ReduceOp::kSum)).status().code(), StatusCode::kInvalid);
}

class GpuErrorsTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    STRATA_SKIP_BELOW_GPUS(2);
    options_.deadline = kDeadline;
    options_.peer_memory = GetParam();
  }
  using Call = std::function<Status(GpuGroup&, cudaStream_t)>;
  // Rank 0 calls alone, and gets the error in time; and again, at once, for the next call.
  static void ExpectEnds(GpuGroup& group, cudaStream_t stream, const Call& call,
                         const std::string& named) {
    const TimeNs began = RealClock().Now();
    Status status = call(group, stream);
    if (status.ok()) status = group.Wait(stream);
    EXPECT_LT(RealClock().Now() - began, kBound);
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
    EXPECT_NE(status.message().find(named), std::string::npos) << status.ToString();
    EXPECT_NE(status.message().find("rank 0 of 2"), std::string::npos) << status.ToString();
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "a kernel still runs";
    const TimeNs again = RealClock().Now();
    EXPECT_EQ(group.Barrier(stream).message(), status.message());
    EXPECT_LT(RealClock().Now() - again, kDeadline / 2);
  }
  // Both ranks have a group; only rank 0 calls, `call`, and waits for the error.
  void ExpectEndsInTime(const Call& call, const std::string& named) {
    std::latch rank0_done(1);
    RunRanks(2, options_, [&](GpuGroup& group, cudaStream_t stream) {
      if (group.rank() == 1) {
        rank0_done.wait();
        return;
      }
      const AtEnd done([&] { rank0_done.count_down(); });
      ExpectEnds(group, stream, call, named);
    });
  }
  GpuGroupOptions options_;
};

TEST_P(GpuErrorsTest, AnAllreduceWhosePeerIsMissingEndsInTime) {
  DeviceArray<float> data(1000);
  ExpectEndsInTime(
      [&](GpuGroup& group, cudaStream_t stream) {
        return group.Allreduce(data.data(), data.data(), 1000, {}, stream);
      },
      GetParam() ? "rank 1 did not come to small allreduce" : "NCCL waited 3.0 s");
}

// The first exchange between two ranks connects them, for which NCCL holds the calling thread.
TEST_P(GpuErrorsTest, ACallThatMustConnectEndsInTime) {
  DeviceArray<float> send(2000), receive(2000);
  const std::vector<size_t> counts = {1000, 1000};
  ExpectEndsInTime(
      [&](GpuGroup& group, cudaStream_t stream) {
        return group.AllToAll(send.data(), counts, receive.data(), counts, ElementType::kFloat,
                              stream);
      },
      "NCCL waited 3.0 s");
}

TEST_P(GpuErrorsTest, AWaitForAMissingPeerEndsInTime) {
  DeviceArray<float> data(1 << 21);
  const auto call = [&](GpuGroup& group, cudaStream_t stream) {
    return group.Allreduce(data.data(), data.data(), 1 << 21, {}, stream);
  };
  std::latch rank0_done(1);
  RunRanks(2, options_, [&](GpuGroup& group, cudaStream_t stream) {
    DeviceArray<float> first(1 << 21);
    EXPECT_TRUE(group.Allreduce(first.data(), first.data(), 1 << 21, {}, stream).ok());
    EXPECT_TRUE(group.Wait(stream).ok());  // both are connected now
    if (group.rank() == 1) {
      rank0_done.wait();
      return;
    }
    const AtEnd done([&] { rank0_done.count_down(); });
    ExpectEnds(group, stream, call, "not done within 3.0 s");
  });
}

// Ranks that call different things never take each other's data for an answer.
TEST_P(GpuErrorsTest, SmallAllreducesOfDifferentSizesAreAnError) {
  if (!GetParam()) GTEST_SKIP() << "NCCL does not tell sizes apart";
  RunRanks(2, options_, [&](GpuGroup& group, cudaStream_t stream) {
    DeviceArray<float> data(Elements<float>(1, group.rank(), 8));
    const size_t count = group.rank() == 0 ? 8 : 7;
    ASSERT_TRUE(group.Allreduce(data.data(), data.data(), count, {}, stream).ok());
    EXPECT_EQ(group.Wait(stream).code(), StatusCode::kDeadlineExceeded);
  });
}

TEST_P(GpuErrorsTest, AbortEndsAWaitWithItsError) {
  options_.deadline = 60 * kSecond;
  std::latch rank0_done(1);
  RunRanks(2, options_, [&](GpuGroup& group, cudaStream_t stream) {
    DeviceArray<float> data(1000);
    EXPECT_TRUE(group.Allreduce(data.data(), data.data(), 1000, {}, stream).ok());  // connects
    EXPECT_TRUE(group.Wait(stream).ok());
    if (group.rank() == 1) {
      rank0_done.wait();
      group.Abort(Cancelled("the test is over"));  // or the destructor would wait for rank 0
      return;
    }
    const AtEnd done([&] { rank0_done.count_down(); });
    ASSERT_TRUE(group.Allreduce(data.data(), data.data(), 1000, {}, stream).ok());
    std::jthread other([&] { group.Abort(Lost("links say that rank 1 is gone")); });
    const Status status = group.Wait(stream);
    EXPECT_EQ(status.code(), StatusCode::kLost) << status.ToString();
    EXPECT_NE(status.message().find("links say that rank 1 is gone"), std::string::npos);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, GpuErrorsTest, testing::Bool(), [](const auto& path) {
  return std::string(path.param ? "PeerMemory" : "Nccl");
});

TEST(GpuMakeTest, AGroupWhosePeerIsMissingIsAnErrorInTime) {
  STRATA_SKIP_BELOW_GPUS(1);
  SharedBytes shared;
  GpuGroupOptions options;
  options.world = 2;
  options.deadline = kDeadline;
  const TimeNs began = RealClock().Now();
  const Status status = GpuGroup::Make(options, shared.Of(0)).status();
  EXPECT_LT(RealClock().Now() - began, kBound);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
}

TEST(GpuMakeTest, TwoRanksOnOneGpuAreRefused) {
  STRATA_SKIP_BELOW_GPUS(1);
  SharedBytes shared;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      GpuGroupOptions options;
      options.rank = rank;
      options.world = 2;
      options.deadline = 10 * kSecond;
      const Status status = GpuGroup::Make(options, shared.Of(rank)).status();
      EXPECT_EQ(status.code(), StatusCode::kInvalid) << status.ToString();
    });
  }
}

TEST(GpuMakeTest, WrongRanksAndDevicesAreRefused) {
  STRATA_SKIP_BELOW_GPUS(1);
  SharedBytes shared;
  GpuGroupOptions options;
  options.rank = 1;
  EXPECT_EQ(GpuGroup::Make(options, shared.Of(0)).status().code(), StatusCode::kInvalid);
  options = {};
  options.device = GpusHere();
  EXPECT_EQ(GpuGroup::Make(options, shared.Of(0)).status().code(), StatusCode::kInvalid);
}

TEST(GpuMakeTest, AGroupOfOneWorks) {
  STRATA_SKIP_BELOW_GPUS(1);
  RunRanks(1, {}, [](GpuGroup& group, cudaStream_t stream) {
    DeviceArray<float> send(Elements<float>(1, 0, 100)), receive(100);
    ASSERT_TRUE(group.Allreduce(send.data(), receive.data(), 100, {}, stream).ok());
    ASSERT_TRUE(group.Barrier(stream).ok());
    ASSERT_TRUE(group.Wait(stream).ok());
    EXPECT_EQ(receive.Get(), Elements<float>(1, 0, 100));
  });
}

}  // namespace
}  // namespace strata
