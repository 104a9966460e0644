// Hashes by buckets, beside a set.
#include "storage/tiered/scan_order.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace strata {
namespace {

TEST(ScanOrder, WalksAllHashesInOrderFromAnywhere) {
  std::mt19937_64 random(5);
  ScanOrder order;
  EXPECT_TRUE(order.empty());
  order.Begin();
  std::set<uint64_t> model = {0, UINT64_MAX, uint64_t{1} << 52, (uint64_t{1} << 52) - 1};
  for (const uint64_t hash : model) order.Add(hash);
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 100; ++i) {
      const uint64_t hash = random() >> random() % 30;
      order.Add(hash);
      if (i % 3 == 0) order.Add(hash);
      model.insert(hash);
    }
    const uint64_t from = round % 5 == 0 ? 0 : random();
    std::vector<uint64_t> walked;
    ScanOrder::Range range;
    for (uint64_t at = from;; at = range.last + 1) {
      range = order.From(at);
      walked.insert(walked.end(), range.hashes.begin(), range.hashes.end());
      if (range.last == UINT64_MAX) break;
    }
    ASSERT_EQ(walked, std::vector<uint64_t>(model.lower_bound(from), model.end()));
  }
  for (uint64_t bucket = 0; bucket < 4096; ++bucket) order.From(bucket << 52);
  EXPECT_EQ(order.size(), model.size());
}

}  // namespace
}  // namespace strata
