// Features: how a row's fields become keys and floats. A feature is fitted to the training data
// (FitFeatures), saved with the model as text, and applied by a FeatureEncoder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/row_reader.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/text/columns.h"

namespace strata {

class FeatureStatistics;

// A feature together with what was learned about its column.
struct FittedFeature {
  FeatureSpec spec;
  double mean = 0;       // kNumeric: of the values present, after the logarithm
  double deviation = 1;  // kNumeric: likewise; 1 where all values are equal
  // kBucketised: ascending; value x is in bucket i when boundaries[i - 1] <= x < boundaries[i].
  std::vector<double> boundaries;
  // A slot of raw records (raw_layout.h), which is kCategorical: how many keys it has. 0: it is
  // none.
  uint32_t raw_keys = 0;

  friend bool operator==(const FittedFeature&, const FittedFeature&) = default;
};

std::vector<FeatureSpec> SpecsOf(std::span<const FittedFeature> features);

// How many of the features are slots; the others are dense.
size_t CountSlots(std::span<const FeatureSpec> features);

// Means, deviations and bucket boundaries from statistics over all ranks. The features are those
// that the statistics were gathered for.
std::vector<FittedFeature> FitFeatures(std::span<const FeatureSpec> features,
                                       const FeatureStatistics& statistics);

// Whether the text begins as FeaturesToText has it; of another file it does not.
bool IsFeaturesText(std::string_view text);
// One feature a line, exact: FeaturesFromText(FeaturesToText(f)) == f. `name` stands in messages:
// kCorrupt with name:line, expected and found.
std::string FeaturesToText(std::span<const FittedFeature> features);
Result<std::vector<FittedFeature>> FeaturesFromText(std::string_view text, const std::string& name);

// The bucket, from 0 on, that a number falls into: how many boundaries are not above it.
uint64_t BucketOf(const FittedFeature& feature, double x);

// sign(x) * log(1 + |x|).
double SignedLog(double x);

// Appends rows to batches. Dense features come first in their order, slots likewise in theirs.
// A slot's keys depend on its column's name and kind alone, not on its place. Rows get groups if
// the plan has a column for them. Thread-safe.
class FeatureEncoder {
 public:
  // `plan` says where each feature's column stands in a row.
  FeatureEncoder(std::vector<FittedFeature> features, const ColumnPlan& plan);

  // Makes the batch empty, of this encoder's shape.
  void Start(Batch* batch) const;
  void Append(const DataRow& row, Batch* batch) const;

 private:
  struct Column {
    FittedFeature feature;
    size_t column;
    uint64_t salt;
  };
  std::vector<Column> dense_;
  std::vector<Column> slots_;
  size_t group_column_;  // ColumnPlan::kNone: rows are in no groups
};

}  // namespace strata
