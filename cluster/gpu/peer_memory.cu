#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/random.h"
#include "cluster/gpu/peer_memory.cuh"

namespace strata {
namespace {

// The largest allreduce that is not NCCL's: where it was measured to be faster, between two H200s
// linked by NVLink; with more ranks each sends its input to all of them.
constexpr size_t kBytesMaxOfTwo = 4 << 20;
constexpr size_t kBytesMaxOfMore = 64 << 10;

constexpr unsigned kThreads = 512;
constexpr unsigned kBlocksMax = 128;

// A line's mark is made of the low bits of the call's number and of what is called, so that ranks
// that call different things wait for each other in vain instead of taking the wrong data. The
// first calls of each group pass the point at which the numbers begin again.
constexpr unsigned kMarkCallBits = 20;
constexpr uint64_t kMarkCalls = 1ULL << kMarkCallBits;
constexpr uint64_t kFirstCall = kMarkCalls - 64;

uint32_t MarkOf(uint64_t call, size_t count, GpuReduction reduction) {
  const uint64_t what = (static_cast<uint64_t>(count) << 16) |
                        (static_cast<uint64_t>(reduction.type) << 8) |
                        static_cast<uint64_t>(reduction.op);
  return static_cast<uint32_t>(Mix64(what) << kMarkCallBits) |
         static_cast<uint32_t>(call % kMarkCalls);
}

// Behind an inbox's lines.
struct Tail {
  uint64_t token;
  uint32_t failed;
  int32_t word;
};

uint64_t ProcessToken() {
  static const uint64_t token = SystemRandom64();
  return token;
}

// CUDA remembers errors that are answers here.
bool Succeeds(cudaError_t error) {
  if (error == cudaSuccess) return true;
  (void)cudaGetLastError();
  return false;
}

}  // namespace

// What ranks tell each other about their inboxes.
struct PeerMemory::Card {
  uint64_t process;
  uint64_t token;  // lies behind the inbox's lines: who reads it there has mapped the right memory
  std::byte* inbox;
  int device;
  int offers;  // whether this rank takes part at all
  cudaIpcMemHandle_t handle;
};

PeerMemory::PeerMemory(const GpuGroupOptions& options)
    : rank_(options.rank),
      world_(options.world),
      device_(options.device),
      deadline_(options.deadline),
      bytes_max_(options.world == 2 ? kBytesMaxOfTwo : kBytesMaxOfMore),
      token_(SystemRandom64()),
      call_(kFirstCall),
      inboxes_(static_cast<size_t>(options.world), nullptr) {}

PeerLine* PeerMemory::Place(int inbox_of, int from) const {
  const size_t lines = bytes_max_ / kLineBytes;
  const size_t half = call_ % 2;
  const size_t place = (half * static_cast<size_t>(world_) + static_cast<size_t>(from)) * lines;
  return reinterpret_cast<PeerLine*>(inboxes_[static_cast<size_t>(inbox_of)]) + place;
}

Status PeerMemory::Allocate(cudaStream_t stream) {
  const size_t inbox_bytes =
      2 * static_cast<size_t>(world_) * (bytes_max_ / kLineBytes) * sizeof(PeerLine);
  std::byte* memory = nullptr;
  STRATA_TRY(FromCuda(cudaMalloc(&memory, inbox_bytes + sizeof(Tail)), "memory for an inbox"));
  inboxes_[static_cast<size_t>(rank_)] = memory;
  const Tail tail = {token_, 0, 0};
  STRATA_TRY(
      FromCuda(cudaMemcpyAsync(memory + inbox_bytes, &tail, sizeof tail, cudaMemcpyDefault, stream),
               "an inbox"));
  int major = 0;
  STRATA_TRY(FromCuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_),
                      "the GPU's kind"));
  launches_early_ = major >= 9;
  auto* on_device = reinterpret_cast<Tail*>(memory + inbox_bytes);
  failed_ = &on_device->failed;
  word_ = &on_device->word;
  void* control = nullptr;
  STRATA_TRY(FromCuda(cudaHostAlloc(&control, sizeof(PeerControl), cudaHostAllocPortable),
                      "host memory for a GPU"));
  control_ = new (control) PeerControl;
  return {};
}

Result<std::unique_ptr<PeerMemory>> PeerMemory::Make(const GpuGroupOptions& options, NcclComm& comm,
                                                     cudaStream_t stream, const Await& await) {
  std::unique_ptr<PeerMemory> peers(new PeerMemory(options));
  peers->comm_ = &comm;
  const auto world = static_cast<size_t>(options.world);
  STRATA_TRY(peers->Allocate(stream));
  std::byte* const own = peers->inboxes_[static_cast<size_t>(options.rank)];

  std::vector<Card> cards(world);
  Card& card = cards[static_cast<size_t>(options.rank)];
  card = {ProcessToken(), peers->token_, own, options.device, 0, {}};
  card.offers = Succeeds(cudaIpcGetMemHandle(&card.handle, own)) ? 1 : 0;
  // The inbox, not used yet, carries the cards; it is cleared before it is used.
  const size_t bytes = world * sizeof(Card);
  STRATA_TRY(
      FromCuda(cudaMemcpyAsync(own, cards.data(), bytes, cudaMemcpyDefault, stream), "cards"));
  STRATA_TRY(comm.Call("exchanging inboxes", [&](ncclComm_t calls) {
    return ncclAllGather(own + static_cast<size_t>(options.rank) * sizeof(Card), own, sizeof(Card),
                         ncclInt8, calls, stream);
  }));
  STRATA_TRY(
      FromCuda(cudaMemcpyAsync(cards.data(), own, bytes, cudaMemcpyDefault, stream), "cards"));
  STRATA_TRY(await(stream));

  STRATA_ASSIGN(const bool mapped, peers->MapAll(cards, stream, await));
  if (!mapped) {
    if (options.rank == 0) Log(LogLevel::kInfo, "GPUs reach each other through NCCL alone");
    return std::unique_ptr<PeerMemory>();
  }
  // Loaded now: loading may wait for the GPU, and a call might wait for a rank that loads.
  for (const ElementType type :
       {ElementType::kInt32, ElementType::kInt64, ElementType::kHalf, ElementType::kBfloat16,
        ElementType::kFloat, ElementType::kDouble}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      cudaFuncAttributes unused = {};
      STRATA_TRY(FromCuda(cudaFuncGetAttributes(&unused, PeerAllreduceKernel({type, op})),
                          "loading a kernel"));
    }
  }
  STRATA_TRY(peers->ClearMarks(stream));
  STRATA_TRY(await(stream));
  return Result<std::unique_ptr<PeerMemory>>(std::move(peers));
}

std::byte* PeerMemory::Map(const Card& card) {
  if (card.offers == 0) return nullptr;
  if (card.process == ProcessToken()) {
    int reachable = 0;
    if (!Succeeds(cudaDeviceCanAccessPeer(&reachable, device_, card.device)) || reachable == 0) {
      return nullptr;
    }
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(card.device, 0);
    const bool already = enabled == cudaErrorPeerAccessAlreadyEnabled;
    return Succeeds(enabled) || already ? card.inbox : nullptr;
  }
  void* opened = nullptr;
  if (!Succeeds(cudaIpcOpenMemHandle(&opened, card.handle, cudaIpcMemLazyEnablePeerAccess))) {
    return nullptr;
  }
  opened_.push_back(static_cast<std::byte*>(opened));
  return opened_.back();
}

Result<bool> PeerMemory::MapAll(const std::vector<Card>& cards, cudaStream_t stream,
                                const Await& await) {
  const ptrdiff_t to_token = reinterpret_cast<std::byte*>(failed_) -
                             inboxes_[static_cast<size_t>(rank_)] -
                             static_cast<ptrdiff_t>(offsetof(Tail, failed));
  int32_t all = 1;
  for (size_t r = 0; r < cards.size(); ++r) {
    if (static_cast<int>(r) == rank_) continue;
    inboxes_[r] = Map(cards[r]);
    uint64_t token = 0;
    const bool read = inboxes_[r] != nullptr &&
                      Succeeds(cudaMemcpyAsync(&token, inboxes_[r] + to_token, sizeof token,
                                               cudaMemcpyDefault, stream));
    if (read) STRATA_TRY(await(stream));
    if (!read || token != cards[r].token) all = 0;
  }
  STRATA_TRY(
      FromCuda(cudaMemcpyAsync(word_, &all, sizeof all, cudaMemcpyDefault, stream), "a word"));
  STRATA_TRY(comm_->Call("agreeing on inboxes", [&](ncclComm_t calls) {
    return ncclAllReduce(word_, word_, 1, ncclInt32, ncclMin, calls, stream);
  }));
  STRATA_TRY(
      FromCuda(cudaMemcpyAsync(&all, word_, sizeof all, cudaMemcpyDefault, stream), "a word"));
  STRATA_TRY(await(stream));
  return all == 1;
}

// No rank writes to an inbox before all have come, nor before the own one is clear.
Status PeerMemory::ClearMarks(cudaStream_t stream) {
  const auto barrier = [&](ncclComm_t calls) {
    return ncclAllReduce(word_, word_, 1, ncclInt32, ncclMin, calls, stream);
  };
  std::byte* const own = inboxes_[static_cast<size_t>(rank_)];
  const size_t bytes =
      2 * static_cast<size_t>(world_) * (bytes_max_ / kLineBytes) * sizeof(PeerLine);
  STRATA_TRY(comm_->Call("clearing inboxes", barrier));
  STRATA_TRY(FromCuda(cudaMemsetAsync(own, 0, bytes, stream), "clearing an inbox"));
  return comm_->Call("clearing inboxes", barrier);
}

void PeerMemory::Unmap() {
  for (std::byte* inbox : std::exchange(opened_, {})) (void)cudaIpcCloseMemHandle(inbox);
}

PeerMemory::~PeerMemory() {
  Unmap();
  if (abandoned_) return;
  if (control_ != nullptr) (void)cudaFreeHost(control_);
  (void)cudaFree(inboxes_[static_cast<size_t>(rank_)]);
}

Status PeerMemory::Allreduce(const void* send, void* receive, size_t count, GpuReduction reduction,
                             cudaStream_t stream) {
  if (++call_ % kMarkCalls == 0) {  // marks begin again, and 0 is what a clear line has
    STRATA_TRY(ClearMarks(stream));
    ++call_;
  }
  PeerCall call;
  call.send = send;
  call.receive = receive;
  call.count = count;
  call.rank = rank_;
  call.world = world_;
  call.call = call_;
  call.mark = MarkOf(call_, count, reduction);
  call.deadline_ns = deadline_;
  call.failed = failed_;
  call.control = control_;
  for (int r = 0; r < world_; ++r) {
    call.to[r] = Place(r, rank_);
    call.from[r] = Place(rank_, r);
  }
  const size_t lines = (count * ElementBytes(reduction.type) + kLineBytes - 1) / kLineBytes;
  const auto blocks =
      static_cast<unsigned>(std::min<size_t>((lines + kThreads - 1) / kThreads, kBlocksMax));
  // Launched while the kernel before still runs, which a kernel of ours waits for by itself: less
  // of a gap between two of them.
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = launches_early_ ? 1 : 0;
  void* arguments[] = {&call};
  const auto* kernel = reinterpret_cast<const void*>(PeerAllreduceKernel(reduction));
  return FromCuda(cudaLaunchKernelExC(&config, kernel, arguments), "launching an allreduce");
}

Status PeerMemory::Poll() const {
  const volatile PeerControl* control = control_;
  const uint32_t missing = control->missing;
  if (missing == 0) return {};
  return DeadlineExceeded(fmt::format(
      "rank {} did not come to small allreduce {} within {:.1f} s, or called something else",
      missing - 1, control->call - kFirstCall, static_cast<double>(deadline_) / 1e9));
}

void PeerMemory::Stop() {
  volatile PeerControl* control = control_;
  control->stop = 1;
}

}  // namespace strata
