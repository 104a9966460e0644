// The collectives among GPUs against plain ones on the host: through the memory of peers, and
// through NCCL alone.
#include "tests/cluster/gpu/dawdle.cuh"
#include "tests/cluster/gpu/gpu_oracle.cuh"
#include "tests/cluster/gpu/rank_threads.cuh"

namespace strata {
namespace {

constexpr int kWorld = 2;
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct};

std::vector<size_t> Sizes(size_t element_bytes) {
  return {0, 1, kWorld - 1, kWorld, kWorld + 1, 1000, (1 << 20) / element_bytes};
}

// The parameter: whether small allreduces go through the memory of peers.
class GpuGroupTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    STRATA_SKIP_BELOW_GPUS(kWorld);
    options_.peer_memory = GetParam();
  }
  void Run(const std::function<void(GpuGroup&, cudaStream_t)>& body) {
    RunRanks(kWorld, options_, [&](GpuGroup& group, cudaStream_t stream) {
      EXPECT_EQ(group.peer_memory_bytes() > 0, GetParam());
      body(group, stream);
    });
  }
  GpuGroupOptions options_;
};

template <typename T>
void CheckAllreduces(GpuGroup& group, cudaStream_t stream) {
  for (const ReduceOp op : kOps) {
    for (const size_t count : Sizes(sizeof(T))) {
      // Not at a boundary of eight bytes, in the second round.
      for (const size_t skip : {size_t{0}, size_t{1}}) {
        SCOPED_TRACE(testing::Message() << "op " << static_cast<int>(op) << " of " << count
                                        << " elements of " << sizeof(T) << ", skip " << skip);
        const uint64_t salt = count * 8 + static_cast<uint64_t>(op);
        std::vector<T> input = Elements<T>(salt, group.rank(), count);
        const std::vector<T> expected = ReducedElements<T>(op, salt, group.world(), count);
        input.insert(input.begin(), skip, T{});
        DeviceArray<T> send(input), receive(skip + count + 1);
        receive.Poison();
        ASSERT_TRUE(group
                        .Allreduce(send.data() + skip, receive.data() + skip, count,
                                   {TypeOf<T>(), op}, stream)
                        .ok());
        ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
        std::vector<T> found = receive.Get();
        found.erase(found.begin(), found.begin() + static_cast<ptrdiff_t>(skip));
        ExpectSame(found, expected);
        ASSERT_TRUE(
            group
                .Allreduce(send.data() + skip, send.data() + skip, count, {TypeOf<T>(), op}, stream)
                .ok());
        ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
        found = send.Get();
        found.erase(found.begin(), found.begin() + static_cast<ptrdiff_t>(skip));
        ExpectSame(found, expected);
      }
    }
  }
}

TEST_P(GpuGroupTest, AllreduceOfEveryTypeAndOperation) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    CheckAllreduces<int32_t>(group, stream);
    CheckAllreduces<int64_t>(group, stream);
    CheckAllreduces<__half>(group, stream);
    CheckAllreduces<__nv_bfloat16>(group, stream);
    CheckAllreduces<float>(group, stream);
    CheckAllreduces<double>(group, stream);
  });
}

// Enqueued back to back, with one rank late now and then: no rank runs over another's data.
TEST_P(GpuGroupTest, ManyAllreducesWithoutWaiting) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    constexpr size_t kCalls = 2000;
    std::vector<size_t> offsets = {0};
    for (size_t c = 0; c < kCalls; ++c) {
      const size_t count = c % 500 == 250 ? 1 << 20 : 1 + Mix64(c) % 3000;  // some by NCCL anyway
      offsets.push_back(offsets.back() + count);
    }
    std::vector<int64_t> expected;
    for (size_t c = 0; c < kCalls; ++c) {
      const std::vector<int64_t> one =
          ReducedElements<int64_t>(ReduceOp::kSum, c, group.world(), offsets[c + 1] - offsets[c]);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    std::vector<int64_t> input;
    for (size_t c = 0; c < kCalls; ++c) {
      const std::vector<int64_t> one =
          Elements<int64_t>(c, group.rank(), offsets[c + 1] - offsets[c]);
      input.insert(input.end(), one.begin(), one.end());
    }
    DeviceArray<int64_t> data(input);
    for (size_t c = 0; c < kCalls; ++c) {
      const uint64_t dice = Mix64(c * 64 + static_cast<uint64_t>(group.rank()));
      if (dice % 16 == 0) Dawdle<<<1, 1, 0, stream>>>(static_cast<int64_t>(dice >> 8) % 50'000);
      int64_t* const part = data.data() + offsets[c];
      ASSERT_TRUE(group
                      .Allreduce(part, part, offsets[c + 1] - offsets[c],
                                 {ElementType::kInt64, ReduceOp::kSum}, stream)
                      .ok());
    }
    ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
    ExpectSame(data.Get(), expected);
  });
}

std::vector<size_t> OffsetsOf(const std::vector<size_t>& counts) {
  std::vector<size_t> offsets = {0};
  for (const size_t count : counts) offsets.push_back(offsets.back() + count);
  return offsets;
}

template <typename T>
std::vector<T> Part(const std::vector<T>& all, size_t begin, size_t end) {
  return {all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)};
}

const std::vector<std::vector<size_t>> kBlocks = {
    {0, 0},      {1, 1}, {3, 0}, {0, 5}, {2, 3}, {1000, 1000}, {999, 1001}, {1 << 18, 1 << 18},
    {1, 1 << 18}};

template <typename T>
void CheckBlocks(GpuGroup& group, cudaStream_t stream, const std::vector<size_t>& counts) {
  const auto rank = static_cast<size_t>(group.rank());
  const std::vector<size_t> offsets = OffsetsOf(counts);
  const size_t total = offsets.back();
  DeviceArray<T> all(Elements<T>(7, group.rank(), total)), mine(counts[rank] + 1);
  mine.Poison();
  ASSERT_TRUE(
      group.ReduceScatter(all.data(), mine.data(), counts, {TypeOf<T>(), ReduceOp::kSum}, stream)
          .ok());
  ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
  const std::vector<T> sums = ReducedElements<T>(ReduceOp::kSum, 7, group.world(), total);
  ExpectSame(mine.Get(), Part(sums, offsets[rank], offsets[rank + 1]));

  DeviceArray<T> gathered(total + 1);
  gathered.Poison();
  ASSERT_TRUE(group.Allgather(mine.data(), gathered.data(), counts, TypeOf<T>(), stream).ok());
  ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
  ExpectSame(gathered.Get(), sums);
}

TEST_P(GpuGroupTest, ReduceScatterAndAllgatherOfEvenAndUnevenBlocks) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    for (const std::vector<size_t>& counts : kBlocks) {
      SCOPED_TRACE(testing::Message() << counts[0] << " and " << counts[1]);
      CheckBlocks<int64_t>(group, stream, counts);
      CheckBlocks<float>(group, stream, counts);
      CheckBlocks<__half>(group, stream, counts);
    }
  });
}

TEST_P(GpuGroupTest, BroadcastAndReduceFromEveryRoot) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    for (int root = 0; root < group.world(); ++root) {
      for (const size_t count : Sizes(sizeof(int32_t))) {
        SCOPED_TRACE(testing::Message() << count << " elements, root " << root);
        DeviceArray<int32_t> data(Elements<int32_t>(3, group.rank(), count));
        ASSERT_TRUE(group.Broadcast(data.data(), count, ElementType::kInt32, root, stream).ok());
        ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
        ExpectSame(data.Get(), Elements<int32_t>(3, root, count));

        const std::vector<int32_t> input = Elements<int32_t>(4, group.rank(), count);
        DeviceArray<int32_t> send(input), receive(count + 1);
        receive.Poison();
        ASSERT_TRUE(group
                        .Reduce(send.data(), receive.data(), count,
                                {ElementType::kInt32, ReduceOp::kSum}, root, stream)
                        .ok());
        ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
        ExpectSame(send.Get(), input);
        ExpectSame(receive.Get(),
                   group.rank() == root
                       ? ReducedElements<int32_t>(ReduceOp::kSum, 4, group.world(), count)
                       : std::vector<int32_t>());
      }
    }
  });
}

// Not in place, then in place at the root.
TEST_P(GpuGroupTest, GatherAndScatterOfEvenAndUnevenBlocks) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    const auto rank = static_cast<size_t>(group.rank());
    for (int root = 0; root < group.world(); ++root) {
      const bool at_root = group.rank() == root;
      for (const std::vector<size_t>& counts : kBlocks) {
        SCOPED_TRACE(testing::Message() << counts[0] << " and " << counts[1] << ", root " << root);
        const std::vector<size_t> offsets = OffsetsOf(counts);
        const std::vector<int64_t> whole = Elements<int64_t>(6, 0, offsets.back());
        const std::vector<int64_t> block = Part(whole, offsets[rank], offsets[rank + 1]);
        for (const bool in_place : {false, true}) {
          DeviceArray<int64_t> all(offsets.back() + 1), mine(block);
          all.Poison();
          const int64_t* from = mine.data();
          if (in_place && at_root) {
            from = all.data() + offsets[rank];
            ASSERT_EQ(cudaMemcpy(all.data() + offsets[rank], block.data(),
                                 block.size() * sizeof(int64_t), cudaMemcpyDefault),
                      cudaSuccess);
            ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
          }
          ASSERT_TRUE(
              group.Gather(from, all.data(), counts, ElementType::kInt64, root, stream).ok());
          ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
          ExpectSame(all.Get(), at_root ? whole : std::vector<int64_t>());

          DeviceArray<int64_t> source(whole), got(block.size() + 1);
          got.Poison();
          int64_t* into = in_place && at_root ? source.data() + offsets[rank] : got.data();
          ASSERT_TRUE(
              group.Scatter(source.data(), into, counts, ElementType::kInt64, root, stream).ok());
          ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
          if (into == got.data()) {
            ExpectSame(got.Get(), block);
          } else {
            EXPECT_EQ(source.Get(), whole);
          }
        }
      }
    }
  });
}

// counts[from][to].
using Exchange = std::vector<std::vector<size_t>>;
const std::vector<Exchange> kExchanges = {
    {{0, 0}, {0, 0}}, {{1, 1}, {1, 1}},      {{0, 3}, {0, 0}},
    {{2, 0}, {5, 1}}, {{1000, 7}, {1, 999}}, {{1 << 18, 1 << 18}, {1 << 18, 1 << 18}}};

TEST_P(GpuGroupTest, AllToAllOfEvenAndUnevenBlocks) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    const auto rank = static_cast<size_t>(group.rank());
    for (const Exchange& counts : kExchanges) {
      SCOPED_TRACE(testing::Message()
                   << counts[0][0] << " " << counts[0][1] << " " << counts[1][0]);
      std::vector<size_t> receive_counts;
      std::vector<int64_t> expected;
      for (size_t from = 0; from < counts.size(); ++from) {
        const std::vector<size_t> offsets = OffsetsOf(counts[from]);
        const std::vector<int64_t> theirs =
            Part(Elements<int64_t>(5, static_cast<int>(from), offsets.back()), offsets[rank],
                 offsets[rank + 1]);
        receive_counts.push_back(theirs.size());
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      const size_t total = OffsetsOf(counts[rank]).back();
      DeviceArray<int64_t> send(Elements<int64_t>(5, group.rank(), total));
      DeviceArray<int64_t> receive(expected.size() + 1);
      receive.Poison();
      ASSERT_TRUE(group
                      .AllToAll(send.data(), counts[rank], receive.data(), receive_counts,
                                ElementType::kInt64, stream)
                      .ok());
      ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
      ExpectSame(receive.Get(), expected);
    }
  });
}

TEST_P(GpuGroupTest, NobodyPassesABarrierBeforeAllHaveCome) {
  int64_t* arrivals = nullptr;  // written by rank 1's GPU, read by rank 0's
  ASSERT_EQ(cudaHostAlloc(&arrivals, sizeof *arrivals, cudaHostAllocPortable), cudaSuccess);
  *arrivals = 0;
  Run([&](GpuGroup& group, cudaStream_t stream) {
    DeviceArray<int64_t> seen(std::vector<int64_t>{-1});
    if (group.rank() == 1) {
      Dawdle<<<1, 1, 0, stream>>>(20'000'000);  // 10 ms
      ASSERT_EQ(cudaMemsetAsync(arrivals, 0x01, sizeof *arrivals, stream), cudaSuccess);
    }
    ASSERT_TRUE(group.Barrier(stream).ok());
    ASSERT_EQ(cudaMemcpyAsync(seen.data(), arrivals, sizeof *arrivals, cudaMemcpyDefault, stream),
              cudaSuccess);
    ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
    EXPECT_EQ(seen.Get()[0], 0x0101010101010101);
  });
  (void)cudaFreeHost(arrivals);
}

TEST_P(GpuGroupTest, WrongArgumentsAreRefusedAndTheGroupGoesOn) {
  Run([](GpuGroup& group, cudaStream_t stream) {
    DeviceArray<float> data(Elements<float>(1, group.rank(), 8));
    const std::vector<size_t> three = {1, 1, 1};
    EXPECT_EQ(group.Broadcast(data.data(), 8, ElementType::kFloat, kWorld, stream).code(),
              StatusCode::kInvalid);
    EXPECT_EQ(group.Allgather(data.data(), data.data(), three, ElementType::kFloat, stream).code(),
              StatusCode::kInvalid);
    EXPECT_EQ(group.Gather(data.data(), data.data(), three, ElementType::kFloat, 0, stream).code(),
              StatusCode::kInvalid);
    EXPECT_EQ(group.Scatter(data.data(), data.data(), three, ElementType::kFloat, 0, stream).code(),
              StatusCode::kInvalid);
    ASSERT_TRUE(group.Allreduce(data.data(), data.data(), 8, {}, stream).ok());
    ASSERT_TRUE(group.Wait(stream).ok()) << group.Check().ToString();
    ExpectSame(data.Get(), ReducedElements<float>(ReduceOp::kSum, 1, kWorld, 8));
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, GpuGroupTest, testing::Bool(), [](const auto& path) {
  return std::string(path.param ? "PeerMemory" : "Nccl");
});

}  // namespace
}  // namespace strata
