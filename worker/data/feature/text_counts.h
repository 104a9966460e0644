// TextCounts: which texts a pass over the training data has seen in the columns of categorical
// features, and in how many rows. The dictionary of a model is written from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "worker/data/feature/data_spec.h"

namespace strata {

// One thread at a time.
class TextCounts {
 public:
  // Bounds of all columns together. A text that is new once either is reached is not kept.
  static constexpr size_t kTextsMax = size_t{1} << 22;
  static constexpr size_t kBytesMax = size_t{256} << 20;

  // Of the categorical ones among `features`, in their order. Smaller bounds are for tests.
  explicit TextCounts(std::span<const FeatureSpec> features, size_t texts_max = kTextsMax,
                      size_t bytes_max = kBytesMax);

  // `feature` is its place among all features; "" stands for a missing value. Other kinds of
  // features are ignored.
  void Add(size_t feature, std::string_view text, uint64_t rows = 1);

  // To send to other ranks, and to add what another one has sent. kCorrupt: bytes that are no such
  // thing.
  std::vector<std::byte> Serialize() const;
  Status AddSerialized(std::span<const std::byte> bytes);

  // CSV with the header "column,text,key,rows": a line for each text, columns in the features'
  // order, texts in the order of their bytes. The text of a missing value is empty.
  std::string ToCsv() const;

  // Values, one for each row and feature, whose texts are not kept.
  uint64_t values_not_kept() const { return not_kept_; }

  // Texts that are no UTF-8. ToCsv has their bytes as they are.
  uint64_t TextsOfOtherBytes() const;

 private:
  using Counts = std::map<std::string, uint64_t, std::less<>>;

  std::vector<FeatureSpec> features_;
  std::vector<Counts> counts_;  // by feature; of other kinds they stay empty
  size_t texts_max_;
  size_t bytes_max_;
  size_t texts_ = 0;
  size_t bytes_ = 0;  // of all texts kept
  uint64_t not_kept_ = 0;
};

}  // namespace strata
