// The features of models of raw records. A model keeps them, and with them the layout.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "worker/data/feature/feature.h"
#include "worker/data/raw/raw_layout.h"

namespace strata {

// Numbers, then slots.
std::vector<FittedFeature> RawFeatures(const RawLayout& layout);

// The other way round, but for the label; nothing unless the features are of such records.
std::optional<RawLayout> RawLayoutOf(std::span<const FittedFeature> features);

// kInvalid unless a model of these features was trained with such records.
Status CheckRawFeatures(const RawLayout& layout, std::span<const FittedFeature> features);

}  // namespace strata
