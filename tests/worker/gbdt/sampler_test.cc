#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "tests/worker/gbdt/tree_data.h"
#include "worker/gbdt/sampler/row_cut.h"
#include "worker/gbdt/sampler/row_sampler.h"

namespace strata {
namespace {

std::unique_ptr<WorkPool> Pool(int others) {
  Result<std::unique_ptr<WorkPool>> pool = WorkPool::Start("test", others);
  STRATA_CHECK(pool.ok());
  return std::move(*pool);
}

class SamplerTest : public testing::Test {
 protected:
  static constexpr size_t kRows = 3000;

  SamplerTest()
      : data_(MakeTreeData(
            1, kRows, 2, [](const auto& x) { return x[0] > 0.3 ? 1.0 : 0.0; }, *pool_)) {
    Random random(2);
    for (size_t i = 0; i < kRows; ++i) {
      gradients_.push_back(static_cast<float>(random.Uniform() - 0.5));
      hessians_.push_back(static_cast<float>(random.Uniform()));
    }
  }

  struct Sample {
    std::vector<uint32_t> rows;
    std::vector<float> gradients;
    std::vector<float> hessians;
  };

  Result<Sample> Draw(const std::string& conf, uint64_t round, WorkPool& pool) {
    Sample sample{
        .rows = std::vector<uint32_t>(kRows), .gradients = gradients_, .hessians = hessians_};
    std::iota(sample.rows.begin(), sample.rows.end(), 0U);
    STRATA_ASSIGN(const std::unique_ptr<RowSampler> sampler,
                  MakeRowSampler(ParametersOf(conf).boosting, *data_.data));
    sampler->Sample(round, pool, sample.gradients, sample.hessians, &sample.rows);
    return sample;
  }

  std::unique_ptr<WorkPool> pool_ = Pool(1);
  TreeData data_;
  std::vector<float> gradients_;
  std::vector<float> hessians_;
};

TEST(RowCutTest, IsTheKthLargestKey) {
  Random random(3);
  const auto pool = Pool(2);
  for (const uint64_t range : {uint64_t{5}, uint64_t{1} << 20, ~uint64_t{0}}) {
    std::vector<uint64_t> keys(70000);
    for (uint64_t& key : keys) key = random.Below(range) * (range == 5 ? uint64_t{1} << 61 : 1);
    std::vector<uint64_t> sorted = keys;
    std::ranges::sort(sorted, std::greater());
    for (const size_t k : {size_t{1}, size_t{2}, size_t{777}, keys.size()}) {
      const KeyCut cut = FindCut(keys.size(), static_cast<int64_t>(k), RowShare(), *pool,
                                 [&](size_t row, uint64_t* key) {
                                   *key = keys[row];
                                   return true;
                                 });
      EXPECT_EQ(cut.key, sorted[k - 1]) << range << " " << k;
      const auto above = std::ranges::count_if(keys, [&](uint64_t x) { return x > cut.key; });
      EXPECT_EQ(cut.needed, static_cast<int64_t>(k) - above);
      EXPECT_EQ(cut.rows, std::ranges::count(keys, cut.key));
    }
  }
}

TEST_F(SamplerTest, BaggingTakesAboutItsShareAndKeepsItAsLongAsItSays) {
  const std::string conf = "bagging_fraction = 0.4\nbagging_freq = 3\n";
  const auto third = Draw(conf, 3, *pool_);
  ASSERT_TRUE(third.ok());
  EXPECT_NEAR(static_cast<double>(third->rows.size()), 0.4 * kRows, 4 * std::sqrt(0.24 * kRows));
  EXPECT_TRUE(std::ranges::is_sorted(third->rows));
  // A sampler that has seen no round before draws the same: training may go on from a model.
  EXPECT_EQ(Draw(conf, 5, *pool_)->rows, third->rows);
  EXPECT_NE(Draw(conf, 6, *pool_)->rows, third->rows);
  EXPECT_NE(Draw(conf + "bagging_seed = 9\n", 3, *pool_)->rows, third->rows);
  EXPECT_EQ(third->gradients, gradients_);
}

TEST_F(SamplerTest, BothClassesHaveSharesOfTheirOwn) {
  const auto sample = Draw(
      "objective = binary\nbagging_freq = 1\npos_bagging_fraction = 0.9\n"
      "neg_bagging_fraction = 0.2\n",
      1, *pool_);
  ASSERT_TRUE(sample.ok());
  double taken[2] = {0, 0};
  double all[2] = {0, 0};
  for (const float label : data_.data->labels) ++all[label > 0 ? 1 : 0];
  for (const uint32_t row : sample->rows) ++taken[data_.data->labels[row] > 0 ? 1 : 0];
  EXPECT_NEAR(taken[1] / all[1], 0.9, 0.05);
  EXPECT_NEAR(taken[0] / all[0], 0.2, 0.05);
}

TEST_F(SamplerTest, QueriesAreDrawnWhole) {
  const std::string conf = "bagging_freq = 1\nbagging_fraction = 0.5\nbagging_by_query = true\n";
  const auto without = Draw(conf, 0, *pool_);
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.status().message().find("bagging_by_query needs data with queries"),
            std::string::npos);
  for (size_t begin = 0; begin <= kRows; begin += 10) data_.data->query_begins.push_back(begin);
  const auto sample = Draw(conf, 0, *pool_);
  ASSERT_TRUE(sample.ok());
  EXPECT_NEAR(static_cast<double>(sample->rows.size()), 0.5 * kRows, 0.15 * kRows);
  ASSERT_EQ(sample->rows.size() % 10, 0U);
  for (size_t i = 0; i < sample->rows.size(); ++i) {
    EXPECT_EQ(sample->rows[i], sample->rows[i / 10 * 10] + i % 10);
    EXPECT_EQ(sample->rows[i / 10 * 10] % 10, 0U);
  }
}

// Against a plain sort: the largest are all there as they are, and exactly so many others stand for
// the rest, so that all rows are accounted for.
TEST_F(SamplerTest, GossKeepsTheLargestAndWeighsTheOthers) {
  const std::string conf = "data_sample_strategy = goss\ntop_rate = 0.2\nother_rate = 0.1\n";
  const auto sample = Draw(conf, 10, *pool_);
  ASSERT_TRUE(sample.ok());
  const size_t top = kRows / 5;
  const size_t other = kRows / 10;
  ASSERT_EQ(sample->rows.size(), top + other);
  std::vector<uint32_t> order(kRows);
  std::iota(order.begin(), order.end(), 0U);
  const auto size_of = [&](uint32_t row) {
    return std::fabs(static_cast<double>(gradients_[row]) * hessians_[row]);
  };
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return size_of(a) > size_of(b); });
  const std::set<uint32_t> chosen(sample->rows.begin(), sample->rows.end());
  double weight = 0;
  for (size_t place = 0; place < kRows; ++place) {
    const uint32_t row = order[place];
    if (place < top) {
      EXPECT_TRUE(chosen.contains(row)) << place;
    }
    if (!chosen.contains(row)) continue;
    const float factor = place < top ? 1 : 8;  // (3000 - 600) / 300
    EXPECT_EQ(sample->gradients[row], gradients_[row] * factor);
    EXPECT_EQ(sample->hessians[row], hessians_[row] * factor);
    weight += factor;
  }
  EXPECT_EQ(weight, kRows);
  const auto other_round = Draw(conf, 11, *pool_);
  EXPECT_NE(other_round->rows, sample->rows);
  // In the first 1 / learning_rate rounds, all.
  EXPECT_EQ(Draw(conf, 9, *pool_)->rows.size(), kRows);
}

TEST_F(SamplerTest, GossBreaksTiesWithoutFavour) {
  std::ranges::fill(gradients_, 0.25F);
  std::ranges::fill(hessians_, 1.0F);
  const auto sample = Draw("data_sample_strategy = goss\n", 20, *pool_);
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->rows.size(), kRows * 3 / 10);
  const auto halves = std::ranges::count_if(sample->rows, [](uint32_t r) { return r < kRows / 2; });
  EXPECT_NEAR(static_cast<double>(halves), 0.15 * kRows, 0.03 * kRows);
}

TEST_F(SamplerTest, ThreadsDoNotMatter) {
  const auto many = Pool(3);
  for (const char* conf :
       {"data_sample_strategy = goss\n", "bagging_fraction = 0.3\nbagging_freq = 1\n"}) {
    const auto a = Draw(conf, 12, *pool_);
    const auto b = Draw(conf, 12, *many);
    EXPECT_EQ(a->rows, b->rows);
    EXPECT_EQ(a->gradients, b->gradients);
  }
}

}  // namespace
}  // namespace strata
