// The parts of an exchange: who owns features, histograms in as few bits as hold them, the best of
// all ranks' splits. Trees grown with them: ranks_training_test.cc.
#include "worker/gbdt/grower/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "tests/worker/gbdt/rank_world.h"
#include "worker/gbdt/grower/feature_owners.h"
#include "worker/gbdt/grower/split_message.h"

namespace strata {
namespace {

const std::vector<uint32_t> kBins = {3, 255, 2, 17, 64, 9, 255};

std::vector<FeatureShape> Shapes() {
  std::vector<FeatureShape> shapes;
  for (const uint32_t bins : kBins) shapes.push_back({.bins = bins});
  shapes[3].categorical = true;
  return shapes;
}

TEST(FeatureOwners, EachUsedFeatureBelongsToOneRankAndBinsAreDealtEvenly) {
  const std::vector<uint8_t> used = {1, 1, 0, 1, 1, 1, 1};
  for (const size_t ranks : {1U, 2U, 3U, 5U, 9U}) {
    FeatureOwners owners(ranks);
    owners.Deal(used, kBins);
    std::vector<size_t> all;
    for (size_t r = 0; r < ranks; ++r) {
      size_t bins = 0;
      for (const size_t f : owners.Of(r)) bins += kBins[f];
      EXPECT_LE(bins, 603 / ranks + 255) << r << " of " << ranks;
      all.insert(all.end(), owners.Of(r).begin(), owners.Of(r).end());
    }
    EXPECT_EQ(all, (std::vector<size_t>{0, 1, 3, 4, 5, 6})) << ranks;
  }
}

// Sums of every width, at the ends of what it holds, of a tree without one feature.
TEST(DataParallel, HistogramsOfOwnFeaturesAreThoseOfAllRanks) {
  const BinMatrix bins(1, kBins);
  const std::vector<FeatureShape> shapes = Shapes();
  const std::vector<uint8_t> used = {1, 1, 0, 1, 1, 1, 1};
  struct Case {
    int64_t levels;
    int64_t rows;
  };
  // The widths that hold levels * rows: 16, 16, 32, 32, 64 bits.
  for (const Case& c :
       {Case{1, 32767}, Case{32767, 1}, Case{32767, 65538}, Case{1 << 30, 1}, Case{1 << 30, 4}}) {
    for (const int world : {2, 3, 5}) {
      const auto value = [&](int rank, size_t bin) {
        // Together at most levels * rows, and that much in the first bin.
        const int64_t most = c.levels * c.rows;
        if (bin == 0) return rank == 0 ? most : 0;
        return static_cast<int64_t>(Mix64(bin * 64 + static_cast<uint64_t>(rank)) >> 1) %
               (most / world + 1);
      };
      RunRanks(world, [&](Group& group) {
        const auto exchange =
            MakeExchange(&group, bins, shapes, {.learner = TreeLearner::kData, .levels = c.levels});
        exchange->StartTree(used, {});
        std::vector<GradientSums> histogram(bins.histogram_bins());
        std::vector<GradientSums> other(bins.histogram_bins());
        for (size_t bin = 0; bin < histogram.size(); ++bin) {
          histogram[bin] = {-value(group.rank(), bin), value(group.rank(), bin)};
          other[bin] = {0, group.rank()};
        }
        ASSERT_TRUE(exchange->sums_histograms());
        const SummedLeaf leaves[] = {{c.rows, histogram}, {1, other}};
        exchange->SumHistograms(leaves);
        int64_t own = 0;
        for (size_t f = 0; f < kBins.size(); ++f) {
          if (!exchange->Needs(f)) continue;
          ++own;
          for (size_t b = 0; b < kBins[f]; ++b) {
            const size_t bin = bins.histogram_begin(f) + b;
            int64_t sum = 0;
            for (int r = 0; r < world; ++r) sum += value(r, bin);
            ASSERT_EQ(histogram[bin], (GradientSums{-sum, sum})) << "bin " << bin;
            ASSERT_EQ(other[bin], (GradientSums{0, world * (world - 1) / 2})) << "bin " << bin;
          }
        }
        exchange->Sum(std::span(&own, 1));
        EXPECT_EQ(own, 6);
        EXPECT_TRUE(exchange->status().ok());
      });
    }
  }
}

Split SplitOf(double gain, int32_t feature) {
  Split split;
  split.gain = gain;
  split.feature = feature;
  split.threshold = static_cast<uint32_t>(feature) + 100;
  split.default_left = feature % 2 == 0;
  split.left = {-feature, feature};
  split.right = {int64_t{1} << 40, 7};
  split.left_output = gain / 3;
  split.right_output = -gain;
  split.monotone = static_cast<int8_t>(feature % 3 - 1);
  if (feature == 3) {
    split.categorical = true;
    split.left_bins = {1, 4, 16};
  }
  return split;
}

void ExpectSame(const Split& a, const Split& b) {
  EXPECT_EQ(a.gain, b.gain);
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.default_left, b.default_left);
  EXPECT_EQ(a.categorical, b.categorical);
  EXPECT_EQ(a.left_bins, b.left_bins);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.right, b.right);
  EXPECT_EQ(a.left_output, b.left_output);
  EXPECT_EQ(a.right_output, b.right_output);
  EXPECT_EQ(a.monotone, b.monotone);
}

// The largest gain, of equal ones the smaller feature, whichever rank has it; a categorical one
// with its set; none where no rank has one.
TEST(SplitMessage, TheBestOfAllRanksComesToAllOfThem) {
  const std::vector<FeatureShape> shapes = Shapes();
  RunRanks(3, [&](Group& group) {
    const int rank = group.rank();
    std::vector<Split> splits = {SplitOf(rank == 1 ? 5.5 : 1 + rank, 4 + rank),
                                 SplitOf(2.5, 6 - rank),
                                 SplitOf(rank == 2 ? 9 : 3, rank == 2 ? 3 : rank), Split{}};
    std::vector<Split*> places;
    for (Split& split : splits) places.push_back(&split);
    SplitMessage message(shapes);
    ASSERT_TRUE(message.FindBest(group, places).ok());
    ExpectSame(splits[0], SplitOf(5.5, 5));
    ExpectSame(splits[1], SplitOf(2.5, 4));
    ExpectSame(splits[2], SplitOf(9, 3));
    EXPECT_FALSE(splits[3].exists());
  });
}

TEST(Exchange, ALostRankLeavesNoSplitAndIsSaidByTheStatus) {
  const BinMatrix bins(1, kBins);
  const std::vector<FeatureShape> shapes = Shapes();
  for (const TreeLearner learner :
       {TreeLearner::kData, TreeLearner::kFeature, TreeLearner::kVoting}) {
    RunRanks(3, [&](Group& group) {
      if (group.rank() == 0) return group.Cancel(Failed("rank 0 has enough"));
      const auto exchange = MakeExchange(&group, bins, shapes, {.learner = learner, .levels = 1});
      exchange->StartTree(std::vector<uint8_t>(kBins.size(), 1), {});
      Split split = SplitOf(1, 1);
      Split* const place = &split;
      exchange->FindBest(std::span(&place, 1));
      EXPECT_FALSE(split.exists());
      EXPECT_EQ(exchange->status().code(), StatusCode::kLost);
    });
  }
}

TEST(Exchange, AloneNothingIsExchanged) {
  const BinMatrix bins(1, kBins);
  const std::vector<FeatureShape> shapes = Shapes();
  const auto exchange = MakeExchange(nullptr, bins, shapes, {.learner = TreeLearner::kData});
  for (size_t f = 0; f < kBins.size(); ++f) EXPECT_TRUE(exchange->Needs(f));
  EXPECT_FALSE(exchange->sums_histograms());
  EXPECT_FALSE(exchange->selects_features());
}

}  // namespace
}  // namespace strata
