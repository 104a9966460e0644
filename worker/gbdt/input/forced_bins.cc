#include "worker/gbdt/input/forced_bins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file/text_file.h"
#include "worker/gbdt/model/json_at.h"

namespace strata {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 28;
constexpr int64_t kFeatureMax = (int64_t{1} << 24) - 1;

}  // namespace

Result<std::map<size_t, std::vector<double>>> ReadForcedBins(Disk& disk, const std::string& path) {
  std::map<size_t, std::vector<double>> bounds_of;
  if (path.empty()) return bounds_of;
  const std::string name = "forcedbins_filename: " + path;
  Result<std::string> text = ReadTextFile(disk, path, kFileBytesMax);
  if (!text.ok()) return text.status().Prefixed("forcedbins_filename");
  STRATA_ASSIGN(const nlohmann::json json, ParseJson(*text, name));
  STRATA_ASSIGN(const std::vector<JsonAt> features, JsonAt(json, name + ": features").Items());
  for (const JsonAt& feature : features) {
    STRATA_ASSIGN(const JsonAt number, feature.At("feature"));
    STRATA_ASSIGN(const int64_t f, number.Whole(0, kFeatureMax));
    STRATA_ASSIGN(const JsonAt list, feature.At("bin_upper_bound"));
    STRATA_ASSIGN(const std::vector<JsonAt> items, list.Items());
    STRATA_ASSIGN(std::vector<double> bounds, list.NumberList(items.size()));
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    if (!bounds_of.emplace(static_cast<size_t>(f), std::move(bounds)).second) {
      return number.Wrong(fmt::format("feature {} is there twice", f));
    }
  }
  return bounds_of;
}

}  // namespace strata
