// Sums and joined lists over ranks, against the same of one rank.
#include "worker/gbdt/data/row_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <span>

#include "base/hash.h"
#include "tests/worker/gbdt/rank_world.h"
#include "worker/gbdt/data/divided_rows.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// Numbers of very different sizes, whose sum in doubles depends on the order.
std::vector<double> Numbers(size_t count) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = Mix64(i + 1);
    const double number = static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
    numbers[i] = std::ldexp(number, static_cast<int>(bits % 40) - 20);
  }
  return numbers;
}

// A rank's uneven part of [0, count): rank r has r + 1 shares.
template <typename T>
std::span<const T> PartOf(const std::vector<T>& all, const Group& group) {
  const auto shares = static_cast<size_t>(group.world() * (group.world() + 1) / 2);
  const auto rank = static_cast<size_t>(group.rank());
  const size_t begin = all.size() * (rank * (rank + 1) / 2) / shares;
  const size_t end = all.size() * ((rank + 1) * (rank + 2) / 2) / shares;
  return std::span(all).subspan(begin, end - begin);
}

TEST(RowShare, SumsAreTheSameHoweverRowsAreDivided) {
  const std::vector<double> numbers = Numbers(1000);
  const double alone = RowShare().Total(numbers);
  EXPECT_NEAR(alone, std::accumulate(numbers.begin(), numbers.end(), 0.0), 1e-9 * 0x1p20);
  for (const int world : {2, 3, 5}) {
    RunRanks(world, [&](Group& group) {
      const auto part = PartOf(numbers, group);
      const auto share = RowShare::Divide(group, part.size());
      ASSERT_TRUE(share.ok()) << share.status().ToString();
      EXPECT_EQ(share->all_rows(0), numbers.size());
      EXPECT_EQ(share->first_row(), static_cast<size_t>(part.data() - numbers.data()));
      EXPECT_EQ(share->Total(part), alone);
      EXPECT_EQ(share->Sum(2), 2 * world);
      EXPECT_EQ(share->Max(static_cast<double>(group.rank())), world - 1);
      EXPECT_TRUE(share->Any(group.rank() == 1));
      EXPECT_FALSE(share->Any(false));
      EXPECT_TRUE(share->status().ok());
    });
  }
}

TEST(RowShare, ANumberThatIsNotFiniteMakesTheSumNaNOnAllRanks) {
  RunRanks(3, [](Group& group) {
    const auto share = RowShare::Divide(group, 1);
    ASSERT_TRUE(share.ok());
    const double number = group.rank() == 1 ? INFINITY : 1;
    EXPECT_TRUE(std::isnan(share->Total(std::span(&number, 1))));
  });
}

TEST(RowShare, ListsAreJoinedInTheOrderOfRanks) {
  std::vector<std::vector<int32_t>> all(7);
  for (size_t list = 0; list < all.size(); ++list) {
    all[list].resize(list * 13);
    std::iota(all[list].begin(), all[list].end(), static_cast<int32_t>(list * 1000));
  }
  // A number that shows whether elements are there and in order.
  const auto hash = [](size_t list, std::vector<int32_t>& elements) {
    uint64_t h = list;
    for (const int32_t element : elements) h = Mix64(h + static_cast<uint64_t>(element));
    return static_cast<double>(h >> 12);
  };
  std::vector<std::vector<int32_t>> alone = all;
  const auto expected = RowShare().Compute<int32_t>(std::span(alone), hash);
  for (const int world : {2, 3, 8}) {
    RunRanks(world, [&](Group& group) {
      std::vector<std::vector<int32_t>> mine;
      for (const auto& list : all) {
        const auto part = PartOf(list, group);
        mine.emplace_back(part.begin(), part.end());
      }
      const auto share = RowShare::Divide(group, 1);
      ASSERT_TRUE(share.ok());
      EXPECT_EQ(share->Compute<int32_t>(std::span(mine), hash), expected);
    });
  }
}

TEST(RowShare, ARankWithoutRowsIsNamed) {
  RunRanks(3, [](Group& group) {
    const auto share = RowShare::Divide(group, group.rank() == 1 ? 0 : 5);
    ASSERT_FALSE(share.ok());
    EXPECT_EQ(share.status().code(), StatusCode::kInvalid);
    EXPECT_THAT(share.status().message(), HasSubstr("rank 1 of 3 has no row"));
  });
}

TEST(RowShare, ALostRankIsSaidByTheStatus) {
  RunRanks(3, [](Group& group) {
    const auto share = RowShare::Divide(group, 1);
    if (!share.ok()) {  // rank 2 was quick
      EXPECT_EQ(share.status().code(), StatusCode::kLost);
      return;
    }
    if (group.rank() == 2) return group.Cancel(Failed("rank 2 has enough"));
    share->Sum(1);
    EXPECT_EQ(share->status().code(), StatusCode::kLost);
    EXPECT_EQ(share->Total(std::vector<double>{1.0}), share->Total(std::vector<double>{1.0}));
  });
}

// Each query goes to the rank in whose part it begins, also one that reaches over several ranks.
TEST(BordersOfWholeQueries, CutNoQuery) {
  const std::vector<int64_t> query_of_row = {7, 7, 7, 3, 3, 3, 3, 3, 3, 9, 9, 4, 4, 4, 4, 4};
  const std::vector<size_t> begins = {0, 3, 9, 11, 16};
  for (const int world : {2, 3, 4, 5}) {
    RunRanks(world, [&](Group& group) {
      const size_t rows = query_of_row.size();
      const auto cut = [&](int r) {
        return rows * static_cast<size_t>(r) / static_cast<size_t>(group.world());
      };
      const size_t first = cut(group.rank());
      const size_t count = cut(group.rank() + 1) - first;
      const auto share = RowShare::Divide(group, count);
      ASSERT_TRUE(share.ok());
      std::vector<uint64_t> expected;
      for (int r = 0; r <= group.world(); ++r) {
        expected.push_back(*std::ranges::lower_bound(begins, cut(r)));
      }
      const auto by_file = BordersOfWholeQueries(group, *share, {}, begins);
      ASSERT_TRUE(by_file.ok());
      EXPECT_EQ(*by_file, expected);
      const auto by_column =
          BordersOfWholeQueries(group, *share, std::span(query_of_row).subspan(first, count), {});
      ASSERT_TRUE(by_column.ok());
      EXPECT_EQ(*by_column, expected);
    });
  }
}

}  // namespace
}  // namespace strata
