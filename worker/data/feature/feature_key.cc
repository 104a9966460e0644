#include "worker/data/feature/feature_key.h"

#include "base/hash.h"

namespace strata {

uint64_t FeatureSalt(std::string_view column, FeatureKind kind) {
  return Hash64(column, static_cast<uint64_t>(kind));
}

uint64_t FeatureSalt(const FeatureSpec& feature) {
  return FeatureSalt(feature.keys_of.empty() ? feature.column : feature.keys_of, feature.kind);
}

Key MissingKey(uint64_t salt) { return Mix64(salt); }

Key TextKey(uint64_t salt, std::string_view text) { return Hash64(text, salt); }

Key BucketKey(uint64_t salt, uint64_t bucket) { return Mix64(salt + 1 + bucket); }

}  // namespace strata
