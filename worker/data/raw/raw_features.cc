#include "worker/data/raw/raw_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace strata {

std::vector<FittedFeature> RawFeatures(const RawLayout& layout) {
  std::vector<FittedFeature> features;
  for (size_t i = 0; i < layout.dense_width; ++i) {
    features.push_back({.spec = {.column = fmt::format("dense {}", i),
                                 .kind = FeatureKind::kNumeric,
                                 .log = layout.dense == RawNumber::kInt},
                        .boundaries = {}});
  }
  for (size_t slot = 0; slot < layout.slot_keys.size(); ++slot) {
    features.push_back(
        {.spec = {.column = fmt::format("slot {}", slot), .kind = FeatureKind::kCategorical},
         .boundaries = {},
         .raw_keys = layout.slot_keys[slot]});
  }
  return features;
}

std::optional<RawLayout> RawLayoutOf(std::span<const FittedFeature> features) {
  RawLayout layout;
  for (const FittedFeature& feature : features) {
    if (feature.raw_keys > 0) {
      layout.slot_keys.push_back(feature.raw_keys);
    } else {
      ++layout.dense_width;
      layout.dense = feature.spec.log ? RawNumber::kInt : RawNumber::kFloat;
    }
  }
  const std::vector<FittedFeature> expected = RawFeatures(layout);
  if (layout.slot_keys.empty() || !std::ranges::equal(expected, features)) return std::nullopt;
  return layout;
}

Status CheckRawFeatures(const RawLayout& layout, std::span<const FittedFeature> features) {
  const std::optional<RawLayout> trained = RawLayoutOf(features);
  if (!trained.has_value()) {
    return Invalid(fmt::format(
        "data.format = \"raw\": expected a model that was trained with such records, found one "
        "with the feature {}: use the job file that trained it",
        features.empty() ? std::string("none") : FeatureText(features[0].spec)));
  }
  if (std::ranges::equal(RawFeatures(layout), features)) return {};
  RawLayout shown = *trained;
  shown.label = layout.label;  // a model does not know it
  return Invalid(fmt::format(
      "the job's records have {} ({}; {}), but the model was trained with {} ({}): "
      "give the layout as its job did",
      layout.Text(), layout.KeysText(), layout.settings, shown.Text(), shown.KeysText()));
}

}  // namespace strata
