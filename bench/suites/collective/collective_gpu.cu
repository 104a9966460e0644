// strata-bench-collective-gpu: the collectives among the GPUs of this host beside bare calls of
// NCCL in the same program, in turns. A program of its own, since machines with GPUs need not have
// the libraries of the other suites' peers. One JSON line a case, as strata-bench --json prints
// them.
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>

#include <barrier>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/harness/report.h"
#include "cluster/gpu/gpu_group.h"

namespace strata::bench {
namespace {

constexpr size_t kBytesMax = 256 << 20;
constexpr int kRounds = 7;  // of which the median counts
constexpr TimeNs kRound = 40 * kMillisecond;

constexpr size_t kSmall[] = {8, 4 << 10, 64 << 10, 256 << 10};

[[noreturn]] void Die(const std::string& why) {
  fmt::print(stderr, "strata-bench-collective-gpu: {}\n", why);
  std::exit(1);
}
void Must(const Status& status) {
  if (!status.ok()) Die(status.ToString());
}
void Must(cudaError_t error) {
  if (error != cudaSuccess) Die(cudaGetErrorString(error));
}
void Must(ncclResult_t result) {
  if (result != ncclSuccess) Die(ncclGetErrorString(result));
}

__global__ void Fill(float* data, size_t count, uint64_t salt) {
  const size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) data[i] = static_cast<float>(Mix64(i + salt) >> 40) * 0x1p-24F;
}

// Keeps the stream busy while the host enqueues what is measured behind it.
__global__ void Hold(int64_t cycles) {
  const int64_t until = clock64() + cycles;
  while (clock64() < until) {
  }
}

// What all ranks' threads share.
struct Meeting {
  explicit Meeting(int ranks) : world(ranks), barrier(ranks) { Must(ncclGetUniqueId(&id)); }
  const int world;
  std::barrier<> barrier;
  ncclUniqueId id = {};
  std::vector<std::byte> group_ids[2];
};

// One rank: its thread, GPU, groups and memory. All ranks run the same cases in the same order.
class Rank {
 public:
  Rank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {
    Must(cudaSetDevice(rank));
    Must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    Must(cudaEventCreate(&began_));
    Must(cudaEventCreate(&ended_));
    Must(cudaMalloc(&send_, kBytesMax));
    Must(cudaMalloc(&receive_, kBytesMax));
    const size_t count = kBytesMax / sizeof(float);
    Fill<<<static_cast<unsigned>(count / 256), 256, 0, stream_>>>(
        send_, count, static_cast<uint64_t>(rank) << 32);
    Must(cudaStreamSynchronize(stream_));
    group_ = MakeGroup(/*peer_memory=*/true);
    nccl_only_ = MakeGroup(/*peer_memory=*/false);
    Must(ncclCommInitRank(&bare_, meeting.world, meeting.id, rank));
    cudaDeviceProp properties = {};
    Must(cudaGetDeviceProperties(&properties, rank));
    device_ = fmt::format("{} x {}", meeting.world, properties.name);
    int version = 0;
    Must(ncclGetVersion(&version));
    peer_ = fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  ~Rank() {
    group_.reset();
    nccl_only_.reset();
    (void)ncclCommDestroy(bare_);
    (void)cudaFree(send_);
    (void)cudaFree(receive_);
    (void)cudaEventDestroy(began_);
    (void)cudaEventDestroy(ended_);
    (void)cudaStreamDestroy(stream_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void RunAll() {
    for (size_t bytes = 4 << 10; bytes <= kBytesMax; bytes *= 4) {
      Compare("allreduce", bytes, AllreduceFactor(), Allreduce(*group_, bytes),
              BareAllreduce(bytes));
    }
    for (size_t bytes = 4 << 10; bytes <= kBytesMax; bytes *= 4) {
      Compare("allreduce by NCCL alone", bytes, AllreduceFactor(), Allreduce(*nccl_only_, bytes),
              BareAllreduce(bytes));
    }
    for (size_t bytes = 4 << 10; bytes <= kBytesMax; bytes *= 4) {
      Compare("all-to-all", bytes, AllToAllFactor(), AllToAll(bytes), BareAllToAll(bytes));
    }
    for (const size_t bytes : kSmall) CompareAhead(bytes);
    for (const size_t bytes : kSmall) CompareSingle(bytes);
  }

 private:
  using Call = std::function<void()>;

  std::unique_ptr<GpuGroup> MakeGroup(bool peer_memory) {
    GpuGroupOptions options;
    options.rank = rank_;
    options.world = meeting_.world;
    options.device = rank_;
    options.peer_memory = peer_memory;
    std::vector<std::byte>& id = meeting_.group_ids[peer_memory ? 1 : 0];
    Result<std::unique_ptr<GpuGroup>> group =
        GpuGroup::Make(options, [&](std::span<std::byte> bytes) -> Status {
          if (rank_ == 0) id.assign(bytes.begin(), bytes.end());
          meeting_.barrier.arrive_and_wait();
          std::copy(id.begin(), id.end(), bytes.begin());
          return {};
        });
    Must(group.status());
    return std::move(*group);
  }

  // Bytes over the links, as a share of the bytes of the case: nccl-tests' "bus bandwidth".
  double AllreduceFactor() const { return 2.0 * (meeting_.world - 1) / meeting_.world; }
  double AllToAllFactor() const { return 1.0 * (meeting_.world - 1) / meeting_.world; }

  Call Allreduce(GpuGroup& group, size_t bytes) {
    return [this, &group, bytes] {
      Must(group.Allreduce(send_, receive_, bytes / sizeof(float), {}, stream_));
    };
  }
  Call BareAllreduce(size_t bytes) {
    return [this, bytes] {
      Must(ncclAllReduce(send_, receive_, bytes / sizeof(float), ncclFloat, ncclSum, bare_,
                         stream_));
    };
  }
  Call AllToAll(size_t bytes) {
    const auto world = static_cast<size_t>(meeting_.world);
    const std::vector<size_t> counts(world, bytes / sizeof(float) / world);
    return [this, counts] {
      Must(group_->AllToAll(send_, counts, receive_, counts, ElementType::kFloat, stream_));
    };
  }
  Call BareAllToAll(size_t bytes) {
    const size_t count = bytes / sizeof(float) / static_cast<size_t>(meeting_.world);
    return [this, count] {
      Must(ncclGroupStart());
      for (int r = 0; r < meeting_.world; ++r) {
        const size_t at = static_cast<size_t>(r) * count;
        Must(ncclSend(send_ + at, count, ncclFloat, r, bare_, stream_));
        Must(ncclRecv(receive_ + at, count, ncclFloat, r, bare_, stream_));
      }
      Must(ncclGroupEnd());
    };
  }

  // Seconds a call, of `calls` that are enqueued one behind the other.
  double Time(const Call& call, int calls) {
    Must(cudaStreamSynchronize(stream_));
    meeting_.barrier.arrive_and_wait();
    const TimeNs began = RealClock().Now();
    for (int i = 0; i < calls; ++i) call();
    Must(cudaStreamSynchronize(stream_));
    return static_cast<double>(RealClock().Now() - began) / 1e9 / calls;
  }

  void Compare(const std::string& what, size_t bytes, double factor, const Call& ours,
               const Call& bare) {
    const double about = 8e-6 + static_cast<double>(bytes) / 150e9;
    const int calls = static_cast<int>(std::clamp(kRound / 1e9 / about, 10.0, 4000.0));
    (void)Time(ours, calls);
    (void)Time(bare, calls);
    std::vector<double> our_times, bare_times;
    for (int round = 0; round < kRounds; ++round) {
      our_times.push_back(Time(ours, calls));
      bare_times.push_back(Time(bare, calls));
    }
    if (bytes < (1 << 20)) {
      Report(fmt::format("{} {} KiB", what, bytes >> 10), "us", false, Median(our_times) * 1e6,
             Median(bare_times) * 1e6);
    } else {
      const double moved = static_cast<double>(bytes) * factor / 1e9;
      Report(fmt::format("{} {} MiB bus bandwidth", what, bytes >> 20), "GB/s", true,
             moved / Median(our_times), moved / Median(bare_times));
    }
  }

  // Seconds a call on the GPU alone: all are enqueued before the first begins.
  double TimeAhead(const Call& call) {
    constexpr int kCalls = 500;
    Must(cudaStreamSynchronize(stream_));
    meeting_.barrier.arrive_and_wait();
    Hold<<<1, 1, 0, stream_>>>(30'000'000);  // 15 ms or more
    Must(group_->Barrier(stream_));
    Must(cudaEventRecord(began_, stream_));
    for (int i = 0; i < kCalls; ++i) call();
    Must(cudaEventRecord(ended_, stream_));
    Must(cudaEventSynchronize(ended_));
    float milliseconds = 0;
    Must(cudaEventElapsedTime(&milliseconds, began_, ended_));
    return static_cast<double>(milliseconds) / 1e3 / kCalls;
  }

  void CompareAhead(size_t bytes) {
    const Call ours = Allreduce(*group_, bytes), bare = BareAllreduce(bytes);
    std::vector<double> our_times, bare_times;
    for (int round = 0; round < kRounds; ++round) {
      our_times.push_back(TimeAhead(ours));
      bare_times.push_back(TimeAhead(bare));
    }
    Report(fmt::format("allreduce {} B, enqueued ahead", bytes), "us", false,
           Median(our_times) * 1e6, Median(bare_times) * 1e6);
  }

  // A call of which the host waits for the end before it makes the next.
  void CompareSingle(size_t bytes) {
    constexpr int kCalls = 2000;
    const Call ours = Allreduce(*group_, bytes), bare = BareAllreduce(bytes);
    std::vector<double> our_times, bare_times;
    meeting_.barrier.arrive_and_wait();
    for (int i = 0; i < kCalls; ++i) {
      TimeNs began = RealClock().Now();
      ours();
      Must(group_->Wait(stream_));
      our_times.push_back(static_cast<double>(RealClock().Now() - began) / 1e3);
      began = RealClock().Now();
      bare();
      Must(cudaStreamSynchronize(stream_));
      bare_times.push_back(static_cast<double>(RealClock().Now() - began) / 1e3);
    }
    for (const double quantile : {0.5, 0.99}) {
      Report(fmt::format("allreduce {} B, one at a time, p{:.0f}", bytes, quantile * 100), "us",
             false, Quantile(our_times, quantile), Quantile(bare_times, quantile));
    }
  }

  void Report(const std::string& name, const std::string& unit, bool more_is_better, double ours,
              double bare) const {
    if (rank_ != 0) return;
    Figure figure;
    figure.name = name;
    figure.unit = unit;
    figure.more_is_better = more_is_better;
    figure.ours = ours;
    figure.peer = peer_;
    figure.peer_value = bare;
    fmt::print("{}", JsonLine("collective-gpu", figure, device_));
    std::fflush(stdout);
  }

  Meeting& meeting_;
  const int rank_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t began_ = nullptr;
  cudaEvent_t ended_ = nullptr;
  float* send_ = nullptr;
  float* receive_ = nullptr;
  std::unique_ptr<GpuGroup> group_;
  std::unique_ptr<GpuGroup> nccl_only_;
  ncclComm_t bare_ = nullptr;
  std::string device_;
  std::string peer_;
};

int Main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    fmt::print(stderr, "strata-bench-collective-gpu: needs 2 GPUs; this machine has {}\n", devices);
    return 1;
  }
  Meeting meeting(devices);
  std::vector<std::jthread> threads;
  for (int r = 0; r < devices; ++r) {
    threads.emplace_back([&meeting, r] { Rank(meeting, r).RunAll(); });
  }
  return 0;
}

}  // namespace
}  // namespace strata::bench

int main() { return strata::bench::Main(); }
