// The allreduce through the memory of peers, as a kernel sees it.
//
// Each rank writes its input into an inbox of every other rank, as lines of 16 bytes: two words,
// each of four bytes of data and the call's number. A word is written and read as one, so data is
// there when its number is: no fence, no flag besides, no barrier between blocks ("LL" in NCCL).
// Then each rank reads the inputs in the order of the ranks, so all get the same bits. Inboxes
// alternate between two halves: a rank that begins call c + 2 has finished c + 1, for which it
// needed what every peer sent after its own call c.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cluster/gpu/gpu_reduction.h"

namespace strata {

constexpr int kPeersMax = 8;
constexpr size_t kLineBytes = 8;  // of data

struct alignas(16) PeerLine {
  uint64_t words[2];  // data in the low half, the call's mark in the high half
};

// In host memory that the GPU sees.
struct PeerControl {
  uint32_t stop = 0;     // set by the host: end now
  uint32_t missing = 0;  // set by the kernel: rank + 1 of who did not come
  uint64_t call = 0;     // to which call
};

struct PeerCall {
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  PeerLine* to[kPeersMax] = {};          // this rank's place in the inbox of each
  const PeerLine* from[kPeersMax] = {};  // the place of each in this rank's inbox
  int rank = 0;
  int world = 0;
  uint64_t call = 0;  // its number, for errors
  uint32_t mark = 0;  // never 0, and never that of one of the calls before
  int64_t deadline_ns = 0;
  uint32_t* failed = nullptr;  // in this GPU's memory: a call failed, those behind it do nothing
  PeerControl* control = nullptr;
};

// The kernel may be launched with any number of blocks and threads, the same on all ranks.
using PeerKernel = void (*)(PeerCall call);
PeerKernel PeerAllreduceKernel(GpuReduction reduction);

}  // namespace strata
