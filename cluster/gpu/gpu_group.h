// GpuGroup: the collectives among GPUs, one rank a GPU, over NCCL; small allreduces among the GPUs
// of one host go by a kernel of our own through the memory of the peers.
//
// Calls are stream-ordered: they enqueue work on the caller's stream and return; pointers are to
// device memory that stays valid until the stream has passed the call. Every rank calls the same
// operations with the same sizes in the same order, on one stream or on streams that the caller has
// ordered. Nothing hangs: a peer that does not come is an error when the deadline is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/clock.h"
#include "cluster/gpu/gpu_reduction.h"
#include "strata/status.h"

namespace strata {

struct GpuGroupOptions {
  int rank = 0;
  int world = 1;
  int device = 0;  // this rank's GPU, as CUDA numbers them here; no two ranks have the same
  // How long peers are waited for: by Make, by a call that has to connect first, by a kernel of
  // ours, by Wait and by the destructor.
  TimeNs deadline = 30 * kSecond;
  // Small allreduces through the memory of the peers, where all ranks are on one host and can reach
  // each other's. The same on all ranks.
  bool peer_memory = true;
};

// Brings rank 0's bytes to all ranks: rank 0 finds them in `bytes`, the others fill them in. Links
// can carry it, or a file, or the memory of one process.
using ShareBytes = std::function<Status(std::span<std::byte> bytes)>;

// One thread at a time; Abort from any. The first error is final: what was enqueued is aborted, the
// call and all later ones return that error. Results that a stream has passed are only valid when
// Wait or Check, called after that, is OK.
class GpuGroup {
 public:
  // A collective, which calls `share` once. Ranks may be threads of one process, processes, hosts.
  // kDeadlineExceeded when not all ranks came; kInvalid when two ranks name the same GPU.
  // NVLink multicast stays off unless NCCL_NVLS_ENABLE asks for it.
  static Result<std::unique_ptr<GpuGroup>> Make(const GpuGroupOptions& options,
                                                const ShareBytes& share);
  // A collective when there was no error. The streams that were used must have been waited for.
  ~GpuGroup();
  GpuGroup(const GpuGroup&) = delete;
  GpuGroup& operator=(const GpuGroup&) = delete;

  int rank() const;
  int world() const;

  // Streams are cudaStream_t; counts are of elements. In place where said so.

  // receive[i] becomes the reduction of all send[i], the same bits on all ranks; send may be
  // receive.
  Status Allreduce(const void* send, void* receive, size_t count, GpuReduction reduction,
                   void* stream);
  // The same; only root's `receive` is written.
  Status Reduce(const void* send, void* receive, size_t count, GpuReduction reduction, int root,
                void* stream);
  Status Broadcast(void* data, size_t count, ElementType type, int root, void* stream);
  // Block r has counts[r] elements; blocks follow each other in `all`, on all ranks alike. `mine`
  // is this rank's block and may lie at its place in `all`.
  Status ReduceScatter(const void* all, void* mine, std::span<const size_t> counts,
                       GpuReduction reduction, void* stream);
  Status Allgather(const void* mine, void* all, std::span<const size_t> counts, ElementType type,
                   void* stream);
  // Block r has counts[r] elements, on all ranks alike. The root's `all` receives the block of each
  // rank, in rank order; `mine` is this rank's and may lie at its place in `all`.
  Status Gather(const void* mine, void* all, std::span<const size_t> counts, ElementType type,
                int root, void* stream);
  // The other way: block r of the root's `all` goes to rank r.
  Status Scatter(const void* all, void* mine, std::span<const size_t> counts, ElementType type,
                 int root, void* stream);
  // Block r of `send`, of send_counts[r] elements, goes to rank r; block r of `receive` comes from
  // rank r. The two do not overlap.
  Status AllToAll(const void* send, std::span<const size_t> send_counts, void* receive,
                  std::span<const size_t> receive_counts, ElementType type, void* stream);
  // No rank's stream passes it before all have come to it.
  Status Barrier(void* stream);

  // Returns when the stream is done with all that was enqueued, or with the error.
  Status Wait(void* stream);
  // The error of the group by now, without waiting.
  Status Check();
  // Ends the group with this error: what is enqueued or waits returns. When somebody else learned
  // that a peer is gone. Any thread.
  void Abort(const Status& why);

  // The largest allreduce, in bytes, that goes through the memory of the peers; 0: none does.
  size_t peer_memory_bytes() const;

 private:
  class Impl;
  explicit GpuGroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
