#include "kernels/core/gpu_fault.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdlib>

#include "base/log.h"

namespace strata {

void EndForGpuFault(std::optional<int> gpu, const Status& status) {
  char thread[16] = "?";
  (void)pthread_getname_np(pthread_self(), thread, sizeof thread);
  Log(LogLevel::kError,
      "{}: GPU {} failed: {}: this process ends (70); start it again: a server with a data folder "
      "recovers from its log and checkpoints; should the GPU fail again, dmesg and nvidia-smi say "
      "more",
      thread, gpu ? fmt::to_string(*gpu) : "?", status.message());
  FlushLog();
  std::_Exit(70);
}

}  // namespace strata
