#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/thread/thread.h"
#include "cluster/gpu/nccl_comm.cuh"
#include "cluster/gpu/nccl_status.cuh"

namespace strata {
namespace {

constexpr TimeNs kWatchPeriodMax = kSecond;

double Seconds(TimeNs time) { return static_cast<double>(time) / 1e9; }

// NCCL reads it once, when its first communicator is made.
void KeepMulticastOff() {
  static std::once_flag once;
  std::call_once(once, [] { (void)setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0); });
}

}  // namespace

NcclComm::NcclComm(const GpuGroupOptions& options)
    : rank_(options.rank), world_(options.world), deadline_(options.deadline) {}

Result<std::unique_ptr<NcclComm>> NcclComm::Make(const GpuGroupOptions& options,
                                                 const ShareBytes& share) {
  KeepMulticastOff();
  std::unique_ptr<NcclComm> comm(new NcclComm(options));
  if (Status met = comm->Meet(share); !met.ok()) {
    comm->Abort();
    return met;
  }
  STRATA_ASSIGN(comm->watch_, StartThread("nccl-watch", [raw = comm.get()] { raw->Watch(); }));
  return Result<std::unique_ptr<NcclComm>>(std::move(comm));
}

Status NcclComm::Meet(const ShareBytes& share) {
  ncclUniqueId id = {};
  if (rank_ == 0) STRATA_TRY(FromNccl(ncclGetUniqueId(&id), "an id for the group"));
  STRATA_TRY(share(std::as_writable_bytes(std::span(&id, 1))).Prefixed("sharing the group's id"));

  const TimeNs until = RealClock().Now() + deadline_;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.splitShare = 1;
  STRATA_TRY(
      FromNccl(ncclCommInitRankConfig(&meeting_, world_, id, rank_, &config), "making the group"));
  STRATA_TRY(AwaitMeeting(until, "making the group"));
  config.blocking = 1;
  STRATA_TRY(FromNccl(ncclCommSplit(meeting_, 0, rank_, &calls_, &config), "splitting the group"));
  return AwaitMeeting(until, "splitting the group");
}

Status NcclComm::AwaitMeeting(TimeNs until, const char* what) {
  for (;;) {
    ncclResult_t state = ncclSuccess;
    STRATA_TRY(FromNccl(ncclCommGetAsyncError(meeting_, &state), what));
    if (state != ncclInProgress) return FromNccl(state, what);
    if (RealClock().Now() >= until) {
      return DeadlineExceeded(fmt::format("{}: not all of {} ranks came within {:.1f} s", what,
                                          world_, Seconds(deadline_)));
    }
    std::this_thread::yield();
  }
}

NcclComm::~NcclComm() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  ended_.NotifyAll();
  if (watch_.joinable()) watch_.join();
  if (calls_ != nullptr) (void)(aborted_ ? ncclCommAbort(calls_) : ncclCommDestroy(calls_));
  const MutexLock lock(mutex_);
  AbortLocked();  // nothing runs on the other one: it ends at once and waits for nobody
}

Status NcclComm::Judge(ncclResult_t result, const char* what) {
  const MutexLock lock(mutex_);
  if (overdue_) {
    return DeadlineExceeded(
        fmt::format("{}: NCCL waited {:.1f} s for a peer to connect", what, Seconds(deadline_)));
  }
  if (aborted_) return Cancelled(fmt::format("{}: the group was aborted", what));
  return FromNccl(result, what);
}

Status NcclComm::Poll() {
  ncclResult_t state = ncclSuccess;
  STRATA_TRY(FromNccl(ncclCommGetAsyncError(calls_, &state), "asking for errors"));
  return FromNccl(state, "a connection of the group");
}

void NcclComm::Abort() {
  const MutexLock lock(mutex_);
  AbortLocked();
}

void NcclComm::AbortLocked() {
  aborted_ = true;
  if (meeting_ != nullptr) (void)ncclCommAbort(std::exchange(meeting_, nullptr));
}

void NcclComm::Watch() {
  const TimeNs period = std::min(deadline_ / 8, kWatchPeriodMax);
  const MutexLock lock(mutex_);
  while (!ending_) {
    ended_.WaitFor(mutex_, period);
    const TimeNs began = call_began_.load(std::memory_order_relaxed);
    if (began != 0 && RealClock().Now() - began > deadline_ && !aborted_) {
      overdue_ = true;
      AbortLocked();
    }
  }
}

}  // namespace strata
