#include "kernels/core/gpu_fault.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>
#include <exception>

#include "base/log.h"

namespace strata {
namespace {

// The one exception of ours: a fault comes up in the depth of calls that cannot fail otherwise.
struct GpuFault {
  Status status;
};

thread_local int catching = 0;
thread_local int ignoring = 0;

std::string NameOf(std::optional<int> gpu) { return gpu ? fmt::to_string(*gpu) : "?"; }

}  // namespace

void EndForGpuFault(std::optional<int> gpu, const Status& status) {
  if (catching > 0) {
    throw GpuFault{Failed(fmt::format(
        "GPU {} failed: {}: this process can use it no more; start it again, and should the GPU "
        "fail again, dmesg and nvidia-smi say more",
        NameOf(gpu), status.message()))};
  }
  char thread[16] = "?";
  (void)pthread_getname_np(pthread_self(), thread, sizeof thread);
  Log(LogLevel::kError,
      "{}: GPU {} failed: {}: this process ends (70); start it again: a server with a data folder "
      "recovers from its log and checkpoints; should the GPU fail again, dmesg and nvidia-smi say "
      "more",
      thread, NameOf(gpu), status.message());
  FlushLog();
  std::_Exit(70);
}

Status CatchGpuFault(const std::function<Status()>& work) {
  struct Catching {
    Catching() { ++catching; }
    ~Catching() { --catching; }
  };
  try {
    const Catching scope;
    return work();
  } catch (const GpuFault& fault) {
    return fault.status;
  }
}

bool IgnoresGpuFaults() { return ignoring > 0 || (catching > 0 && std::uncaught_exceptions() > 0); }

IgnoreGpuFaults::IgnoreGpuFaults() { ++ignoring; }
IgnoreGpuFaults::~IgnoreGpuFaults() { --ignoring; }

}  // namespace strata
