// Collections of a cluster beside a plain reference: a map of documents that is searched one by
// one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ps/client/collections.h"
#include "tests/ps/client/cluster_fixture.h"
#include "tests/support/sanitizers.h"

namespace strata {

using Sets = std::map<DocumentId, std::set<Token>>;

inline double Score(SetMetric metric, size_t c, size_t q, size_t d) {
  return ScoreOf(metric, Similarity(metric, static_cast<uint32_t>(c), static_cast<uint32_t>(q),
                                    static_cast<uint32_t>(d)));
}

inline std::vector<Hit> Reference(const Sets& sets, const std::set<Token>& query,
                                  const SearchGoal& goal) {
  std::vector<Hit> all;
  for (const auto& [id, tokens] : sets) {
    uint32_t overlap = 0;
    for (const Token token : query) overlap += tokens.contains(token) ? 1 : 0;
    all.push_back({id, overlap, static_cast<uint32_t>(tokens.size())});
  }
  const auto score = [&](const Hit& hit) {
    return Score(goal.metric, hit.overlap, query.size(), hit.length);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Hit& a, const Hit& b) { return score(a) > score(b); });
  std::erase_if(all, [&](const Hit& hit) {
    return score(hit) < ScoreOf(goal.metric, goal.at_least) - 1e-12;
  });
  if (all.size() > goal.k) all.resize(goal.k);
  return all;
}

inline std::set<Token> SomeTokens(std::mt19937_64& random) {
  std::set<Token> tokens;
  const size_t count = 1 + random() % 12;
  while (tokens.size() < count) tokens.insert(static_cast<Token>(random() % 60));
  return tokens;
}

inline std::vector<Document> DocumentsOf(const Sets& sets) {
  std::vector<Document> documents;
  for (const auto& [id, tokens] : sets) {
    documents.push_back({.id = id, .tokens = {tokens.begin(), tokens.end()}, .attributes = {}});
  }
  return documents;
}

inline void ExpectAsReference(Collections& collections, const Sets& sets, std::mt19937_64& random) {
  std::vector<std::set<Token>> queries;
  SetLists lists;
  for (int i = 0; i < 40; ++i) {
    queries.push_back(SomeTokens(random));
    lists.Add(std::vector<Token>(queries.back().begin(), queries.back().end()));
  }
  for (int metric = 0; metric < kSetMetrics; ++metric) {
    for (const size_t k : {size_t{1}, size_t{10}, size_t{1000}, SearchGoal::kAll}) {
      SearchGoal goal{.metric = static_cast<SetMetric>(metric), .k = k};
      if (k == SearchGoal::kAll) goal.at_least = Similarity(goal.metric, 3, 6, 6);
      const auto found = collections.Search("c", lists.view(), goal);
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      ASSERT_EQ(found->size(), queries.size());
      for (size_t i = 0; i < queries.size(); ++i) {
        ASSERT_EQ((*found)[i], Reference(sets, queries[i], goal))
            << "query " << i << " " << NameOf(goal.metric) << " k " << k;
      }
    }
  }
}

// Two servers, with a data folder each, that end and come back where they were.
class DurableServers {
 public:
  explicit DurableServers(uint16_t lanes, bool with_data = true)
      : lanes_(lanes), with_data_(with_data) {
    Start();
  }

  void Start() {
    for (uint16_t rank = 0; rank < 2; ++rank) {
      if (servers_[rank] != nullptr) continue;
      ServerOptions options;
      options.cluster_id = kTestCluster;
      options.rank = rank;
      options.lanes_per_server = {lanes_, lanes_};
      options.port = ports_[rank];
      options.shared_memory = false;
      if (kSanitized) options.search_rates.emplace();  // measuring them takes many seconds there
      if (with_data_) options.data = folder_.File(fmt::format("data-{}", rank));
      auto server = Server::Start(options);
      ASSERT_TRUE(server.ok()) << server.status().ToString();
      ports_[rank] = (*server)->port();
      servers_[rank] = std::move(*server);
    }
    std::vector<std::string> addresses;
    for (const uint16_t port : ports_) addresses.push_back(HostPort("127.0.0.1", port));
    for (const auto& server : servers_) server->SetServers(addresses);
  }
  void Stop(uint16_t rank) { servers_[rank].reset(); }
  void Restart() {
    for (auto& server : servers_) server.reset();
    Start();
  }
  std::unique_ptr<RemoteStore> Connect() const {
    RemoteStoreOptions options;
    options.cluster_id = kTestCluster;
    options.client_name = "test";
    for (const uint16_t port : ports_) options.servers.push_back(HostPort("127.0.0.1", port));
    auto store = RemoteStore::Connect(options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? std::move(*store) : nullptr;
  }
  std::string File(const std::string& name) const { return folder_.File(name); }

 private:
  const uint16_t lanes_;
  const bool with_data_;
  TempFolder folder_;
  std::array<uint16_t, 2> ports_ = {};
  std::array<std::unique_ptr<Server>, 2> servers_;
};

// Four threads put documents in, half of which they delete again, `each` of them; each thread sees
// its own changes as soon as they have returned, while others change and search.
inline void ExpectOwnChangesAreSeen(Collections& collections, DocumentId each) {
  std::vector<std::jthread> threads;
  for (Token thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&collections, each, thread] {
      SetLists query;
      query.Add(std::vector<Token>{thread, 100 + thread});
      const SearchGoal goal{
          .metric = SetMetric::kOverlap, .k = SearchGoal::kAll, .at_least = {2, 1}};
      for (DocumentId i = 0; i < each; ++i) {
        const DocumentId id = i * 4 + thread;
        const std::vector<Document> one = {
            {.id = id, .tokens = {thread, 100 + thread}, .attributes = {}}};
        ASSERT_TRUE(collections.Upsert("c", one).ok());
        const auto found = collections.Search("c", query.view(), goal);
        ASSERT_TRUE(found.ok()) << found.status().ToString();
        ASSERT_EQ((*found)[0].size(), i / 2 + 1 + i % 2);
        ASSERT_EQ((*found)[0].back().id, id);
        if (i % 2 == 0) continue;
        ASSERT_TRUE(collections.Delete("c", std::vector{id}).ok());
        const auto later = collections.Search("c", query.view(), goal);
        ASSERT_TRUE(later.ok()) << later.status().ToString();
        ASSERT_EQ((*later)[0].size(), i / 2 + 1);
      }
    });
  }
}

}  // namespace strata
