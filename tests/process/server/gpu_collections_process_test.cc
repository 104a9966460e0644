// A server whose GPU, which is emulated, has no memory for its collections, or fails: answers stay
// right, or the process ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "ps/client/collections.h"
#include "ps/client/remote_store.h"
#include "tests/process/server/daemon.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// `fails`: STRATA_SIMT_FAIL.
std::unique_ptr<Daemon> StartDaemon(const std::string& fails) {
  return std::make_unique<Daemon>(
      std::vector<std::string>{"--port=0", "--device=cuda", "--gpu_memory=32MiB"},
      std::map<std::string, std::string>{{"STRATA_SIMT_GPUS", "1"}, {"STRATA_SIMT_FAIL", fails}});
}

Result<std::unique_ptr<RemoteStore>> Connect(const Daemon& daemon) {
  return RemoteStore::Connect(
      {.servers = {daemon.address()}, .cluster_id = kCluster, .client_name = "test"});
}

TEST(GpuCollections, WhatFindsNoMemoryIsSearchedOnTheCpu) {
  const auto daemon = StartDaemon("cudaMalloc:0:1000000000");
  const auto store = Connect(*daemon);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  Collections collections(**store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  std::vector<Document> documents;
  for (DocumentId id = 0; id < 5'000; ++id) documents.push_back({id, {static_cast<Token>(id)}, {}});
  ASSERT_TRUE(collections.Upsert("c", documents).ok());
  ASSERT_TRUE(WaitUntil([&] { return collections.Stats("c")->gpu_lacking == 1; }));
  SetLists queries;
  queries.Add(std::vector<Token>{4'000});
  const auto found = collections.Search("c", queries.view(), {.k = 1});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ((*found)[0], (std::vector<Hit>{{4'000, 1, 1}}));
  EXPECT_EQ(collections.Stats("c")->gpu_segments, 0U);
  daemon->ExpectOrderlyEnd();
  const std::string log = daemon->process().Errors();
  EXPECT_THAT(log, ContainsRegex("GPU 0: up to .* for collections of item sets: .* for segments"));
  const size_t first = log.find("GPU 0 has no memory for a collection");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("has no memory for a collection", first + 10), std::string::npos) << log;
}

TEST(GpuCollections, AGpuThatFailsEndsTheServer) {
  const auto daemon = StartDaemon("cudaStreamSynchronize:0:1000000000");
  const auto store = Connect(*daemon);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  // Whose first collection has the machine measured.
  (void)Collections(**store).Create({.name = "c", .attributes = {}});
  EXPECT_EQ(daemon->process().Wait(), ProcessEnd{70}) << daemon->process().Errors();
  EXPECT_THAT(daemon->process().Errors(), ContainsRegex("error .*: GPU 0 failed: .*CUDA"));
  EXPECT_THAT(daemon->process().Errors(), testing::Not(HasSubstr("bug")));
}

}  // namespace
}  // namespace strata
