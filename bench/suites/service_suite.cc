// Suite "service": pulls and pushes through a server of ours, beside Redis and RocksDB, under the
// limit of a bare ZeroMQ exchange of the same bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "base/print.h"
#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/harness/workload.h"
#include "bench/peers/service_peer.h"

namespace strata::bench {
namespace {

constexpr uint64_t kRows = 1'000'000;
constexpr size_t kKeysDrawn = size_t{1} << 20;  // used in a circle
constexpr size_t kDepth = 4;                    // batches that a client has under way
// For latencies, of each contender and round: at most so many calls, and about so long at most.
constexpr uint64_t kCallsTimed = 400;
constexpr TimeNs kTimed = kSecond;
constexpr double kMillion = 1e6;

struct Shape {
  Op op;
  size_t batch;
  uint32_t dim;
  Distribution distribution;
  size_t clients;
};

std::string NameOf(const Shape& shape) {
  constexpr std::array<const char*, 3> kOps = {"pull", "push", "mixed"};
  return fmt::format("{} batch={} dim={} {} clients={}", kOps[static_cast<size_t>(shape.op)],
                     shape.batch, shape.dim, DistributionName(shape.distribution), shape.clients);
}

const std::vector<Transport> kTransports = {Transport::kSharedMemory, Transport::kTcp,
                                            Transport::kInproc};

Result<Peers> AsPeers(Result<std::unique_ptr<ServicePeer>> one) {
  if (!one.ok()) return one.status();
  Peers peers;
  peers.push_back(std::move(*one));
  return peers;
}

// Which contender is ours in a line of the report, and which one it stands beside.
struct Comparison {
  size_t ours;
  size_t peer;
  std::string carrier = {};  // of both, where lines of a case differ by it: " tcp"
};

// Ours, its peers and the exchange, started once and filled for one dimension at a time.
class Field {
 public:
  // The first contenders are ours, by kTransports, then the exchange.
  static constexpr size_t kOurs = 0, kLimit = 3;
  using Starter = std::function<Result<Peers>()>;

  Field(std::vector<Starter> starters, std::vector<Comparison> comparisons)
      : starters_(std::move(starters)), comparisons_(std::move(comparisons)) {}

  Status Prepare(uint32_t dim) {
    if (peers_.empty()) STRATA_TRY(Start());
    if (dim == dim_) return {};
    for (const auto& peer : peers_) {
      if (peer != nullptr) STRATA_TRY(peer->Fill(kRows, dim));
    }
    dim_ = dim;
    return {};
  }

  size_t size() const { return peers_.size(); }
  ServicePeer* peer(size_t i) const { return peers_[i].get(); }  // null: not installed
  const std::vector<Comparison>& comparisons() const { return comparisons_; }

 private:
  Status Start() {
    Peers started;
    for (const Starter& start : starters_) {
      auto peers = start();
      if (peers.ok()) {
        std::ranges::move(*peers, std::back_inserter(started));
      } else if (peers.status().code() == StatusCode::kNotFound) {
        PrintStderr("strata-bench: no peer: {}\n", peers.status().message());
        started.push_back(nullptr);
      } else {
        return peers.status();
      }
    }
    peers_ = std::move(started);
    return {};
  }

  const std::vector<Starter> starters_;
  const std::vector<Comparison> comparisons_;
  Peers peers_;
  uint32_t dim_ = 0;
};

// The clients of one contender, each with keys of its own.
class Clients {
 public:
  static Result<Clients> Connect(ServicePeer& peer, const Shape& shape) {
    Clients all(shape);
    for (size_t i = 0; i < shape.clients; ++i) {
      STRATA_ASSIGN(auto client, peer.Connect());
      all.clients_.push_back(std::move(client));
      all.keys_.push_back(DrawKeys(shape.distribution, kRows, KeysFor(shape), i + 1));
    }
    return all;
  }

  // All clients together do `count` batches.
  Status Run(uint64_t count) { return RunAll(count, nullptr); }

  void AskForLog() { logged_ = true; }

  // The same, each client with one batch under way; how long each batch took.
  Result<std::vector<TimeNs>> Latencies(uint64_t count) {
    std::vector<std::vector<TimeNs>> of_clients(clients_.size());
    STRATA_TRY(RunAll(count, &of_clients));
    std::vector<TimeNs> all;
    for (const auto& latencies : of_clients) {
      all.insert(all.end(), latencies.begin(), latencies.end());
    }
    return all;
  }

 private:
  explicit Clients(const Shape& shape)
      : shape_(shape), floats_(DrawFloats(shape.batch * shape.dim, 4)) {}

  static size_t KeysFor(const Shape& shape) {
    return std::max<size_t>(kKeysDrawn / shape.batch, 16) * shape.batch;
  }

  Load LoadOf(size_t i) const {
    return {.op = shape_.op,
            .dim = shape_.dim,
            .batch = shape_.batch,
            .depth = kDepth,
            .keys = keys_[i],
            .floats = floats_,
            .logged = logged_};
  }

  Status RunAll(uint64_t count, std::vector<std::vector<TimeNs>>* latencies) {
    std::vector<Status> statuses(clients_.size());
    {
      const auto run = [&](size_t i) {
        Load load = LoadOf(i);
        if (latencies != nullptr) {
          load.depth = 1;
          load.latencies = &(*latencies)[i];
        }
        const uint64_t share = count / clients_.size() + (i < count % clients_.size() ? 1 : 0);
        statuses[i] = clients_[i]->Run(load, next_, share);
      };
      std::vector<std::jthread> threads;
      for (size_t i = 1; i < clients_.size(); ++i) threads.emplace_back(run, i);
      run(0);
    }
    next_ += count;
    for (const Status& status : statuses) STRATA_TRY(status);
    return {};
  }

  Shape shape_;
  std::vector<float> floats_;
  std::vector<std::unique_ptr<ServiceClient>> clients_;
  std::vector<std::vector<Key>> keys_;
  bool logged_ = false;
  uint64_t next_ = 0;
};

Result<std::vector<std::unique_ptr<Clients>>> ConnectAll(const Field& field, const Shape& shape) {
  std::vector<std::unique_ptr<Clients>> all(field.size());
  for (size_t i = 0; i < field.size(); ++i) {
    if (field.peer(i) == nullptr) continue;
    STRATA_ASSIGN(Clients clients, Clients::Connect(*field.peer(i), shape));
    all[i] = std::make_unique<Clients>(std::move(clients));
  }
  return all;
}

// A figure for each comparison out of one value for each contender.
std::vector<Figure> FiguresOf(const Field& field, const Shape& shape, const std::string& quantile,
                              const std::string& unit, bool more_is_better,
                              const std::vector<double>& values) {
  std::vector<Figure> figures;
  for (const Comparison& comparison : field.comparisons()) {
    const ServicePeer* const peer = field.peer(comparison.peer);
    if (peer == nullptr) continue;
    figures.push_back({.name = NameOf(shape) + comparison.carrier + quantile,
                       .unit = unit,
                       .more_is_better = more_is_better,
                       .ours = values[comparison.ours],
                       .peer = peer->NameOf(shape.op),
                       .peer_value = values[comparison.peer],
                       .limit = values[Field::kLimit]});
  }
  return figures;
}

Result<std::vector<Figure>> RunThroughput(Field& field, const Shape& shape,
                                          const BenchOptions& options) {
  STRATA_TRY(field.Prepare(shape.dim));
  STRATA_ASSIGN(const auto all, ConnectAll(field, shape));
  std::vector<Contender> contenders;
  for (size_t i = 0; i < field.size(); ++i) {
    Contender contender;
    if (all[i] != nullptr) {
      contender.name = field.peer(i)->NameOf(shape.op);
      contender.work = [clients = all[i].get()](uint64_t count) { return clients->Run(count); };
    }
    contenders.push_back(std::move(contender));
  }
  STRATA_ASSIGN(std::vector<double> rates, MeasureRates(contenders, options.rounds, options.round));
  for (double& rate : rates) rate *= static_cast<double>(shape.batch) / kMillion;
  return FiguresOf(field, shape, "", "M rows/s", true, rates);
}

// How many calls to time of clients that are as fast as these.
Result<uint64_t> CallsOf(Clients& clients, const Shape& shape) {
  const auto call = [&](uint64_t count) { return clients.Latencies(count).status(); };
  STRATA_ASSIGN(const uint64_t in_time, CountFor(call, kTimed));
  return std::clamp(in_time, 2 * shape.clients, kCallsTimed);
}

Result<std::vector<Figure>> RunLatency(Field& field, const Shape& shape,
                                       const BenchOptions& options) {
  STRATA_TRY(field.Prepare(shape.dim));
  STRATA_ASSIGN(const auto all, ConnectAll(field, shape));
  std::vector<uint64_t> calls(field.size());
  std::vector<std::vector<double>> p50(field.size());
  std::vector<std::vector<double>> p99(field.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < field.size(); ++i) {
      if (all[i] == nullptr) continue;
      if (round == 0) {
        STRATA_ASSIGN(calls[i], CallsOf(*all[i], shape));
      }
      STRATA_ASSIGN(const auto latencies, all[i]->Latencies(calls[i]));
      std::vector<double> us;
      for (const TimeNs latency : latencies) {
        us.push_back(static_cast<double>(latency) / kMicrosecond);
      }
      p50[i].push_back(Quantile(us, 0.5));
      p99[i].push_back(Quantile(us, 0.99));
    }
  }
  const auto medians = [](const std::vector<std::vector<double>>& of) {
    std::vector<double> values;
    for (const auto& rounds : of) values.push_back(rounds.empty() ? 0 : Median(rounds));
    return values;
  };
  auto figures = FiguresOf(field, shape, " p50", "us", false, medians(p50));
  std::ranges::move(FiguresOf(field, shape, " p99", "us", false, medians(p99)),
                    std::back_inserter(figures));
  return figures;
}

// Pushes acknowledged once the log has them, beside pushes acknowledged once applied.
Result<std::vector<Figure>> RunLogged(Field& field, const Shape& shape,
                                      const BenchOptions& options) {
  STRATA_TRY(field.Prepare(shape.dim));
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_ASSIGN(const auto servers, StartOurs({.name = "strata with a log",
                                               .transports = {Transport::kSharedMemory},
                                               .data = folder.path()}));
  STRATA_TRY(servers[0]->Fill(kRows, shape.dim));
  STRATA_ASSIGN(Clients logged, Clients::Connect(*servers[0], shape));
  STRATA_ASSIGN(Clients applied, Clients::Connect(*field.peer(Field::kOurs), shape));
  logged.AskForLog();
  const std::vector<Contender> contenders = {
      {"logged", [&](uint64_t count) { return logged.Run(count); }},
      {"applied", [&](uint64_t count) { return applied.Run(count); }}};
  STRATA_ASSIGN(const auto rates, MeasureRates(contenders, options.rounds, options.round));
  const double scale = static_cast<double>(shape.batch) / kMillion;
  return std::vector<Figure>{{.name = NameOf(shape) + " logged",
                              .unit = "M rows/s",
                              .ours = rates[0] * scale,
                              .peer = "strata, applied",
                              .peer_value = rates[1] * scale}};
}

// What memory allows of the exchange: the bytes of a pull's rows copied once.
Result<std::vector<Figure>> RunCopy(const BenchOptions& options) {
  constexpr size_t kBytes = size_t{4096} * 16 * sizeof(float);
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  const auto copy = [&](uint64_t count) {
    for (; count > 0; --count) {
      memcpy(to.data(), from.data(), kBytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
    return Status();
  };
  STRATA_ASSIGN(const auto rates, MeasureRates({{"memcpy", copy}}, options.rounds, options.round));
  Figure figure;
  figure.name = "memcpy of the rows of batch=4096 dim=16";
  figure.unit = "M rows/s";
  figure.ours = rates[0] * 4096 / kMillion;
  return std::vector<Figure>{figure};
}

std::vector<Shape> ShortSet() {
  constexpr auto kUniform = Distribution::kUniform;
  return {{Op::kPull, 4096, 16, kUniform, 1},
          {Op::kPush, 4096, 16, kUniform, 1},
          {Op::kMixed, 4096, 16, kUniform, 1},
          {Op::kPull, 4096, 16, Distribution::kZipf, 1},
          {Op::kPush, 4096, 16, Distribution::kZipf, 1},
          {Op::kPull, 65'536, 16, kUniform, 1},
          {Op::kPull, 256, 16, kUniform, 1},
          {Op::kPull, 4096, 16, kUniform, 4},
          {Op::kPush, 4096, 16, kUniform, 4},
          {Op::kPull, 65'536, 16, kUniform, 4},
          {Op::kPush, 65'536, 16, kUniform, 4}};
}

std::vector<Shape> Grid() {
  std::vector<Shape> shapes;
  for (const uint32_t dim : {16U, 1U, 64U}) {  // outermost: each change fills all stores anew
    for (const Op op : {Op::kPull, Op::kPush, Op::kMixed}) {
      for (const auto distribution : {Distribution::kUniform, Distribution::kZipf}) {
        for (const size_t batch : {1U, 64U, 1024U, 4096U, 65'536U}) {
          for (const size_t clients : {1U, 2U, 4U, 8U}) {
            shapes.push_back({op, batch, dim, distribution, clients});
          }
        }
      }
    }
  }
  return shapes;
}

Case ThroughputCase(const std::shared_ptr<Field>& field, const Shape& shape) {
  return {NameOf(shape), [field, shape](const BenchOptions& options) {
            return RunThroughput(*field, shape, options);
          }};
}

Case LatencyCase(const std::shared_ptr<Field>& field, const Shape& shape) {
  return {NameOf(shape) + " latency", [field, shape](const BenchOptions& options) {
            return RunLatency(*field, shape, options);
          }};
}

std::vector<Case> ServiceCases(bool all) {
  // Ours is through shared memory; ours over tcp and within the process are peers of it.
  const std::vector<Comparison> comparisons = {{Field::kOurs, 1},
                                               {Field::kOurs, 2},
                                               {Field::kOurs, 4},
                                               {Field::kOurs, 5},
                                               {Field::kOurs, 6}};
  const auto field = std::make_shared<Field>(
      std::vector<Field::Starter>{[] { return StartOurs({.transports = kTransports}); },
                                  [] { return AsPeers(StartExchange(Exchange::kKept)); },
                                  [] { return AsPeers(StartRedis()); },
                                  [] { return AsPeers(StartRocks()); },
                                  [] { return AsPeers(StartExchange(Exchange::kPlain)); }},
      comparisons);
  constexpr auto kUniform = Distribution::kUniform;
  std::vector<Case> cases = {{"memcpy", RunCopy}};
  for (const Op op : {Op::kPull, Op::kPush}) {
    cases.push_back(LatencyCase(field, {op, 1, 16, kUniform, 1}));
    cases.push_back(LatencyCase(field, {op, 65'536, 16, kUniform, 4}));
  }
  const Shape logged{Op::kPush, 4096, 16, kUniform, 1};
  cases.push_back({NameOf(logged) + " logged", [field, logged](const BenchOptions& options) {
                     return RunLogged(*field, logged, options);
                   }});
  for (const Shape& shape : all ? Grid() : ShortSet()) {
    cases.push_back(ThroughputCase(field, shape));
  }
  return cases;
}

// On GPU `ordinal`, or on all that there are.
std::vector<Case> GpuServiceCases(std::optional<int> ordinal) {
  // Each carrier by itself.
  const std::vector<Comparison> comparisons = {
      {Field::kOurs, 4, " shm"}, {1, 5, " tcp"}, {2, 6, " inproc"}};
  const auto field = std::make_shared<Field>(
      std::vector<Field::Starter>{
          [ordinal] {
            return StartOurs({.name = "4 GPU lanes",
                              .transports = kTransports,
                              .lanes = 4,
                              .device = {.kind = DeviceKind::kCuda, .ordinal = ordinal}});
          },
          [] { return AsPeers(StartExchange(Exchange::kKept)); },
          [] { return StartOurs({.name = "4 CPU lanes", .transports = kTransports, .lanes = 4}); }},
      comparisons);
  constexpr auto kUniform = Distribution::kUniform;
  std::vector<Case> cases;
  for (const Op op : {Op::kPull, Op::kPush, Op::kMixed}) {
    for (const size_t batch : {65'536U, 4096U}) {
      cases.push_back(ThroughputCase(field, {op, batch, 16, kUniform, 4}));
    }
    for (const size_t clients : {4U, 1U}) {
      cases.push_back(LatencyCase(field, {op, 65'536, 16, kUniform, clients}));
    }
  }
  return cases;
}

}  // namespace

Suite GpuServiceSuite(std::optional<int> ordinal) {
  return {"service",
          "pulls and pushes (AdaGrad) over loopback, rows on a GPU beside rows in host memory; 1 M "
          "rows, 4 batches under way a client",
          [ordinal](bool) { return GpuServiceCases(ordinal); }};
}

Suite ServiceSuite() {
  return {"service",
          "pulls and pushes (AdaGrad) through shared memory beside tcp, inproc, Redis and RocksDB; "
          "1 M rows, 4 batches "
          "under way a client",
          ServiceCases};
}

}  // namespace strata::bench
