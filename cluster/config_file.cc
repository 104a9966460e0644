#include "cluster/config_file.h"

#include "base/file/disk.h"
#include "base/file/text_file.h"

namespace strata {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{16} << 20;

}  // namespace

Result<ClusterConfig> ReadClusterConfig(const std::string& path,
                                        const std::map<std::string, std::string>& settings,
                                        const std::string& origin) {
  Settings read(ClusterSettingsTable());
  if (!path.empty()) {
    STRATA_ASSIGN(const std::string text, ReadTextFile(RealDisk(), path, kFileBytesMax));
    STRATA_TRY(read.LoadToml(text, path));
  }
  for (const auto& [key, value] : settings) STRATA_TRY(read.Set(key, value, origin));
  STRATA_ASSIGN(ClusterConfig config, MakeClusterConfig(read));
  STRATA_TRY(CheckRankHasList(config));
  return config;
}

}  // namespace strata
