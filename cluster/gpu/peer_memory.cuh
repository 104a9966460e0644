// PeerMemory: the inboxes of all ranks of a group, each where this rank's GPU can write to it.
#pragma once

#include <memory>
#include <vector>

#include "cluster/gpu/gpu_group.h"
#include "cluster/gpu/nccl_comm.cuh"
#include "cluster/gpu/peer_kernel.cuh"
#include "strata/status.h"

namespace strata {

// One thread at a time; Stop from any.
class PeerMemory {
 public:
  // Waits for what has been enqueued on the stream, as GpuGroup::Wait.
  using Await = std::function<Status(cudaStream_t stream)>;

  // A collective; the stream must be idle. Null on all ranks when one of them cannot reach another:
  // an other host, no link between the GPUs, more than kPeersMax ranks.
  static Result<std::unique_ptr<PeerMemory>> Make(const GpuGroupOptions& options, NcclComm& comm,
                                                  cudaStream_t stream, const Await& await);
  // All ranks must have come past Unmap; else Abandon comes first.
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  size_t bytes_max() const { return bytes_max_; }  // of an allreduce
  // Enqueues the kernel; at most bytes_max().
  Status Allreduce(const void* send, void* receive, size_t count, GpuReduction reduction,
                   cudaStream_t stream);
  // kDeadlineExceeded, which names the rank, when a peer did not come to a call.
  Status Poll() const;
  // Ends the kernels that run or will.
  void Stop();
  // When all calls of this rank are done; none may follow.
  void Unmap();
  // After an error: a late peer may still write to the inbox, which therefore stays when this goes.
  void Abandon() { abandoned_ = true; }

 private:
  struct Card;
  explicit PeerMemory(const GpuGroupOptions& options);
  Status Allocate(cudaStream_t stream);
  Result<bool> MapAll(const std::vector<Card>& cards, cudaStream_t stream, const Await& await);
  std::byte* Map(const Card& card);
  Status ClearMarks(cudaStream_t stream);
  PeerCall MakeCall() const;
  PeerLine* Place(int inbox_of, int from) const;

  const int rank_;
  const int world_;
  const int device_;
  const TimeNs deadline_;
  const size_t bytes_max_;
  NcclComm* comm_ = nullptr;
  uint64_t token_ = 0;
  uint64_t call_;
  bool abandoned_ = false;
  bool launches_early_ = false;      // the GPU knows programmatic launches: sm_90
  std::vector<std::byte*> inboxes_;  // by rank, the own one too; null: not mapped
  std::vector<std::byte*> opened_;   // those of other processes
  uint32_t* failed_ = nullptr;       // on the GPU, at the end of the own inbox
  int32_t* word_ = nullptr;          // on the GPU: for agreeing
  PeerControl* control_ = nullptr;
};

}  // namespace strata
