// FeatureSpec: how a column becomes an input of a click model.
#pragma once

#include <cstdint>
#include <string>

namespace strata {

enum class FeatureKind : uint8_t {
  kNumeric,      // one dense float
  kBucketised,   // a number turned into one slot with one key: the bucket it falls into
  kCategorical,  // one slot with one key: the hash of the text
};

// One input of the model. A column may serve several features of different kinds.
struct FeatureSpec {
  std::string column;
  FeatureKind kind = FeatureKind::kNumeric;
  bool log = false;          // kNumeric: sign(x) * log(1 + |x|) first
  bool standardise = false;  // kNumeric: then minus the mean, divided by the deviation
  uint32_t buckets = 0;      // kBucketised: how many at most, besides the one for missing values
  // kCategorical: another column, whose keys equal texts have; "": keys of its own.
  std::string keys_of = {};

  friend bool operator==(const FeatureSpec&, const FeatureSpec&) = default;
};

}  // namespace strata
