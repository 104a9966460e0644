// Statistics of categories, held against plain counts of the rows before each row.
#include "worker/gbdt/catboost/train/ordered_ctrs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "worker/gbdt/catboost/key_index.h"
#include "worker/gbdt/catboost/train/target_classes.h"

namespace strata {
namespace {

using testing::ElementsAre;

constexpr size_t kKeyedRows = 300;
constexpr size_t kKeys = 9;
constexpr uint16_t kClasses = 4;

struct KeyedRows {
  TargetClasses classes = {.of_rows = {}, .count = kClasses};
  std::vector<uint32_t> keys;
  RowOrder order;
};

KeyedRows MakeKeyedRows(uint64_t seed) {
  std::mt19937_64 random(seed);
  KeyedRows rows;
  for (uint32_t row = 0; row < kKeyedRows; ++row) {
    rows.classes.of_rows.push_back(static_cast<uint16_t>(random() % kClasses));
    rows.keys.push_back(row < kKeys ? row : static_cast<uint32_t>(random() % kKeys));
    rows.order.push_back(row);
  }
  std::ranges::shuffle(rows.order, random);
  return rows;
}

double GoodOf(const CtrKind& kind, uint16_t of_row) {
  if (kind.type == CtrType::kBorders) return of_row > kind.target_border ? 1 : 0;
  if (kind.type == CtrType::kBuckets) return of_row == kind.target_border ? 1 : 0;
  return of_row / double{kClasses - 1};
}

// A whole number that no bin's end is near.
void ExpectBin(uint8_t bin, double good, double total, float prior, size_t borders) {
  const double low = std::min(0.0, double{prior});
  const double norm = std::max(1.0, double{prior}) - low;
  const double place = ((good + prior) / (total + 1) - low) / norm * static_cast<double>(borders);
  if (std::abs(place - std::round(place)) < 1e-4) return;
  EXPECT_EQ(bin, std::floor(place));
}

TEST(OrderedCtrs, RowsGoByThoseBefore) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const KeyedRows rows = MakeKeyedRows(seed);
    const RowKeys keys = {.of_rows = rows.keys, .count = kKeys};
    for (const CtrType type :
         {CtrType::kBorders, CtrType::kBuckets, CtrType::kBinarizedTargetMean}) {
      const CtrKind kind = {.type = type,
                            .classes = &rows.classes,
                            .target_border = 1,
                            .border_count = 255,
                            .priors = {0, 0.3F, -1.5F, 4}};
      for (const bool is_permuted : {false, true}) {
        const RowOrder order = is_permuted ? rows.order : RowOrder();
        const std::vector<CtrBins> bins = OrderedCtrs(kind, keys, order);
        ASSERT_EQ(bins.size(), kind.priors.size());
        for (size_t place = 0; place < kKeyedRows; ++place) {
          const size_t row = is_permuted ? rows.order[place] : place;
          double good = 0;
          double total = 0;
          for (size_t before = 0; before < place; ++before) {
            const size_t other = is_permuted ? rows.order[before] : before;
            if (rows.keys[other] != rows.keys[row]) continue;
            good += GoodOf(kind, rows.classes.of_rows[other]);
            ++total;
          }
          for (size_t p = 0; p < bins.size(); ++p) {
            ExpectBin(bins[p][row], good, total, kind.priors[p], kind.border_count);
          }
        }
      }
    }
  }
}

TEST(OrderedCtrs, CountersGoByAllRows) {
  const KeyedRows rows = MakeKeyedRows(5);
  const CtrKind kind = {.type = CtrType::kCounter, .border_count = 255, .priors = {0, 3}};
  const std::vector<CtrBins> bins =
      OrderedCtrs(kind, {.of_rows = rows.keys, .count = kKeys}, rows.order);
  double most = 0;
  for (uint32_t key = 0; key < kKeys; ++key) {
    most = std::max(most, static_cast<double>(std::ranges::count(rows.keys, key)));
  }
  for (size_t row = 0; row < kKeyedRows; ++row) {
    const auto count = static_cast<double>(std::ranges::count(rows.keys, rows.keys[row]));
    for (size_t p = 0; p < 2; ++p) ExpectBin(bins[p][row], count, most, kind.priors[p], 255);
  }
}

// Rows of a table go by all rows of their keys, and rows of unknown keys by none.
TEST(OrderedCtrs, TablesHoldAllRows) {
  const KeyedRows rows = MakeKeyedRows(7);
  const RowKeys keys = {.of_rows = rows.keys, .count = kKeys};
  std::vector<uint32_t> asked(kKeys);
  std::iota(asked.begin(), asked.end(), 0U);
  asked.push_back(kKeys + 3);
  asked.push_back(KeyIndex::kNone);
  for (const CtrType type :
       {CtrType::kBorders, CtrType::kBuckets, CtrType::kBinarizedTargetMean, CtrType::kCounter}) {
    CtrKind kind = {.type = type,
                    .classes = type == CtrType::kCounter ? nullptr : &rows.classes,
                    .target_border = type == CtrType::kBinarizedTargetMean ? 0U : 2U,
                    .border_count = 100,
                    .priors = {0.7F}};
    if (type == CtrType::kCounter) kind.target_border = 0;
    const CtrTable table = CountKeys(kind, keys);
    EXPECT_EQ(table.type, type);
    for (const double number : table.numbers) EXPECT_EQ(number, std::floor(number));
    const CtrBins bins = TableCtrs(kind, 0.7F, table, asked);
    ASSERT_EQ(bins.size(), asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      double good = 0;
      double total = type == CtrType::kCounter ? static_cast<double>(table.denominator) : 0;
      for (size_t row = 0; row < kKeyedRows; ++row) {
        if (rows.keys[row] != asked[i]) continue;
        good += type == CtrType::kCounter ? 1 : GoodOf(kind, rows.classes.of_rows[row]);
        if (type != CtrType::kCounter) ++total;
      }
      ExpectBin(bins[i], good, total, 0.7F, kind.border_count);
    }
  }
}

TEST(TargetClasses, CountTheBordersBelow) {
  const std::vector<float> labels = {5, 1, 9, 1, 5, 9, 1};
  const TargetClasses two = PartTargets(labels, BorderType::kMinEntropy, 2);
  EXPECT_EQ(two.count, 3U);
  EXPECT_THAT(two.of_rows, ElementsAre(1, 0, 2, 0, 1, 2, 0));
  const TargetClasses same = PartTargets(std::vector<float>{3, 3}, BorderType::kMinEntropy, 2);
  EXPECT_EQ(same.count, 1U);
  EXPECT_THAT(same.of_rows, ElementsAre(0, 0));
}

}  // namespace
}  // namespace strata
