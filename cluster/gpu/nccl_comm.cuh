// NcclComm: a communicator of NCCL none of whose calls blocks for ever.
//
// NCCL's own non-blocking mode starts a thread for every call: 40 us instead of 7 on an H200's
// host. So there are two communicators: a non-blocking one, with which ranks meet under a deadline,
// and a blocking one split from it, for the calls. They share NCCL's abort flag (splitShare), so
// that aborting the first ends a call or a kernel of the second, from any thread, while the second
// stays valid for the thread that uses it.
#pragma once

#include <nccl.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "cluster/gpu/gpu_group.h"
#include "kernels/core/cuda_status.cuh"
#include "strata/status.h"

namespace strata {

// One thread at a time; Abort from any.
class NcclComm {
 public:
  // As GpuGroup::Make. The current device is the rank's.
  static Result<std::unique_ptr<NcclComm>> Make(const GpuGroupOptions& options,
                                                const ShareBytes& share);
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  // Runs `enqueue`, which calls NCCL with the communicator it gets and returns ncclResult_t. A call
  // that is not back by the deadline (it waits for a peer, to connect) is aborted.
  template <typename Enqueue>
  Status Call(const char* what, const Enqueue& enqueue) {
    call_began_.store(RealClock().Now(), std::memory_order_relaxed);
    const ncclResult_t result = enqueue(calls_);
    call_began_.store(0, std::memory_order_relaxed);
    return Judge(result, what);
  }

  // What NCCL noticed by itself since: a lost connection.
  Status Poll();
  // Ends what is enqueued or waits, and all later calls. Any thread.
  void Abort() STRATA_EXCLUDES(mutex_);

 private:
  explicit NcclComm(const GpuGroupOptions& options);
  Status Meet(const ShareBytes& share);
  Status AwaitMeeting(TimeNs until, const char* what);
  Status Judge(ncclResult_t result, const char* what);
  void AbortLocked() STRATA_REQUIRES(mutex_);
  void Watch();

  const int rank_;
  const int world_;
  const TimeNs deadline_;
  ncclComm_t calls_ = nullptr;
  std::atomic<TimeNs> call_began_{0};  // 0: none is under way

  Mutex mutex_;
  CondVar ended_;
  ncclComm_t meeting_ = nullptr;  // null once aborted. After Make only with mutex_ held
  bool aborted_ STRATA_GUARDED_BY(mutex_) = false;
  bool overdue_ STRATA_GUARDED_BY(mutex_) = false;
  bool ending_ STRATA_GUARDED_BY(mutex_) = false;
  std::jthread watch_;
};

}  // namespace strata
