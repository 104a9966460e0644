// The keys of features: the 64-bit numbers under which a table holds the rows of texts and buckets.
// Saved models depend on them, so that they may never change. docs/protocol.md, "Keys of features",
// describes them for other programs.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/row_schema.h"
#include "worker/data/feature/data_spec.h"

namespace strata {

// What the keys of one column's values are derived from: equal texts in two columns, or under two
// kinds, have two keys.
uint64_t FeatureSalt(std::string_view column, FeatureKind kind);
// That of its column, or of the one whose keys it has.
uint64_t FeatureSalt(const FeatureSpec& feature);

// Of a value that is missing.
Key MissingKey(uint64_t salt);
// Of a categorical feature's text, which is not empty: an empty one is missing.
Key TextKey(uint64_t salt, std::string_view text);
// Of a bucketised feature's bucket, counted from 0.
Key BucketKey(uint64_t salt, uint64_t bucket);

}  // namespace strata
