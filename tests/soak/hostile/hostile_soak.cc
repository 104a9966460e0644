#include "tests/soak/hostile/hostile_soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "base/print.h"
#include "base/resident_memory.h"
#include "ps/client/control_call.h"
#include "tests/soak/hostile/honest_load.h"
#include "tests/soak/hostile/hostile_peer.h"
#include "tests/soak/hostile/raw_line.h"
#include "tests/soak/service_check.h"
#include "tests/soak/soak_servers.h"
#include "tests/soak/table_calls.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr uint32_t kLanes = 2;
constexpr uint64_t kQueueBytes = uint64_t{64} << 20;
constexpr uint64_t kRowBytes = uint64_t{64} << 20;
constexpr size_t kHonestClients = 2;
constexpr TimeNs kPeriod = 3 * kSecond;
constexpr uint64_t kServiceEvery = 2;  // periods
constexpr TimeNs kBetweenActs = 5 * kMillisecond;
constexpr double kSlowdownMax = 3;
constexpr size_t kSamplesMin = 500;  // of a 99th percentile

SoakClusterOptions ClusterOptions(const HostileSoakOptions& options) {
  return {
      .servers = 1,
      .lanes = kLanes,
      .seed = options.seed,
      .settings = fmt::format("queue_memory = \"{}\"\nmemory = \"{}\"\nlog_bytes_max = \"8GiB\"\n"
                              "ttl_steps = 1000\ncold = true\n",
                              kQueueBytes, kRowBytes),
      .http = true,
      .patience = options.patience};
}

// What docs/security.md adds up: for each lane in units of server.queue_memory, and rows.
uint64_t MemoryBound() {
  constexpr double kOfLane = 2 + 1 + 1 + 0.5 + 0.25 + 2;
  constexpr uint64_t kOwn = uint64_t{256} << 20;  // code, allocator, kept blocks, buffers of logs
  const auto lanes = static_cast<uint64_t>(kOfLane * static_cast<double>(kQueueBytes)) * kLanes;
  return kOwn + kRowBytes + lanes;
}

TimeNs Quantile(std::vector<TimeNs> times, double share) {
  if (times.empty()) return 0;
  const auto at =
      times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

class HostileSoak {
 public:
  explicit HostileSoak(const HostileSoakOptions& options)
      : options_(options), servers_(ClusterOptions(options)), service_(&servers_, &longest_) {
    report_.soak = "hostile";
    report_.seeds = 1;
  }

  SoakReport Run() {
    const TimeNs began = RealClock().Now();
    Count(RunAll().Prefixed(fmt::format("cycle {}", report_.cycles)), &report_);
    if (load_ != nullptr) Judge(load_->Finish());
    for (const std::string& example : report_.findings.examples) PrintStderr("{}\n", example);
    report_.elapsed = RealClock().Now() - began;
    return std::move(report_);
  }

 private:
  Status RunAll() {
    STRATA_TRY(servers_.StartServers());
    STRATA_ASSIGN(HostileTarget target, FindTarget());
    http_port_ = target.http_port;
    HostilePeer peer(std::move(target), options_.seed);
    STRATA_TRY(peer.Prepare());
    RemoteStoreOptions client{.servers = servers_.addresses(),
                              .cluster_id = SoakServers::cluster_id(),
                              .client_name = "honest",
                              .request_timeout = options_.patience};
    STRATA_ASSIGN(bulk_, RemoteStore::Connect(client));
    STRATA_TRY(bulk_->CreateTable(BulkTable()));
    STRATA_ASSIGN(load_, HonestLoad::Start(client, kHonestClients));
    while (report_.cycles < options_.cycles) {
      ++report_.cycles;
      const uint64_t bytes = Attack(peer);
      STRATA_TRY(CheckServer());
      STRATA_TRY(SendInBulk(bytes));
      if (report_.cycles % kServiceEvery != 0) continue;
      STRATA_TRY(service_.Run());
      ++report_.checkpoints;
      Progress();
    }
    return {};
  }

  Result<HostileTarget> FindTarget() {
    HostileTarget target;
    target.servers = servers_.addresses();
    target.cluster_id = SoakServers::cluster_id();
    STRATA_ASSIGN(target.map, wire::MakeShardMap(std::vector<uint16_t>{kLanes}));
    STRATA_ASSIGN(const wire::HelloReply hello,
                  CallHello(target.servers[0], target.cluster_id, options_.patience));
    target.lane_ports = hello.lane_ports;
    const std::string line = servers_.server(0).Output();
    std::smatch match;
    if (!std::regex_search(line, match, std::regex(R"(http http://127\.0\.0\.1:(\d+))"))) {
      return Failed("no HTTP port in: " + line);
    }
    target.http_port = static_cast<uint16_t>(std::stoi(match[1]));
    for (const std::string& endpoint : hello.lane_endpoints) {
      if (endpoint.starts_with("shm://")) target.shared.push_back(endpoint.substr(6));
    }
    return target;
  }

  // Acts of one period; the bytes that they sent.
  uint64_t Attack(HostilePeer& peer) {
    load_->SetPeriod(HonestLoad::kHostile);
    const std::vector<std::string_view> names = HostilePeer::Acts();
    const TimeNs end = RealClock().Now() + kPeriod;
    uint64_t bytes = 0;
    while (RealClock().Now() < end) {
      const size_t act = random_.Below(names.size());
      if (!options_.act.empty() && names[act] != options_.act) continue;
      bytes += peer.Run(act);
      WaitUntil([] { return false; }, kBetweenActs);  // peers take no processor of a server
      ++acts_[std::string(names[act])];
    }
    sent_ += bytes;
    return bytes;
  }

  static TableSpec BulkTable() { return SumTable("bulk", 256); }

  // As many bytes as the acts sent, by an honest client as fast as it is served, for no longer than
  // they took.
  Status SendInBulk(uint64_t bytes) {
    load_->SetPeriod(HonestLoad::kBulk);
    constexpr size_t kBulkKeys = 4000;
    std::vector<Key> keys;
    for (Key key = 0; key < kBulkKeys; ++key) keys.push_back(key);
    const std::vector<float> gradients(kBulkKeys * 256, 1.0F);
    const TimeNs end = RealClock().Now() + kPeriod;
    for (uint64_t sent = 0; RealClock().Now() < end; sent += 4 * gradients.size()) {
      if (sent >= bytes) break;
      STRATA_TRY(PushRows(*bulk_, BulkTable(), keys, gradients).Prefixed("the client in bulk"));
    }
    return {};
  }

  Status CheckServer() {
    STRATA_TRY(servers_.CheckServers());
    const uint64_t resident = ResidentBytesOf(servers_.server(0).pid());
    peak_ = std::max(peak_, resident);
    RawLine line(http_port_);
    line.Write("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string ready = line.ReadAll(options_.patience);
    if (ready.starts_with("HTTP/1.1 200")) return {};
    return Failed("/readyz answers: " + ready);
  }

  void Progress() const {
    PrintStderr("{} of {} periods, {} sent, {} resident of at most {}\n", report_.cycles,
                options_.cycles, HumanBytes(sent_), HumanBytes(peak_), HumanBytes(MemoryBound()));
  }

  void Judge(HonestOutcome outcome) {
    report_.operations = report_.acked = outcome.operations;
    report_.findings.wrong += outcome.wrong + outcome.refused;
    report_.findings.examples = std::move(outcome.examples);
    const TimeNs hostile = Quantile(outcome.beside[HonestLoad::kHostile], 0.99);
    const TimeNs bulk = Quantile(outcome.beside[HonestLoad::kBulk], 0.99);
    const double slowdown =
        bulk == 0 ? 0 : static_cast<double>(hostile) / static_cast<double>(bulk);
    const auto milliseconds = [](TimeNs time) { return static_cast<double>(time) / kMillisecond; };
    const bool is_known = std::ranges::all_of(
        outcome.beside, [](const auto& times) { return times.size() >= kSamplesMin; });
    if (is_known && slowdown > kSlowdownMax) {
      Find(fmt::format(
          "99 of 100 honest operations took up to {:.1f} ms beside hostile peers, {:.1f} "
          "ms beside an honest one",
          milliseconds(hostile), milliseconds(bulk)));
    }
    if (peak_ > MemoryBound()) {
      Find(fmt::format("the server had {} resident, expected at most {}", HumanBytes(peak_),
                       HumanBytes(MemoryBound())));
    }
    report_.more =
        fmt::format(R"(, "refused": {}, "acts": {{{}}}, "bytes_sent": {}, "resident_peak": {}, )"
                    R"("resident_bound": {}, "p99_ms_hostile": {:.2f}, "p99_ms_bulk": {:.2f}, )"
                    R"("p99_ratio": {:.2f})",
                    outcome.refused, CountsJson(acts_), sent_, peak_, MemoryBound(),
                    milliseconds(hostile), milliseconds(bulk), slowdown);
  }

  void Find(const std::string& problem) {
    ++report_.findings.wrong;
    report_.findings.examples.push_back(problem);
  }

  const HostileSoakOptions options_;
  SoakServers servers_;
  LongestWait longest_;
  ServiceCheck service_;
  Random random_{options_.seed};
  SoakReport report_;
  std::unique_ptr<RemoteStore> bulk_;
  std::unique_ptr<HonestLoad> load_;
  std::map<std::string, uint64_t> acts_;
  uint16_t http_port_ = 0;
  uint64_t sent_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace

SoakReport RunHostileSoak(const HostileSoakOptions& options) { return HostileSoak(options).Run(); }

}  // namespace strata::soak
