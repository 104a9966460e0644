// Keys never change: those of the worked example in docs/protocol.md are what the code computes.
#include "worker/data/feature/feature_key.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file/disk.h"
#include "worker/data/raw/raw_layout.h"

namespace strata {
namespace {

TEST(FeatureKey, IsThatOfTheWorkedExample) {
  const auto page = ReadFile(RealDisk(), STRATA_SOURCE_DIR "/docs/protocol.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  const uint64_t city = FeatureSalt("city", FeatureKind::kCategorical);
  const uint64_t age = FeatureSalt("age", FeatureKind::kBucketised);
  const struct {
    const char* row;
    Key key;
  } cases[] = {
      {"city | categorical | Rome", TextKey(city, "Rome")},
      {"city | categorical | Z\xc3\xbcrich", TextKey(city, "Z\xc3\xbcrich")},
      {"city | categorical | missing", MissingKey(city)},
      {"age | bucketised | bucket 0", BucketKey(age, 0)},
      {"age | bucketised | bucket 3", BucketKey(age, 3)},
      {"age | bucketised | missing", MissingKey(age)},
      {"slot 0 | raw | 7", RawKey(0, 7)},
      {"slot 1 | raw | 7", RawKey(1, 7)},
      {"slot 25 | raw | 4294967295", RawKey(25, 4294967295)},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(*page, testing::HasSubstr(fmt::format("| {} | {} |\n", c.row, c.key)));
  }
}

}  // namespace
}  // namespace strata
