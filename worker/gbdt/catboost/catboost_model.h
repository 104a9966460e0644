// CatBoostModel is a model of CatBoost in memory, as its JSON has it. It has features with their
// borders, statistics of categories, and trees whose nodes test one bit each.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace strata {

// What a missing value of a number is to its borders.
enum class NanTreatment : uint8_t {
  kAsIs,     // above none: training has seen no missing value
  kAsFalse,  // above none
  kAsTrue,   // above all
};

struct CatBoostNumber {
  std::string id;              // its name; empty where nobody gave one
  uint32_t index = 0;          // among the numeric features
  uint32_t flat_index = 0;     // among all features: its place in the data
  std::vector<float> borders;  // ascending
  bool has_nans = false;
  NanTreatment nan = NanTreatment::kAsIs;
};

struct CatBoostCategory {
  std::string id;
  uint32_t index = 0;  // among the categorical features
  uint32_t flat_index = 0;
  std::vector<int32_t> values;             // hashes that a split may ask for
  std::vector<std::string> string_values;  // their texts, where the file has them
};

enum class CtrType : uint8_t {
  kBorders,              // share of the rows whose class is above a border
  kBuckets,              // share of the rows of a class
  kBinarizedTargetMean,  // mean of the classes, from 0 to 1
  kFloatTargetMean,      // mean of the targets
  kCounter,              // rows, divided by those of the most frequent key
  kFeatureFreq,          // rows, divided by all rows
};

// What a key is made of: the categories of a row, and bits of splits.
struct CtrProjection {
  std::vector<uint32_t> categories;  // places in CatBoostModel::categories
  std::vector<uint32_t> splits;      // of numbers, then of exact values: CatBoostModel's splits
  auto operator<=>(const CtrProjection&) const = default;
  bool IsSimple() const { return categories.size() == 1 && splits.empty(); }
};

// Statistics of the training rows by key.
struct CtrTable {
  CtrProjection projection;
  CtrType type = CtrType::kBorders;
  std::vector<uint64_t> keys;  // no two are the same
  size_t width = 0;            // numbers a key: one a class, sum and count, or a count
  std::vector<double> numbers;
  int64_t denominator = 0;  // of kCounter and kFeatureFreq

  bool IsMean() const {
    return type == CtrType::kBinarizedTargetMean || type == CtrType::kFloatTargetMean;
  }
  bool IsCount() const { return type == CtrType::kCounter || type == CtrType::kFeatureFreq; }
};

// A number made of a table: ((good + numerator) / (total + denominator) + shift) * scale, in float.
struct CatBoostCtr {
  size_t table = 0;
  uint32_t target_border = 0;
  float prior_numerator = 0;
  float prior_denominator = 0;
  float shift = 0;
  float scale = 0;
  std::vector<float> borders;  // ascending
};

enum class SplitKind : uint8_t { kNumber, kExactValue, kCtr };

// One bit of a row: whether a number or a statistic is above a border, or a category has a value.
struct CatBoostSplit {
  SplitKind kind = SplitKind::kNumber;
  size_t of = 0;     // place in the model's numbers, categories or ctrs
  size_t place = 0;  // of the border or value there
  auto operator<=>(const CatBoostSplit&) const = default;
};

// Children are nodes, or ~leaf.
struct CatBoostNode {
  uint32_t split = 0;
  int32_t left = 0;  // where the bit is not set
  int32_t right = 0;
};

// An oblivious tree tests the same splits in each row: bit k of a leaf's number is that of split k.
// Another tree has nodes, the root first; with none of them it is one leaf.
struct CatBoostTree {
  std::vector<uint32_t> splits;
  std::vector<CatBoostNode> nodes;
  std::vector<double> values;   // leaf * outputs + output
  std::vector<double> weights;  // of the training rows, a leaf; may be empty
};

struct CatBoostModel {
  std::vector<CatBoostNumber> numbers;
  std::vector<CatBoostCategory> categories;
  std::vector<CtrTable> tables;
  std::vector<CatBoostCtr> ctrs;
  // Splits are counted over numbers, then categories, then ctrs; within each as its lists have
  // them.
  std::vector<CatBoostSplit> splits;
  bool oblivious = true;
  std::vector<CatBoostTree> trees;
  size_t outputs = 1;        // numbers a row
  double scale = 1;          // raw values are sums of leaves times this,
  std::vector<double> bias;  // plus this, one an output

  std::string info = "{}";  // model_info, as JSON
  std::string loss;         // its loss function's type; empty: not known
  // Labels of the classes by number, and the class of each output. Both empty: none are known.
  std::vector<std::string> class_labels;
  std::vector<uint32_t> class_of_output;
  std::optional<double> class_threshold;  // of the probability, where it is not 0.5
  std::map<uint32_t, std::string> texts;  // of categories by hash, where the file has them

  // Appends the splits of numbers and categories, or those of ctrs, whose borders are there.
  void ListFeatureSplits();
  void ListCtrSplits();
  // Where it is among the splits, which are in order; nothing: there is no such split.
  std::optional<uint32_t> FindSplit(const CatBoostSplit& split) const;
  size_t features() const;  // of the data that it takes: the last flat index and one
};

}  // namespace strata
