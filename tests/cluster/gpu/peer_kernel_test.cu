// The kernel of the allreduce through peers' memory, its ranks on one GPU: one stream and one inbox
// each. Any number of ranks, on any machine with a GPU.
#include <memory>
#include <type_traits>

#include "base/clock.h"
#include "cluster/gpu/peer_kernel.cuh"
#include "tests/cluster/gpu/dawdle.cuh"
#include "tests/cluster/gpu/gpu_oracle.cuh"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr size_t kBytesMax = 64 << 10;
constexpr size_t kLines = kBytesMax / kLineBytes;
constexpr int64_t kDeadline = 20 * kSecond;

class World {
 public:
  explicit World(int world, int64_t deadline_ns = kDeadline)
      : world_(world), deadline_ns_(deadline_ns) {
    EXPECT_EQ(cudaHostAlloc(&control_, sizeof *control_, cudaHostAllocDefault), cudaSuccess);
    *control_ = PeerControl();
    for (int r = 0; r < world; ++r) {
      ranks_.push_back(std::make_unique<Rank>(static_cast<size_t>(world)));
    }
  }
  ~World() { (void)cudaFreeHost(control_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const { return world_; }
  cudaStream_t stream(int rank) const { return ranks_[static_cast<size_t>(rank)]->stream.get(); }
  PeerControl* control() { return control_; }
  void BeginCall() { ++call_; }

  void Launch(int rank, const void* send, void* receive, size_t count, GpuReduction reduction) {
    PeerCall call;
    call.send = send;
    call.receive = receive;
    call.count = count;
    call.rank = rank;
    call.world = world_;
    call.call = call_;
    call.mark = static_cast<uint32_t>(call_);
    call.deadline_ns = deadline_ns_;
    call.failed = ranks_[static_cast<size_t>(rank)]->failed.data();
    call.control = control_;
    for (int r = 0; r < world_; ++r) {
      call.to[r] = Place(r, rank);
      call.from[r] = Place(rank, r);
    }
    const size_t lines = (count * ElementBytes(reduction.type) + kLineBytes - 1) / kLineBytes;
    const auto blocks = static_cast<unsigned>(std::min<size_t>((lines + 511) / 512, 8));
    PeerAllreduceKernel(reduction)<<<blocks, 512, 0, stream(rank)>>>(call);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }

  // Until the streams of all ranks are done.
  void Await() {
    for (int r = 0; r < world_; ++r) {
      EXPECT_EQ(cudaStreamSynchronize(stream(r)), cudaSuccess);
    }
  }

 private:
  struct Rank {
    explicit Rank(size_t world) : inbox(2 * world * kLines), failed(std::vector<uint32_t>{0}, 0) {
      inbox.Set(std::vector<PeerLine>(2 * world * kLines));
    }
    Stream stream;
    DeviceArray<PeerLine> inbox;
    DeviceArray<uint32_t> failed;
  };

  PeerLine* Place(int inbox_of, int from) {
    const size_t half = call_ % 2 * static_cast<size_t>(world_);
    return ranks_[static_cast<size_t>(inbox_of)]->inbox.data() +
           (half + static_cast<size_t>(from)) * kLines;
  }

  const int world_;
  const int64_t deadline_ns_;
  uint64_t call_ = 0;
  PeerControl* control_ = nullptr;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

class PeerKernelTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

// `skip` elements lie in front, so that nothing is at a boundary of eight bytes.
template <typename T>
void CheckAllreduce(World& world, ReduceOp op, size_t count, size_t skip) {
  std::vector<std::unique_ptr<DeviceArray<T>>> sends, receives;
  const uint64_t salt = count * 8 + static_cast<uint64_t>(op);
  for (int r = 0; r < world.size(); ++r) {
    std::vector<T> input = Elements<T>(salt, r, count);
    input.insert(input.begin(), skip, T{});
    sends.push_back(std::make_unique<DeviceArray<T>>(input, 0));
    // In place at the odd ranks; the others have one element behind the end to watch.
    receives.push_back(std::make_unique<DeviceArray<T>>(skip + count + 1, 0));
    receives.back()->Poison();
  }
  world.BeginCall();
  for (int r = 0; r < world.size(); ++r) {
    const auto at = static_cast<size_t>(r);
    T* const send = sends[at]->data() + skip;
    world.Launch(r, send, r % 2 == 1 ? send : receives[at]->data() + skip, count,
                 {TypeOf<T>(), op});
  }
  world.Await();
  ASSERT_EQ(world.control()->missing, 0U);
  const std::vector<T> expected = ReducedElements<T>(op, salt, world.size(), count);
  for (int r = 0; r < world.size(); ++r) {
    const auto at = static_cast<size_t>(r);
    std::vector<T> found = r % 2 == 1 ? sends[at]->Get() : receives[at]->Get();
    found.erase(found.begin(), found.begin() + static_cast<ptrdiff_t>(skip));
    ExpectSame(found, expected);
  }
}

template <typename T>
void CheckType(World& world) {
  const auto n = static_cast<size_t>(world.size());
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
    for (const size_t count : {size_t{1}, n - 1, n, n + 1, size_t{1000}, kBytesMax / sizeof(T)}) {
      for (const size_t skip : {size_t{0}, size_t{1}}) {
        SCOPED_TRACE(testing::Message() << "op " << static_cast<int>(op) << " of " << count
                                        << " elements of " << sizeof(T) << ", skip " << skip);
        CheckAllreduce<T>(world, op, count, skip);
      }
    }
  }
}

TEST_P(PeerKernelTest, ReducesInTheOrderOfTheRanks) {
  World world(GetParam());
  CheckType<int32_t>(world);
  CheckType<int64_t>(world);
  CheckType<__half>(world);
  CheckType<__nv_bfloat16>(world);
  CheckType<float>(world);
  CheckType<double>(world);
}

// Nothing is waited for between calls, and ranks fall behind now and then.
TEST_P(PeerKernelTest, CallsFollowEachOther) {
  World world(GetParam());
  constexpr size_t kCalls = 500;
  constexpr size_t kCount = 200;
  std::vector<std::unique_ptr<DeviceArray<float>>> data;
  std::vector<float> expected;
  for (size_t c = 0; c < kCalls; ++c) {
    const std::vector<float> one = ReducedElements<float>(ReduceOp::kSum, c, world.size(), kCount);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  for (int r = 0; r < world.size(); ++r) {
    std::vector<float> input;
    for (size_t c = 0; c < kCalls; ++c) {
      const std::vector<float> one = Elements<float>(c, r, kCount);
      input.insert(input.end(), one.begin(), one.end());
    }
    data.push_back(std::make_unique<DeviceArray<float>>(input, 0));
  }
  for (size_t c = 0; c < kCalls; ++c) {
    world.BeginCall();
    for (int r = 0; r < world.size(); ++r) {
      const uint64_t dice = Mix64(c * 64 + static_cast<uint64_t>(r));
      if (dice % 16 == 0) {
        Dawdle<<<1, 1, 0, world.stream(r)>>>(static_cast<int64_t>(dice >> 8) % 50'000);
      }
      float* const part = data[static_cast<size_t>(r)]->data() + c * kCount;
      world.Launch(r, part, part, kCount, {});
    }
  }
  world.Await();
  for (const auto& one : data) ExpectSame(one->Get(), expected);
}

INSTANTIATE_TEST_SUITE_P(Ranks, PeerKernelTest, testing::Values(2, 3, 5, kPeersMax));

TEST(PeerKernelEndsTest, AMissingRankIsNamedAndLaterCallsDoNothing) {
  STRATA_SKIP_BELOW_GPUS(1);
  World world(3, kSecond / 5);
  DeviceArray<float> first(Elements<float>(1, 0, 1000)), second(Elements<float>(1, 1, 1000));
  world.BeginCall();
  world.Launch(0, first.data(), first.data(), 1000, {});
  world.Launch(1, second.data(), second.data(), 1000, {});
  world.Await();
  EXPECT_EQ(world.control()->missing, 3U);
  EXPECT_EQ(world.control()->call, 1U);
  DeviceArray<float> untouched(1000);
  untouched.Poison();
  world.BeginCall();
  for (int r = 0; r < world.size(); ++r) {
    world.Launch(r, first.data(), r == 0 ? untouched.data() : second.data(), 1000, {});
  }
  world.Await();
  ExpectSame(untouched.Get(), {});
}

TEST(PeerKernelEndsTest, TheHostCanEndAWait) {
  STRATA_SKIP_BELOW_GPUS(1);
  World world(2);
  DeviceArray<float> data(Elements<float>(1, 0, 1000));
  world.BeginCall();
  world.Launch(0, data.data(), data.data(), 1000, {});
  const TimeNs began = RealClock().Now();
  static_cast<volatile PeerControl*>(world.control())->stop = 1;
  world.Await();
  EXPECT_LT(RealClock().Now() - began, kDeadline / 4);
  EXPECT_EQ(world.control()->missing, 0U);
}

}  // namespace
}  // namespace strata
