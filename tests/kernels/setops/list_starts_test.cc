#include "kernels/setops/list_starts.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace strata {
namespace {

TEST(ListStarts, AreThoseThatTheyWereMadeOfInTheShorterForm) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t lists = seed < 60 ? seed : random.Below(3'000);
    // One list of how many has postings, and how many at the most.
    const uint64_t each = 1 + random.Below(20);
    const uint64_t longest = seed % 3 == 0 ? ListStarts::kLongest : 1 + random.Below(10);
    std::vector<uint32_t> starts{0};
    for (size_t i = 0; i < lists; ++i) {
      const uint64_t more = random.Below(each) == 0 ? 1 + random.Below(longest) : 0;
      starts.push_back(starts.back() + static_cast<uint32_t>(more));
    }
    const ListStarts made(starts);
    for (size_t list = 0; list <= lists; ++list) ASSERT_EQ(made[list], starts[list]) << list;
    for (size_t list = 0; list < lists; ++list) {
      const auto [begin, end] = made.Of(list);
      ASSERT_EQ(begin, starts[list]) << list;
      ASSERT_EQ(end, starts[list + 1]) << list;
    }
    const size_t of_groups = (lists / 14 + 1) * 32;
    const size_t of_postings = starts.back() + (lists / 256 + 2) * 4;
    EXPECT_LE(made.bytes(), std::min(of_groups, of_postings) + 8);
  }
}

TEST(ListStarts, OfFullGroupsFit) {
  std::vector<uint32_t> starts{0};
  for (size_t i = 0; i < 100; ++i) starts.push_back(starts.back() + ListStarts::kLongest);
  const ListStarts made(starts);
  for (size_t list = 0; list < starts.size(); ++list) ASSERT_EQ(made[list], starts[list]);
}

TEST(ListStarts, OfNoneAreNone) { EXPECT_EQ(ListStarts()[0], 0U); }

}  // namespace
}  // namespace strata
