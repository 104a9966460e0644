// FeatureStatistics: what one pass over the training data learns about its columns, gathered by
// each rank over its own share and merged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "strata/status.h"
#include "worker/data/batch/row_reader.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/feature/text_counts.h"

namespace strata {

// Count, mean and sum of squared differences from the mean (Welford 1962), merged as in Chan, Golub
// and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
struct Moments {
  uint64_t count = 0;
  double mean = 0;
  double squares = 0;

  void Add(double value);
  void Merge(const Moments& other);
  double Deviation() const;  // of the population; 0 for fewer than two values
};

// A uniform sample of rows: those whose Mix64(offset) is smallest. Which rows these are depends on
// the file alone, not on who read which part of it in what order.
class RowSample {
 public:
  static constexpr size_t kRowsMax = 100'000;

  struct Entry {
    uint64_t hash;
    double value;
  };

  void Add(uint64_t row_offset, double value) { Add(Entry{Mix64(row_offset), value}); }
  void Add(Entry entry);
  // The sample in ascending order of hashes.
  std::vector<Entry> Sorted() const;

 private:
  void Prune();

  std::vector<Entry> entries_;      // up to twice kRowsMax between prunings
  uint64_t hash_max_ = UINT64_MAX;  // above it no row can get in
};

// One thread at a time.
class FeatureStatistics {
 public:
  struct Feature {
    Moments moments;   // kNumeric, after the logarithm
    RowSample sample;  // kBucketised
  };

  static constexpr size_t kFeaturesMax = 65'536;

  explicit FeatureStatistics(size_t features) : features_(features) {}

  // Reads the rest of the reader's share. Texts of categorical features are counted in `texts`,
  // unless it is null.
  static Result<FeatureStatistics> Gather(RowReader& reader, std::span<const FeatureSpec> features,
                                          TextCounts* texts = nullptr);

  // kInvalid unless `other` is of as many features. Merging all ranks in one order gives every rank
  // equal results; the samples do not depend on the number of ranks, means and deviations only by
  // rounding.
  Status Merge(const FeatureStatistics& other);

  // To send to other ranks, and back; kCorrupt for bytes that are no such thing.
  std::vector<std::byte> Serialize() const;
  static Result<FeatureStatistics> Parse(std::span<const std::byte> bytes);

  uint64_t rows() const { return rows_; }
  // Of every field of every row and its place in the file: equal for equal data, however it was
  // shared out.
  uint64_t content_hash() const { return content_hash_; }
  const std::vector<Feature>& features() const { return features_; }

 private:
  uint64_t rows_ = 0;
  uint64_t content_hash_ = 0;  // sum over the rows
  std::vector<Feature> features_;
};

}  // namespace strata
