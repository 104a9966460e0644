#include "worker/data/feature/feature.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/core/math.h"
#include "worker/data/feature/buckets.h"
#include "worker/data/feature/feature_key.h"
#include "worker/data/feature/feature_statistics.h"

namespace strata {
namespace {

void FitNumeric(const Moments& moments, FittedFeature* fitted) {
  // Rounded to float: ranks that merge the same rows in another grouping nearly always agree then.
  fitted->mean = static_cast<float>(moments.mean);
  fitted->deviation = static_cast<float>(moments.Deviation());
  if (fitted->deviation <= 0) fitted->deviation = 1;
}

float EncodeNumeric(const FittedFeature& feature, double x) {
  if (feature.spec.log) x = SignedLog(x);
  if (std::isnan(x)) x = feature.mean;
  if (feature.spec.standardise) x = (x - feature.mean) / feature.deviation;
  return static_cast<float>(std::clamp(x, double{-FLT_MAX}, double{FLT_MAX}));
}

Key EncodeBucket(const FittedFeature& feature, uint64_t salt, double x) {
  return std::isnan(x) ? MissingKey(salt) : BucketKey(salt, BucketOf(feature, x));
}

// Rows without a value are a group of their own.
uint64_t GroupOf(std::string_view text) {
  static const uint64_t salt = FeatureSalt("group", FeatureKind::kCategorical);
  return text.empty() ? MissingKey(salt) : TextKey(salt, text);
}

}  // namespace

std::vector<FeatureSpec> SpecsOf(std::span<const FittedFeature> features) {
  std::vector<FeatureSpec> specs;
  for (const FittedFeature& feature : features) specs.push_back(feature.spec);
  return specs;
}

size_t CountSlots(std::span<const FeatureSpec> features) {
  return features.size() - static_cast<size_t>(std::ranges::count(features, FeatureKind::kNumeric,
                                                                  &FeatureSpec::kind));
}

uint64_t BucketOf(const FittedFeature& feature, double x) {
  const auto above = std::ranges::upper_bound(feature.boundaries, x);
  return static_cast<uint64_t>(above - feature.boundaries.begin());
}

double SignedLog(double x) { return std::copysign(math::Log1p(std::abs(x)), x); }

std::vector<FittedFeature> FitFeatures(std::span<const FeatureSpec> features,
                                       const FeatureStatistics& statistics) {
  STRATA_CHECK(features.size() == statistics.features().size());
  std::vector<FittedFeature> fitted(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    fitted[i].spec = features[i];
    if (features[i].kind == FeatureKind::kNumeric) {
      FitNumeric(statistics.features()[i].moments, &fitted[i]);
    } else if (features[i].kind == FeatureKind::kBucketised) {
      std::vector<double> values;
      for (const RowSample::Entry& entry : statistics.features()[i].sample.Sorted()) {
        values.push_back(entry.value);
      }
      fitted[i].boundaries = CutBuckets(std::move(values), features[i].buckets);
    }
  }
  return fitted;
}

FeatureEncoder::FeatureEncoder(std::vector<FittedFeature> features, const ColumnPlan& plan)
    : group_column_(plan.group) {
  STRATA_CHECK(features.size() == plan.feature_columns.size());
  for (size_t i = 0; i < features.size(); ++i) {
    const FeatureSpec& spec = features[i].spec;
    const uint64_t salt = FeatureSalt(spec);
    std::vector<Column>& columns = spec.kind == FeatureKind::kNumeric ? dense_ : slots_;
    columns.push_back({std::move(features[i]), plan.feature_columns[i], salt});
  }
}

void FeatureEncoder::Start(Batch* batch) const { batch->Start(slots_.size(), dense_.size()); }

void FeatureEncoder::Append(const DataRow& row, Batch* batch) const {
  for (const Column& dense : dense_) {
    batch->dense.push_back(EncodeNumeric(dense.feature, row.numbers[dense.column]));
  }
  for (const Column& slot : slots_) {
    if (slot.feature.spec.kind == FeatureKind::kBucketised) {
      batch->keys.push_back(EncodeBucket(slot.feature, slot.salt, row.numbers[slot.column]));
    } else {
      const std::string_view text = row.fields[slot.column];
      batch->keys.push_back(text.empty() ? MissingKey(slot.salt) : TextKey(slot.salt, text));
    }
    batch->offsets.push_back(static_cast<uint32_t>(batch->keys.size()));
  }
  batch->labels.push_back(row.label);
  batch->weights.push_back(row.weight);
  if (group_column_ != ColumnPlan::kNone) {
    batch->groups.push_back(GroupOf(row.fields[group_column_]));
  }
  ++batch->samples;
}

}  // namespace strata
