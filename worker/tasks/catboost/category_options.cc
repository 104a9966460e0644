#include "worker/tasks/catboost/category_options.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/tasks/catboost/option_reading.h"

namespace strata {
namespace {

std::string Where(const Settings& settings, const char* key) {
  return fmt::format("{}: {}", settings.Origin(key), key);
}

Result<std::vector<CtrDescription>> ReadCtrs(const Settings& settings, const char* key) {
  auto parsed = ParseCtrDescriptions(settings.Text(key));
  if (!parsed.ok()) return parsed.status().Prefixed(Where(settings, key));
  return parsed;
}

}  // namespace

Result<CategoryParameters> ReadCategoryParameters(const Settings& settings, size_t iterations) {
  const auto count = [&settings](const char* key) {
    return static_cast<size_t>(settings.Int(key));
  };
  CategoryParameters c;
  c.one_hot_max_size = count("one_hot_max_size");
  STRATA_ASSIGN(c.simple, ReadCtrs(settings, "simple_ctr"));
  STRATA_ASSIGN(c.combinations, ReadCtrs(settings, "combinations_ctr"));
  if (const std::string& text = settings.Text("per_feature_ctr"); !text.empty()) {
    auto parsed = ParsePerFeatureCtrs(text);
    if (!parsed.ok()) return parsed.status().Prefixed(Where(settings, "per_feature_ctr"));
    c.per_feature = *std::move(parsed);
  }
  c.target_border_count = count("ctr_target_border_count");
  c.max_ctr_complexity = iterations < 200 ? 1 : 4;
  if (settings.IsSet("max_ctr_complexity")) c.max_ctr_complexity = count("max_ctr_complexity");
  c.model_size_reg = FloatOption(settings, "model_size_reg");
  c.has_time = settings.Bool("has_time");
  c.permutation_count = count("permutation_count");
  if (const size_t block = count("fold_permutation_block"); block > 0) c.permutation_block = block;
  return c;
}

}  // namespace strata
