// Searches through servers: two of them in this process, over tcp, and clients that each ask for
// one query after the other.
#include "bench/suites/search/search_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/suites/search/set_documents.h"
#include "ps/client/collections.h"
#include "ps/client/remote_store.h"
#include "ps/service/server.h"
#include "storage/itemset/item_set.h"
#include "storage/itemset/measure_rates.h"

namespace strata::bench {
namespace {

constexpr const char* kCluster = "bench";
constexpr const char* kName = "documents";
constexpr size_t kBatch = 4096;  // documents of an upsert
constexpr size_t kChecked = 8;   // queries whose answers are compared
constexpr size_t kConnectionsMax = 8;
constexpr size_t kPulledKeys = 64;
constexpr uint32_t kPulledDim = 16;
constexpr Key kRows = 10'000;

struct Service {
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::unique_ptr<RemoteStore>> stores;
  std::vector<std::unique_ptr<Collections>> clients;
};

std::vector<std::string> AddressesOf(const Service& service) {
  std::vector<std::string> addresses;
  for (const auto& server : service.servers) {
    addresses.push_back(fmt::format("127.0.0.1:{}", server->port()));
  }
  return addresses;
}

Status Connect(Service& service) {
  RemoteStoreOptions options{.servers = AddressesOf(service),
                             .cluster_id = Hash64(kCluster),
                             .client_name = "strata-bench",
                             .shared_memory = false};
  STRATA_ASSIGN(auto store, RemoteStore::Connect(options));
  service.stores.push_back(std::move(store));
  service.clients.push_back(std::make_unique<Collections>(*service.stores.back()));
  return {};
}

// Clients share connections, as the threads of a process do.
Result<std::unique_ptr<Service>> StartService(size_t clients) {
  auto service = std::make_unique<Service>();
  for (uint16_t rank = 0; rank < 2; ++rank) {
    ServerOptions options;
    options.cluster_id = Hash64(kCluster);
    options.rank = rank;
    options.lanes_per_server = {1, 1};
    options.port = 0;
    STRATA_ASSIGN(auto server, Server::Start(std::move(options)));
    service->servers.push_back(std::move(server));
  }
  for (const auto& server : service->servers) server->SetServers(AddressesOf(*service));
  const size_t connections = std::min(clients, kConnectionsMax);
  for (size_t i = 0; i < connections; ++i) STRATA_TRY(Connect(*service));
  return service;
}

Status Load(Collections& collections, const std::vector<Document>& documents, uint8_t copies) {
  STRATA_TRY(collections.Create({.name = kName, .attributes = {}, .copies = copies}));
  for (size_t at = 0; at < documents.size(); at += kBatch) {
    const size_t count = std::min(kBatch, documents.size() - at);
    STRATA_TRY(collections.Upsert(kName, std::span(documents).subspan(at, count)));
  }
  return {};
}

// Until every copy has all documents, and the clients know of them.
Status AwaitCopies(Service& service, const SetList& queries, const SearchGoal& goal) {
  SetLists some;
  some.Add(queries[0]);
  for (const auto& client : service.clients) {
    while (true) {
      STRATA_ASSIGN(const wire::CollectionStatsReply stats, client->Stats(kName));
      if (stats.copies_ready < stats.copies) continue;
      STRATA_TRY(client->Search(kName, some.view(), goal).status());
      if (stats.copies == 0 || client->AsksCopies(kName)) break;
    }
  }
  return {};
}

SetLists One(const SetList& queries, size_t i) {
  SetLists one;
  one.Add(queries[i % queries.size()]);
  return one;
}

// One query of each client after the other, for about `time`; all of their latencies.
Result<std::vector<double>> Ask(Service& service, size_t clients, const SetList& queries,
                                const SearchGoal& goal, TimeNs time) {
  const TimeNs end = RealClock().Now() + time;
  std::vector<std::vector<double>> took(clients);
  std::vector<Status> ended(clients);
  {
    std::vector<std::jthread> threads;
    for (size_t client = 0; client < clients; ++client) {
      threads.emplace_back([&, client] {
        for (size_t i = client * 7; RealClock().Now() < end; ++i) {
          const SetLists one = One(queries, i);
          const TimeNs begin = RealClock().Now();
          Collections& of = *service.clients[client % service.clients.size()];
          ended[client] = of.Search(kName, one.view(), goal).status();
          if (!ended[client].ok()) return;
          took[client].push_back(static_cast<double>(RealClock().Now() - begin) / kMillisecond);
        }
      });
    }
  }
  std::vector<double> all;
  for (size_t client = 0; client < clients; ++client) {
    STRATA_TRY(ended[client]);
    all.insert(all.end(), took[client].begin(), took[client].end());
  }
  return all;
}

// Pulls of one client after each other until `stop`; their latencies.
Result<std::vector<double>> Pull(RemoteStore& store, TableId table,
                                 const std::function<bool()>& stop) {
  std::vector<Key> keys(kPulledKeys);
  std::vector<float> rows(kPulledKeys * kPulledDim);
  std::vector<double> took;
  for (Key next = 0; !stop(); next += kPulledKeys) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = (next + i) % kRows;
    TablePart part;
    part.table = table;
    part.keys = keys;
    part.out = rows;
    Operation operation;
    operation.kind = OpKind::kLookup;
    operation.parts = {part};
    const TimeNs begin = RealClock().Now();
    STRATA_TRY(SubmitAndWait(store, std::move(operation)).status);
    took.push_back(static_cast<double>(RealClock().Now() - begin) / kMillisecond);
  }
  return took;
}

// Over all lanes, each of which answers all queries.
struct Answered {
  double queries = 0;
  double batches = 0;
  double ms = 0;
};
Result<Answered> AnsweredByLanes(Collections& collections) {
  STRATA_ASSIGN(const auto by_lane, collections.StatsByLane(kName));
  Answered answered;
  for (const wire::CollectionStatsReply& lane : by_lane) {
    answered.queries += static_cast<double>(lane.queries);
    answered.batches += static_cast<double>(lane.batches);
    answered.ms += static_cast<double>(lane.search_ns) / kMillisecond;
  }
  return answered;
}

Status Check(Collections& collections, const ItemSet& direct, const SetList& queries,
             const SearchGoal& goal) {
  for (size_t i = 0; i < kChecked; ++i) {
    const SetLists one = One(queries, i);
    STRATA_ASSIGN(const auto found, collections.Search(kName, one.view(), goal));
    STRATA_ASSIGN(const auto expected, direct.Search(one.view(), goal, {}));
    if (found != expected) return Internal(fmt::format("query {}: answers differ", i));
  }
  return {};
}

}  // namespace

Result<std::vector<Figure>> RunSearchService(const std::string& name, size_t clients,
                                             const DocumentSource& source, const SearchGoal& goal,
                                             uint8_t copies, const BenchOptions& options) {
  STRATA_ASSIGN(const auto drawn, source());
  const SetList queries = drawn->queries();
  STRATA_ASSIGN(const auto pool, WorkPool::Start("bench", 0));
  STRATA_ASSIGN(const auto direct,
                ItemSet::Make({.spec = {},
                               .means = {.rates = MeasureSearchRates(RealClock()),
                                         .pool = pool.get(),
                                         .clock = &RealClock()}}));
  STRATA_ASSIGN(const auto service, StartService(clients));
  {
    const std::vector<Document> all = drawn->ForCollections();
    STRATA_TRY(Load(*service->clients[0], all, copies));
    for (const Document& document : all) STRATA_TRY(direct->Upsert(document));
  }
  direct->WaitForMerges();
  STRATA_TRY(AwaitCopies(*service, queries, goal));
  STRATA_TRY(Check(*service->clients[0], *direct, queries, goal));

  const TimeNs time = options.round * options.rounds;
  STRATA_TRY(Ask(*service, clients, queries, goal, options.round).status());  // warm
  STRATA_ASSIGN(const Answered before, AnsweredByLanes(*service->clients[0]));
  const TimeNs begin = RealClock().Now();
  STRATA_ASSIGN(const std::vector<double> took, Ask(*service, clients, queries, goal, time));
  const double seconds = static_cast<double>(RealClock().Now() - begin) / kSecond;
  STRATA_ASSIGN(const Answered after, AnsweredByLanes(*service->clients[0]));
  const double batches = after.batches - before.batches;
  size_t next = 0;
  const Work one_by_one = [&](uint64_t count) -> Status {
    for (uint64_t i = 0; i < count; ++i) {
      const SetLists one = One(queries, next++);
      STRATA_TRY(direct->Search(one.view(), goal, {}).status());
    }
    return {};
  };
  STRATA_ASSIGN(const auto rates,
                MeasureRates({{"direct", one_by_one}}, options.rounds, options.round));
  return std::vector<Figure>{{.name = fmt::format("{}", name),
                              .unit = "queries/s",
                              .ours = static_cast<double>(took.size()) / seconds,
                              .peer = "the same collection in the process, one thread",
                              .peer_value = rates[0]},
                             {.name = fmt::format("{} p50", name),
                              .unit = "ms",
                              .more_is_better = false,
                              .ours = Quantile(took, 0.5)},
                             {.name = fmt::format("{} p99", name),
                              .unit = "ms",
                              .more_is_better = false,
                              .ours = Quantile(took, 0.99)},
                             {.name = fmt::format("{} a lane's batch", name),
                              .unit = "queries",
                              .ours = (after.queries - before.queries) / batches},
                             {.name = fmt::format("{} a lane's batch takes", name),
                              .unit = "ms",
                              .more_is_better = false,
                              .ours = (after.ms - before.ms) / batches}};
}

Result<std::vector<Figure>> RunPullsBesideSearches(const std::string& name, size_t clients,
                                                   const DocumentSource& source,
                                                   const SearchGoal& goal,
                                                   const BenchOptions& options) {
  STRATA_ASSIGN(const auto drawn, source());
  STRATA_ASSIGN(const auto service, StartService(clients));
  STRATA_TRY(Connect(*service));  // of the pulls
  STRATA_TRY(Load(*service->clients[0], drawn->ForCollections(), 1));
  RemoteStore& store = *service->stores.back();
  TableSpec spec;
  spec.name = "rows";
  spec.dim = kPulledDim;
  STRATA_TRY(store.CreateTable(spec));
  const TimeNs time = options.round * options.rounds;
  const TimeNs end = RealClock().Now() + time;
  STRATA_ASSIGN(const auto alone, Pull(store, spec.id(), [&] { return RealClock().Now() >= end; }));
  std::atomic<bool> is_over{false};
  Result<std::vector<double>> searches = Internal("not asked");
  Result<std::vector<double>> beside = Internal("not asked");
  {
    const std::jthread searching([&] {
      searches = Ask(*service, clients, drawn->queries(), goal, time);
      is_over = true;
    });
    beside = Pull(store, spec.id(), [&] { return is_over.load(); });
  }
  STRATA_TRY(searches.status());
  STRATA_TRY(beside.status());
  std::vector<Figure> figures;
  for (const auto& [text, quantile] : {std::pair{"p50", 0.5}, std::pair{"p99", 0.99}}) {
    figures.push_back({.name = fmt::format("{} {}", name, text),
                       .unit = "ms",
                       .more_is_better = false,
                       .ours = Quantile(*beside, quantile),
                       .peer = "nobody searches",
                       .peer_value = Quantile(alone, quantile)});
  }
  return figures;
}

}  // namespace strata::bench
