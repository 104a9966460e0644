#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/human_text.h"
#include "base/thread/mutex.h"
#include "cluster/gpu/gpu_group.h"
#include "cluster/gpu/nccl_comm.cuh"
#include "cluster/gpu/peer_memory.cuh"
#include "kernels/core/cuda_status.cuh"

namespace strata {
namespace {

// A kernel's own deadline, which begins a little later, names the rank that is missing.
constexpr TimeNs kWaitSlack = kSecond / 5;
constexpr TimeNs kDrainMax = kSecond;  // for the kernels of an aborted group to end

ncclDataType_t NcclType(ElementType type) {
  switch (type) {
    case ElementType::kInt32:
      return ncclInt32;
    case ElementType::kInt64:
      return ncclInt64;
    case ElementType::kHalf:
      return ncclFloat16;
    case ElementType::kBfloat16:
      return ncclBfloat16;
    case ElementType::kFloat:
      return ncclFloat32;
    case ElementType::kDouble:
      break;
  }
  return ncclFloat64;
}

ncclRedOp_t NcclOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kProduct:
      break;
  }
  return ncclProd;
}

bool AllEqual(std::span<const size_t> counts) {
  return std::all_of(counts.begin(), counts.end(), [&](size_t c) { return c == counts.front(); });
}

// Calls `one` for each rank; the calls are one group for NCCL.
template <typename One>
ncclResult_t ForRanks(size_t world, const One& one) {
  ncclResult_t result = ncclGroupStart();
  for (size_t r = 0; r < world && result == ncclSuccess; ++r) result = one(static_cast<int>(r));
  const ncclResult_t end = ncclGroupEnd();
  return result == ncclSuccess ? end : result;
}

// The same with each rank's block of `all`, which has counts[r] elements; not for empty ones.
template <typename Bytes, typename One>
ncclResult_t ForBlocks(Bytes* all, std::span<const size_t> counts, ElementType type,
                       const One& one) {
  return ForRanks(counts.size(), [&](int r) {
    const size_t count = counts[static_cast<size_t>(r)];
    Bytes* block = std::exchange(all, all + count * ElementBytes(type));
    return count == 0 ? ncclSuccess : one(r, block, count);
  });
}

// A rank's block from itself; nothing when it is in place.
ncclResult_t CopyBlock(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (to == from) return ncclSuccess;
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

}  // namespace

class GpuGroup::Impl {
 public:
  explicit Impl(const GpuGroupOptions& options) : options_(options), device_(options.device) {}

  Status Start(const ShareBytes& share) {
    STRATA_ASSIGN(comm_, NcclComm::Make(options_, share));
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(FromCuda(cudaMalloc(&word_, sizeof(int32_t)), "memory for barriers"));
    STRATA_TRY(FromCuda(cudaMemsetAsync(word_, 0, sizeof(int32_t), stream_), "barriers"));
    if (!options_.peer_memory || options_.world < 2 || options_.world > kPeersMax) return {};
    STRATA_ASSIGN(peers_, PeerMemory::Make(options_, *comm_, stream_,
                                           [this](cudaStream_t stream) { return Wait(stream); }));
    return {};
  }

  ~Impl() {
    const DeviceScope scope(device_);
    if (peers_ && !Leave().ok()) peers_->Abandon();
    peers_.reset();
    comm_.reset();
    if (word_ != nullptr) (void)cudaFree(word_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  const GpuGroupOptions& options() const { return options_; }
  size_t peer_memory_bytes() const { return peers_ ? peers_->bytes_max() : 0; }

  // Runs one collective of NCCL.
  template <typename Enqueue>
  Status Run(const char* what, const Enqueue& enqueue) {
    STRATA_TRY(Check());
    const DeviceScope scope(device_);
    ++calls_;
    const Status status = comm_->Call(what, enqueue);
    return status.ok() ? status : Fail(status);
  }

  Status Allreduce(const void* send, void* receive, size_t count, GpuReduction reduction,
                   cudaStream_t stream) {
    if (peers_ && count <= peers_->bytes_max() / ElementBytes(reduction.type)) {
      STRATA_TRY(Check());
      const DeviceScope scope(device_);
      ++calls_;
      const Status status = peers_->Allreduce(send, receive, count, reduction, stream);
      return status.ok() ? status : Fail(status);
    }
    return Run("allreduce", [&](ncclComm_t comm) {
      return ncclAllReduce(send, receive, count, NcclType(reduction.type), NcclOp(reduction.op),
                           comm, stream);
    });
  }

  Status AllreduceWord(cudaStream_t stream) {
    return Allreduce(word_, word_, 1, {ElementType::kInt32, ReduceOp::kMin}, stream);
  }

  Status Wait(cudaStream_t stream) {
    const TimeNs until = RealClock().Now() + options_.deadline + kWaitSlack;
    for (;;) {
      const cudaError_t state = cudaStreamQuery(stream);
      if (state == cudaSuccess) return Check();
      if (state != cudaErrorNotReady) return Fail(FromCuda(state, "the stream"));
      Status status = Check();
      if (status.ok() && RealClock().Now() >= until) {
        status = Fail(DeadlineExceeded(
            fmt::format("the stream was not done within {:.1f} s; NCCL does not say which rank of "
                        "{} is missing",
                        static_cast<double>(options_.deadline) / 1e9, options_.world)));
      }
      if (!status.ok()) {
        Drain(stream);
        return status;
      }
      std::this_thread::yield();
    }
  }

  Status Check() {
    if (!failed_.load(std::memory_order_acquire)) {
      Status status = peers_ ? peers_->Poll() : Status();
      if (status.ok()) status = comm_->Poll();
      if (status.ok()) return status;
      return Fail(status);
    }
    const MutexLock lock(mutex_);
    return failure_;
  }

  // The first error stays, and is what all calls return.
  Status Fail(const Status& why) {
    const MutexLock lock(mutex_);
    if (!failed_.load()) {
      failure_ = why.Prefixed(fmt::format("GPU group, rank {} of {}, call {}", options_.rank,
                                          options_.world, calls_.load()));
      if (peers_) peers_->Stop();
      comm_->Abort();
      failed_.store(true, std::memory_order_release);
    }
    return failure_;
  }

 private:
  // Nobody's inbox goes while another has it mapped.
  Status Leave() {
    STRATA_TRY(Check());
    peers_->Unmap();
    STRATA_TRY(Run("leaving", [&](ncclComm_t comm) {
      return ncclAllReduce(word_, word_, 1, ncclInt32, ncclMin, comm, stream_);
    }));
    return Wait(stream_);
  }

  void Drain(cudaStream_t stream) {
    const TimeNs until = RealClock().Now() + kDrainMax;
    while (cudaStreamQuery(stream) == cudaErrorNotReady && RealClock().Now() < until) {
      std::this_thread::yield();
    }
  }

  const GpuGroupOptions options_;
  const int device_;
  std::unique_ptr<NcclComm> comm_;
  std::unique_ptr<PeerMemory> peers_;
  cudaStream_t stream_ = nullptr;
  int32_t* word_ = nullptr;
  std::atomic<uint64_t> calls_{0};
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  Status failure_ STRATA_GUARDED_BY(mutex_);
};

Result<std::unique_ptr<GpuGroup>> GpuGroup::Make(const GpuGroupOptions& options,
                                                 const ShareBytes& share) {
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    return Invalid(fmt::format("rank {} of {} GPUs: a rank is 0 or more and below their number",
                               options.rank, options.world));
  }
  STRATA_ASSIGN(const int devices, CountGpus());
  if (options.device < 0 || options.device >= devices) {
    return Invalid(
        fmt::format("GPU {} is not there; this process sees {}", options.device, devices));
  }
  const DeviceScope scope(options.device);
  auto impl = std::make_unique<Impl>(options);
  STRATA_TRY(impl->Start(share).Prefixed(
      fmt::format("GPU group, rank {} of {}", options.rank, options.world)));
  return std::unique_ptr<GpuGroup>(new GpuGroup(std::move(impl)));
}

GpuGroup::GpuGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuGroup::~GpuGroup() = default;

int GpuGroup::rank() const { return impl_->options().rank; }
int GpuGroup::world() const { return impl_->options().world; }
size_t GpuGroup::peer_memory_bytes() const { return impl_->peer_memory_bytes(); }

namespace {

Status CheckRoot(int root, int world) {
  if (root >= 0 && root < world) return {};
  return Invalid(fmt::format("root {}: a rank is 0 or more and below {}", root, world));
}

Status CheckCounts(std::span<const size_t> counts, int world) {
  if (counts.size() == static_cast<size_t>(world)) return {};
  return Invalid(fmt::format("counts of {} for {} ranks", Counted(counts.size(), "block"), world));
}

}  // namespace

Status GpuGroup::Allreduce(const void* send, void* receive, size_t count, GpuReduction reduction,
                           void* stream) {
  if (count == 0) return Check();
  return impl_->Allreduce(send, receive, count, reduction, static_cast<cudaStream_t>(stream));
}

Status GpuGroup::Reduce(const void* send, void* receive, size_t count, GpuReduction reduction,
                        int root, void* stream) {
  STRATA_TRY(CheckRoot(root, world()));
  if (count == 0) return Check();
  return impl_->Run("reduce", [&](ncclComm_t comm) {
    return ncclReduce(send, receive, count, NcclType(reduction.type), NcclOp(reduction.op), root,
                      comm, static_cast<cudaStream_t>(stream));
  });
}

Status GpuGroup::Broadcast(void* data, size_t count, ElementType type, int root, void* stream) {
  STRATA_TRY(CheckRoot(root, world()));
  if (count == 0) return Check();
  return impl_->Run("broadcast", [&](ncclComm_t comm) {
    return ncclBroadcast(data, data, count, NcclType(type), root, comm,
                         static_cast<cudaStream_t>(stream));
  });
}

Status GpuGroup::ReduceScatter(const void* all, void* mine, std::span<const size_t> counts,
                               GpuReduction reduction, void* stream) {
  STRATA_TRY(CheckCounts(counts, world()));
  const ncclDataType_t type = NcclType(reduction.type);
  const ncclRedOp_t op = NcclOp(reduction.op);
  const auto on = static_cast<cudaStream_t>(stream);
  return impl_->Run("reduce-scatter", [&](ncclComm_t comm) {
    if (AllEqual(counts)) return ncclReduceScatter(all, mine, counts.front(), type, op, comm, on);
    return ForBlocks(static_cast<const std::byte*>(all), counts, reduction.type,
                     [&](int r, const void* block, size_t count) {
                       return ncclReduce(block, mine, count, type, op, r, comm, on);
                     });
  });
}

Status GpuGroup::Allgather(const void* mine, void* all, std::span<const size_t> counts,
                           ElementType type, void* stream) {
  STRATA_TRY(CheckCounts(counts, world()));
  const auto on = static_cast<cudaStream_t>(stream);
  return impl_->Run("allgather", [&](ncclComm_t comm) {
    if (AllEqual(counts)) return ncclAllGather(mine, all, counts.front(), NcclType(type), comm, on);
    return ForBlocks(static_cast<std::byte*>(all), counts, type,
                     [&](int r, void* block, size_t count) {
                       return ncclBroadcast(mine, block, count, NcclType(type), r, comm, on);
                     });
  });
}

// NCCL has neither, but messages from one rank to another.
Status GpuGroup::Gather(const void* mine, void* all, std::span<const size_t> counts,
                        ElementType type, int root, void* stream) {
  STRATA_TRY(CheckRoot(root, world()));
  STRATA_TRY(CheckCounts(counts, world()));
  const auto on = static_cast<cudaStream_t>(stream);
  return impl_->Run("gather", [&](ncclComm_t comm) {
    const size_t own = counts[static_cast<size_t>(rank())];
    if (rank() != root) {
      return own == 0 ? ncclSuccess : ncclSend(mine, own, NcclType(type), root, comm, on);
    }
    return ForBlocks(static_cast<std::byte*>(all), counts, type,
                     [&](int r, void* block, size_t count) {
                       if (r == root) return CopyBlock(block, mine, count * ElementBytes(type), on);
                       return ncclRecv(block, count, NcclType(type), r, comm, on);
                     });
  });
}

Status GpuGroup::Scatter(const void* all, void* mine, std::span<const size_t> counts,
                         ElementType type, int root, void* stream) {
  STRATA_TRY(CheckRoot(root, world()));
  STRATA_TRY(CheckCounts(counts, world()));
  const auto on = static_cast<cudaStream_t>(stream);
  return impl_->Run("scatter", [&](ncclComm_t comm) {
    const size_t own = counts[static_cast<size_t>(rank())];
    if (rank() != root) {
      return own == 0 ? ncclSuccess : ncclRecv(mine, own, NcclType(type), root, comm, on);
    }
    return ForBlocks(static_cast<const std::byte*>(all), counts, type,
                     [&](int r, const void* block, size_t count) {
                       if (r == root) return CopyBlock(mine, block, count * ElementBytes(type), on);
                       return ncclSend(block, count, NcclType(type), r, comm, on);
                     });
  });
}

Status GpuGroup::AllToAll(const void* send, std::span<const size_t> send_counts, void* receive,
                          std::span<const size_t> receive_counts, ElementType type, void* stream) {
  STRATA_TRY(CheckCounts(send_counts, world()));
  STRATA_TRY(CheckCounts(receive_counts, world()));
  const auto on = static_cast<cudaStream_t>(stream);
  return impl_->Run("all-to-all", [&](ncclComm_t comm) {
    const auto* out = static_cast<const std::byte*>(send);
    auto* in = static_cast<std::byte*>(receive);
    return ForRanks(send_counts.size(), [&](int r) {
      const size_t sent = send_counts[static_cast<size_t>(r)];
      const size_t got = receive_counts[static_cast<size_t>(r)];
      const auto* from = std::exchange(out, out + sent * ElementBytes(type));
      auto* to = std::exchange(in, in + got * ElementBytes(type));
      ncclResult_t result = ncclSuccess;
      if (sent > 0) result = ncclSend(from, sent, NcclType(type), r, comm, on);
      if (got > 0 && result == ncclSuccess) result = ncclRecv(to, got, NcclType(type), r, comm, on);
      return result;
    });
  });
}

Status GpuGroup::Barrier(void* stream) {
  return impl_->AllreduceWord(static_cast<cudaStream_t>(stream));
}

Status GpuGroup::Wait(void* stream) { return impl_->Wait(static_cast<cudaStream_t>(stream)); }
Status GpuGroup::Check() { return impl_->Check(); }
void GpuGroup::Abort(const Status& why) { (void)impl_->Fail(why); }

}  // namespace strata
