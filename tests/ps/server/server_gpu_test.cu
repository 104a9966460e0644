// Collections of a server with a GPU: their segments are there, answers are those of the CPU, and
// stats and metrics say who gave them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/collections.h"
#include "ps/client/remote_store.h"
#include "ps/service/server.h"
#include "tests/ps/server/raw_peer.h"
#include "tests/storage/itemset/item_set_model.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kCluster = 77;

class ServerWithGpu : public testing::Test {
 protected:
  // Two lanes on GPU 0, which costs a plan nothing.
  void Start(uint64_t gpu_memory_bytes) {
    ServerOptions options;
    options.cluster_id = kCluster;
    options.lanes_per_server = {2};
    options.port = 0;
    options.http_port = 0;
    options.tables.device = {.kind = DeviceKind::kCuda, .ordinal = 0};
    options.tables.gpu_memory_bytes = gpu_memory_bytes;
    options.search_rates.emplace();
    options.search_rates->gpu = {.call_ns = 0, .query_ns = 0, .count = {}, .scan_call_ns = 0};
    options.data = folder_.File("data");
    auto server = Server::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(*server);
    auto store = RemoteStore::Connect({.servers = {"127.0.0.1:" + std::to_string(server_->port())},
                                       .cluster_id = kCluster,
                                       .client_name = "test"});
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
    collections_ = std::make_unique<Collections>(*store_);
  }
  void Stop() {
    collections_.reset();
    store_.reset();
    server_.reset();
  }
  // 10,000: 4,096 of each lane are a segment of level 1.
  void Fill() {
    ASSERT_TRUE(collections_->Create({.name = "c", .attributes = {"price"}}).ok());
    test::RandomSets sets(3, test::Spread::kZipf, 400);
    std::vector<Document> documents;
    for (DocumentId id = 0; id < 10'000; ++id) {
      documents.push_back({id, sets.Draw(1 + id % 12), {static_cast<int64_t>(id % 7)}});
      model_.Upsert(documents.back());
    }
    const Status put = collections_->Upsert("c", documents);
    ASSERT_TRUE(put.ok()) << put.ToString();
  }
  wire::CollectionStatsReply Stats() {
    const auto stats = collections_->Stats("c");
    EXPECT_TRUE(stats.ok()) << stats.status().ToString();
    return stats.value();
  }
  void ExpectPlainAnswers() {
    test::RandomSets sets(4, test::Spread::kZipf, 400);
    std::vector<test::Tokens> queries;
    for (size_t i = 0; i < 20; ++i) queries.push_back(sets.Draw(i));
    ItemFilter cheap;
    cheap.ranges.push_back({0, 0, 2});
    for (const ItemFilter& filter : {ItemFilter(), cheap}) {
      for (const SetMetric metric : {SetMetric::kOverlap, SetMetric::kJaccard}) {
        const SearchGoal goal{.metric = metric, .k = 20};
        const auto found = collections_->Search("c", test::Lists(queries).view(), goal, filter);
        ASSERT_TRUE(found.ok()) << found.status().ToString();
        for (size_t i = 0; i < queries.size(); ++i) {
          ASSERT_EQ((*found)[i], model_.Search(queries[i], goal, filter)) << i;
        }
      }
    }
  }

  TempFolder folder_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<RemoteStore> store_;
  std::unique_ptr<Collections> collections_;
  test::ItemSetModel model_;
};

TEST_F(ServerWithGpu, SearchesItsCollectionsThere) {
  STRATA_SKIP_BELOW_GPUS(1);
  ASSERT_NO_FATAL_FAILURE(Start(uint64_t{64} << 20));
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (int starts = 0; starts < 2; ++starts) {
    ASSERT_TRUE(WaitUntil([&] { return Stats().gpu_segments == 2; }));
    const wire::CollectionStatsReply before = Stats();
    EXPECT_EQ(before.gpu_lacking, 0U);
    EXPECT_GT(before.gpu_bytes, 10'000U);
    ASSERT_NO_FATAL_FAILURE(ExpectPlainAnswers());
    for (DocumentId id = 0; id < 300; ++id) {
      const DocumentId gone = id * 31 + static_cast<DocumentId>(starts);
      if (!model_.Delete(gone)) continue;
      ASSERT_TRUE(collections_->Delete("c", std::vector<DocumentId>{gone}).ok());
    }
    ASSERT_NO_FATAL_FAILURE(ExpectPlainAnswers());
    const wire::CollectionStatsReply stats = Stats();
    EXPECT_GE(stats.gpu_counted + stats.gpu_scanned, 2U * 8 * 20) << "two lanes, eight batches";
    EXPECT_GE(stats.counted + stats.scanned, 2U * 8 * 20) << "tails and small segments";
    const std::string metrics = HttpGet(server_->http_port(), "/metrics");
    EXPECT_THAT(metrics, HasSubstr("strata_collection_gpu_segments{collection=\"c\"} 2\n"));
    EXPECT_THAT(metrics, HasSubstr("strata_collection_gpu_lacking_segments{collection=\"c\"} 0\n"));
    EXPECT_THAT(metrics, HasSubstr("strata_collection_engine_queries_total{collection=\"c\","
                                   "engine=\"gpu_counting\"} " +
                                   std::to_string(stats.gpu_counted) + "\n"));
    Stop();
    ASSERT_NO_FATAL_FAILURE(Start(uint64_t{64} << 20));
  }
}

}  // namespace
}  // namespace strata
