#include "bench/harness/machine.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>

#include "base/file/disk.h"

namespace strata::bench {
namespace {

constexpr uint64_t kCpuInfoBytesMax = uint64_t{16} << 20;

std::string ProcessorName() {
  const Result<std::string> info = ReadFile(RealDisk(), "/proc/cpuinfo", kCpuInfoBytesMax);
  if (!info.ok()) return "unknown processor";
  constexpr std::string_view kField = "model name\t: ";
  const size_t at = info->find(kField);
  if (at == std::string::npos) return "unknown processor";
  const size_t begin = at + kField.size();
  return info->substr(begin, info->find('\n', begin) - begin);
}

}  // namespace

int Cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

std::string MachineName() {
  const auto bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  return fmt::format("cpu: {}, {} cores, {} GiB", ProcessorName(), Cores(), bytes >> 30);
}

double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace strata::bench
