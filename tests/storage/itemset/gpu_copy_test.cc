// Which segments come to a GPU, what happens where there is no memory, and what is said of it.
#include "storage/itemset/gpu_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "storage/itemset/item_set.h"
#include "tests/storage/itemset/fake_gpu.h"
#include "tests/storage/itemset/item_set_model.h"

namespace strata {
namespace {

using test::FakeItemGpu;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(GroupsToRenew, AreThoseNoLargerThanWhatHasComeAndThoseThatAreThin) {
  EXPECT_THAT(GroupsToRenew({}, 100), IsEmpty());
  const std::vector<GroupSize> groups = {{1'000, 0}, {90, 0}, {10, 0}, {200, 0}};
  EXPECT_THAT(GroupsToRenew(groups, 0), IsEmpty());
  EXPECT_THAT(GroupsToRenew(groups, 9), IsEmpty());
  EXPECT_THAT(GroupsToRenew(groups, 10), ElementsAre(2));
  EXPECT_THAT(GroupsToRenew(groups, 80), ElementsAre(1, 2));
  EXPECT_THAT(GroupsToRenew(groups, 100), ElementsAre(1, 2, 3));
  EXPECT_THAT(GroupsToRenew(groups, 700), ElementsAre(0, 1, 2, 3));
  // A quarter may be gone.
  const std::vector<GroupSize> thin = {{100, 25}, {100, 26}, {50, 50}};
  EXPECT_THAT(GroupsToRenew(thin, 0), ElementsAre(1, 2));
  EXPECT_THAT(GroupsToRenew(std::span(thin).first(1), 100), ElementsAre(0));
}

// Groups double in size, so that documents that come one by one are copied some times each.
TEST(GroupsToRenew, KeepsGroupsFew) {
  std::vector<GroupSize> groups;
  size_t copied = 0;
  for (int i = 0; i < 1'024; ++i) {
    size_t size = 1;
    const std::vector<size_t> renewed = GroupsToRenew(groups, 1);
    for (auto at = renewed.rbegin(); at != renewed.rend(); ++at) {
      size += groups[*at].documents;
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(*at));
    }
    groups.push_back({size, 0});
    copied += size;
    ASSERT_LE(groups.size(), 11U);
  }
  EXPECT_LE(copied, 1'024U * 11);
}

class GpuCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pool = WorkPool::Start("search", 1);
    ASSERT_TRUE(pool.ok());
    pool_ = std::move(*pool);
  }
  // Whose GPU costs nothing.
  std::unique_ptr<ItemSet> Make(ItemGpu& gpu) {
    ItemSetOptions options;
    options.tail = 4;
    options.means.pool = pool_.get();
    options.means.threads = 2;
    options.means.clock = &RealClock();
    options.means.items = &gpu;
    options.means.rates.gpu = {.call_ns = 0, .query_ns = 0, .count = {}, .scan_call_ns = 0};
    options.means.rates.gpu.load_call_ns = 1e12;  // nothing passes through
    auto made = ItemSet::Make(options);
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }
  static void Put(ItemSet& set, DocumentId begin, DocumentId end) {
    for (DocumentId id = begin; id < end; ++id) {
      ASSERT_TRUE(set.Upsert({id, {static_cast<Token>(id % 50), 60, 61}, {}}).ok());
    }
    set.WaitForGpu();
  }
  // The best of documents 0 to end - 1.
  static void ExpectFound(const ItemSet& set, DocumentId end,
                          std::vector<SearchReport>* reports = nullptr) {
    test::ItemSetModel model;
    for (DocumentId id = 0; id < end; ++id) {
      model.Upsert({id, {static_cast<Token>(id % 50), 60, 61}, {}});
    }
    const std::vector<test::Tokens> queries = {{7, 60, 61}, {49}, {}};
    const SearchGoal goal{.metric = SetMetric::kJaccard, .k = 3};
    const auto found = set.Search(test::Lists(queries).view(), goal, {}, reports);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    for (size_t i = 0; i < queries.size(); ++i) {
      EXPECT_EQ((*found)[i], model.Search(queries[i], goal, {})) << i;
    }
  }
  test::FakeGpuState state_;
  std::unique_ptr<WorkPool> pool_;
};

TEST_F(GpuCopyTest, SegmentsBeyondTheSmallestAreThereAndGoWithTheirCollection) {
  const auto gpu = FakeItemGpu(state_);
  {
    const auto set = Make(*gpu);
    Put(*set, 0, 1'001);  // 64 documents are a segment of level 1, 1,024 of level 2
    const ItemSetStats stats = set->Stats();
    EXPECT_EQ(stats.on_gpu.segments, 1'000U / 64);
    EXPECT_EQ(stats.on_gpu.lacking, 0U);
    EXPECT_EQ(stats.on_gpu.bytes, gpu->segments_bytes());
    EXPECT_GE(stats.on_gpu.bytes, state_.bytes.load() / 4);
    std::vector<SearchReport> reports;
    ExpectFound(*set, 1'001, &reports);
    EXPECT_EQ(reports.size(), stats.on_gpu.groups + 1);
    EXPECT_THAT(Explain(reports.back()), HasSubstr("counting"));
    EXPECT_EQ(state_.searches, stats.on_gpu.groups);
    EXPECT_EQ(set->Stats().queries_by.at(2) + set->Stats().queries_by.at(3), 3U);
    // Of merged segments' groups nothing is left.
    Put(*set, 1'001, 1'025);
    EXPECT_EQ(set->Stats().on_gpu.segments, 1U);
    EXPECT_EQ(set->Stats().on_gpu.groups, 1U);
    ExpectFound(*set, 1'025);
    // Nor of those whose documents are all gone.
    for (DocumentId id = 0; id < 1'025; ++id) ASSERT_TRUE(set->Delete(id));
    set->WaitForGpu();
    EXPECT_EQ(set->Stats().on_gpu.groups, 0U);
    EXPECT_EQ(gpu->segments_bytes(), 0U);
    Put(*set, 0, 65);
  }
  EXPECT_EQ(gpu->segments_bytes(), 0U);
  EXPECT_EQ(state_.bytes, 0U);
}

TEST_F(GpuCopyTest, WhereThereIsNoMemorySegmentsStayWithTheCpu) {
  const auto gpu = FakeItemGpu(state_);
  state_.has_no_memory = true;
  const auto set = Make(*gpu);
  Put(*set, 0, 257);
  EXPECT_EQ(set->Stats().on_gpu.segments, 0U);
  EXPECT_EQ(set->Stats().on_gpu.lacking, 4U);
  EXPECT_GT(gpu->refusals(), 0U);
  EXPECT_EQ(gpu->segments_bytes(), 0U);
  ExpectFound(*set, 257);
  EXPECT_EQ(state_.searches, 0U);
  // They come with the next change of segments.
  state_.has_no_memory = false;
  Put(*set, 257, 321);
  EXPECT_EQ(set->Stats().on_gpu.segments, 5U);
  ExpectFound(*set, 321);
  EXPECT_GT(state_.searches, 0U);
}

TEST_F(GpuCopyTest, ASearchThatFindsNoMemoryIsTheCpus) {
  const auto gpu = FakeItemGpu(state_);
  const auto set = Make(*gpu);
  Put(*set, 0, 257);
  state_.refuses_searches = true;
  std::vector<SearchReport> reports;
  ExpectFound(*set, 257, &reports);
  EXPECT_THAT(Explain(reports.front()),
              HasSubstr("not on the GPU, as planned: answers: CUDA: out of memory\n"));
  const ItemSetStats stats = set->Stats();
  EXPECT_EQ(stats.queries_by.at(2) + stats.queries_by.at(3), 0U);
  EXPECT_GE(stats.queries_by.at(0) + stats.queries_by.at(1), 3U);
  EXPECT_GT(gpu->refusals(), 0U);
}

// A group of 64 documents takes some 3 MiB on its way, and little when it is there.
TEST_F(GpuCopyTest, MemoryThatIsGivenBackIsForThoseThatLackedIt) {
  const auto gpu = FakeItemGpu(state_, 4 * kMiB + 300'000, 0);
  auto first = Make(*gpu);
  const auto second = Make(*gpu);
  for (DocumentId end = 64; first->Stats().on_gpu.lacking == 0; end += 64) {
    ASSERT_LT(end, 100'000U);
    Put(*first, end - 64, end);
  }
  Put(*second, 0, 65);
  EXPECT_EQ(second->Stats().on_gpu.lacking, 1U);
  ExpectFound(*second, 65);
  EXPECT_LE(gpu->segments_bytes(), gpu->options().segments_bytes_max);
  first.reset();
  second->WaitForGpu();
  EXPECT_EQ(second->Stats().on_gpu.segments, 1U);
}

TEST(ItemGpuOptions, AreDividedAmongSegmentsAndWhatPasses) {
  const auto least = ItemGpuOptions::Divide(2, ItemGpuOptions::kBytesMin);
  EXPECT_EQ(least.device, 2);
  EXPECT_EQ(least.passing_bytes_max, 96 * kMiB);
  EXPECT_EQ(least.segments_bytes_max, 160 * kMiB);
  const auto large = ItemGpuOptions::Divide(0, uint64_t{40} << 30);
  EXPECT_EQ(large.passing_bytes_max, 1024 * kMiB);
  EXPECT_EQ(large.segments_bytes_max + large.passing_bytes_max + GpuSearchRoom::kBytes,
            uint64_t{40} << 30);
}

}  // namespace
}  // namespace strata
