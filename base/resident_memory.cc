#include "base/resident_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file/disk.h"

namespace strata {

uint64_t ResidentBytes() { return ResidentBytesOf(getpid()); }

uint64_t ResidentBytesOf(pid_t process) {
  // The second field of proc(5)'s statm, in pages.
  const Result<std::string> statm =
      ReadFile(RealDisk(), fmt::format("/proc/{}/statm", process), 4096);
  if (!statm.ok()) return 0;
  const size_t space = statm->find(' ');
  if (space == std::string::npos) return 0;
  return std::strtoull(statm->c_str() + space, nullptr, 10) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace strata
