// Suite "checkpoint": what durability costs when it is not a push. A server of ours in this
// process, with one lane, writes and restores checkpoints, and replays its log, beside what the
// disk and the table can do at most; and pulls go on while checkpoints are taken.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/disk_limit.h"
#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/harness/workload.h"
#include "bench/peers/own_server.h"
#include "bench/peers/service_peer.h"
#include "bench/suites/paced_pulls.h"
#include "ps/client/remote_checkpointer.h"
#include "storage/memory/host_table.h"

namespace strata::bench {
namespace {

constexpr uint32_t kDim = 16;
constexpr size_t kBatch = 4096;
constexpr double kMega = 1e6;
constexpr double kLoadOfPeak = 0.3;
constexpr uint64_t kRowsForMemory = 5'000'000;  // 1 GB

double Seconds(TimeNs time) { return static_cast<double>(time) / kSecond; }

TableSpec Spec(uint32_t dim) {
  TableSpec spec;
  spec.name = "bench";
  spec.dim = dim;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  return spec;
}

// A server with log and checkpoints, and a table of `rows` rows.
class Served {
 public:
  static Result<std::unique_ptr<Served>> Start(uint64_t rows) {
    STRATA_ASSIGN(ScratchFolder folder, ScratchFolder::Make());
    std::unique_ptr<Served> served(new Served(std::move(folder)));
    ServerOptions options;
    options.data = served->folder() + "/data";
    options.checkpoints = served->checkpoints();
    options.checkpoints_kept = 1;
    STRATA_ASSIGN(served->server_, StartServer(std::move(options)));
    STRATA_ASSIGN(served->store_, ConnectTo(*served->server_));
    STRATA_TRY(served->store_->CreateTable(Spec(kDim)));
    STRATA_TRY(FillRows(rows, kDim, [&](std::span<const Key> keys, std::span<const float> values) {
      Operation operation;
      operation.kind = OpKind::kAssign;
      operation.parts.push_back({.table = Spec(kDim).id(), .keys = keys, .in = values});
      return SubmitAndWait(*served->store_, std::move(operation)).status;
    }));
    return served;
  }

  const std::string& folder() const { return folder_.path(); }
  std::string checkpoints() const { return folder() + "/checkpoints"; }
  RemoteStore& store() { return *store_; }
  Result<std::unique_ptr<RemoteStore>> Connect() { return ConnectTo(*server_); }

 private:
  explicit Served(ScratchFolder folder) : folder_(std::move(folder)) {}
  ScratchFolder folder_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<RemoteStore> store_;
};

struct Taken {
  CheckpointInfo info;
  TimeNs time = 0;
};

Result<Taken> TakeCheckpoint(RemoteStore& store) {
  RemoteCheckpointer checkpointer(store);
  const TimeNs begin = RealClock().Now();
  STRATA_ASSIGN(const uint32_t number, checkpointer.Cut(kNever));
  STRATA_ASSIGN(CheckpointInfo info, checkpointer.Save(number, /*full=*/true, {}, kNever));
  return Taken{std::move(info), RealClock().Now() - begin};
}

Figure Rate(std::string name, const std::vector<double>& ours, const std::vector<double>& limit) {
  Figure figure;
  figure.name = std::move(name);
  figure.unit = "MB/s";
  figure.ours = Median(ours);
  figure.limit = Median(limit);
  return figure;
}

// --- write and restore -------------------------------------------------------------------------

std::string PartPath(const std::string& folder, uint32_t number) {
  return fmt::format("{}/{:010}/server-0-lane-0.part", folder, number);
}

// Seconds to insert the rows into an empty table, as fast as it takes them. Afterwards the system
// has memory at hand: on a virtual machine the first touch of a page costs more than to fill it.
Result<double> TimeInsert(uint64_t rows) {
  HostTable table(Spec(kDim));
  TimeNs taken = 0;
  STRATA_TRY(FillRows(rows, kDim, [&](std::span<const Key> keys, std::span<const float> values) {
    const TimeNs begin = RealClock().Now();
    const Status status = table.Assign(keys, values);
    taken += RealClock().Now() - begin;
    return status;
  }));
  return Seconds(taken);
}

Result<std::vector<Figure>> RunWriteAndRestore(uint64_t rows, const BenchOptions& options) {
  STRATA_ASSIGN(const auto served, Served::Start(rows));
  RemoteCheckpointer checkpointer(served->store());
  std::vector<double> write, direct_write, restore, direct_read, insert, slower;
  for (int round = 0; round < std::min(options.rounds, 3); ++round) {
    STRATA_ASSIGN(const Taken taken, TakeCheckpoint(served->store()));
    const double megabytes = static_cast<double>(taken.info.bytes) / kMega;
    write.push_back(megabytes / Seconds(taken.time));
    STRATA_ASSIGN(const TimeNs plain,
                  TimeDirectWrite(served->folder() + "/plain", taken.info.bytes));
    direct_write.push_back(megabytes / Seconds(plain));

    STRATA_ASSIGN(const TimeNs read,
                  TimeDirectRead(PartPath(served->checkpoints(), taken.info.number)));
    direct_read.push_back(megabytes / Seconds(read));
    STRATA_TRY(ForgetCached(served->folder()));
    // So that the timed one and the restored one get memory of the same kind.
    STRATA_TRY(TimeInsert(rows).status());
    STRATA_ASSIGN(const double inserted, TimeInsert(rows));
    insert.push_back(megabytes / inserted);
    const TimeNs begin = RealClock().Now();
    STRATA_TRY(checkpointer.Restore(taken.info.number, kNever));
    restore.push_back(megabytes / Seconds(RealClock().Now() - begin));
    slower.push_back(std::min(direct_read.back(), insert.back()));
  }
  const std::string shape = fmt::format("rows={} dim={} adagrad", rows, kDim);
  return std::vector<Figure>{Rate("write " + shape + " / direct write", write, direct_write),
                             Rate("restore " + shape + " / direct read", restore, direct_read),
                             Rate("restore " + shape + " / bulk insert", restore, insert),
                             Rate("restore " + shape + " / the slower", restore, slower)};
}

// --- replay ------------------------------------------------------------------------------------

Status PushAll(RemoteStore& store, uint32_t dim, uint64_t rows, uint64_t bytes) {
  const std::vector<Key> keys = DrawKeys(Distribution::kUniform, rows, size_t{1} << 20, 1);
  const std::vector<float> floats = DrawFloats(kBatch * dim, 2);
  const uint64_t batches = bytes / (kBatch * (sizeof(Key) + dim * sizeof(float)));
  for (uint64_t n = 0; n < batches; ++n) {
    Operation operation;
    operation.kind = OpKind::kUpdate;
    operation.ack = AckLevel::kLogged;
    operation.parts.push_back(
        {.table = Spec(dim).id(),
         .keys = std::span(keys).subspan(n % (keys.size() / kBatch) * kBatch, kBatch),
         .in = floats});
    STRATA_TRY(SubmitAndWait(store, std::move(operation)).status);
  }
  return {};
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMega;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A server is started on a log of pushes, of which no checkpoint has let anything go.
Result<std::vector<Figure>> RunReplay(uint32_t dim, uint64_t rows, uint64_t bytes,
                                      const BenchOptions& options) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  ServerOptions server_options;
  server_options.data = folder.path();
  {
    STRATA_ASSIGN(const auto server, StartServer(server_options));
    STRATA_ASSIGN(const auto store, ConnectTo(*server));
    STRATA_TRY(store->CreateTable(Spec(dim)));
    STRATA_TRY(PushAll(*store, dim, rows, bytes));
  }
  const double megabytes = static_cast<double>(BytesOfFiles(folder.path(), ".log")) / kMega;
  std::vector<double> wall, cpu, limit;
  for (int round = 0; round < std::min(options.rounds, 3); ++round) {
    STRATA_TRY(ForgetCached(folder.path()));
    STRATA_TRY(TimeInsert(kRowsForMemory).status());
    const double cpu_begin = CpuSeconds();
    const TimeNs begin = RealClock().Now();
    STRATA_ASSIGN(const auto server, StartServer(server_options));
    wall.push_back(megabytes / Seconds(RealClock().Now() - begin));
    cpu.push_back(megabytes / (CpuSeconds() - cpu_begin));
    STRATA_ASSIGN(const TimeNs plain, TimeDirectWrite(folder.path() + "/plain", bytes));
    STRATA_TRY(ForgetCached(folder.path()));
    limit.push_back(static_cast<double>(bytes) / kMega / Seconds(plain));
  }
  const std::string shape = fmt::format("dim={} batch={} uniform rows={}", dim, kBatch, rows);
  Figure of_cpu{.name = "replay " + shape + ", a CPU second", .unit = "MB/s", .ours = Median(cpu)};
  return std::vector<Figure>{Rate("replay " + shape, wall, limit), std::move(of_cpu)};
}

// --- pulls while a checkpoint is taken ---------------------------------------------------------

// Takes checkpoints, one after the other, for as long as it lives.
class CheckpointLoop {
 public:
  explicit CheckpointLoop(RemoteStore& store) : store_(store), thread_([this] { Run(); }) {}

  Result<int> Stop() {
    stopping_ = true;
    thread_.join();
    STRATA_TRY(status_);
    return taken_;
  }

 private:
  void Run() {
    while (!stopping_ && status_.ok()) {
      status_ = TakeCheckpoint(store_).status();
      ++taken_;
    }
  }
  RemoteStore& store_;
  std::atomic<bool> stopping_{false};
  Status status_;
  int taken_ = 0;
  std::jthread thread_;
};

Result<std::vector<Figure>> RunPulls(size_t batch, uint64_t rows, const BenchOptions& options) {
  constexpr TimeNs kWindow = 2 * kSecond;
  STRATA_ASSIGN(const auto served, Served::Start(rows));
  STRATA_ASSIGN(const auto second, served->Connect());
  const std::vector<Key> keys = DrawKeys(Distribution::kUniform, rows, size_t{1} << 20, 1);
  PacedPulls pulls{.table = Spec(kDim).id(), .dim = kDim, .batch = batch, .keys = keys};
  STRATA_TRY(PeakPulls(served->store(), pulls, options.round).status());
  STRATA_ASSIGN(const double peak, PeakPulls(served->store(), pulls, kSecond));
  pulls.batches_a_second = peak * kLoadOfPeak;
  std::vector<double> with, without, with_half, without_half;
  int checkpoints = 0;
  const auto note = [](std::vector<TimeNs> latencies, std::vector<double>& p99,
                       std::vector<double>& p50) {
    std::vector<double> micros;
    for (const TimeNs latency : latencies) {
      micros.push_back(static_cast<double>(latency) / kMicrosecond);
    }
    p99.push_back(Quantile(micros, 0.99));
    p50.push_back(Quantile(micros, 0.5));
  };
  for (int round = 0; round < options.rounds; ++round) {
    STRATA_ASSIGN(auto quiet, RunPaced(served->store(), pulls, kWindow));
    note(std::move(quiet), without, without_half);
    CheckpointLoop loop(*second);
    auto busy = RunPaced(served->store(), pulls, kWindow);
    STRATA_ASSIGN(const int taken, loop.Stop());
    STRATA_TRY(busy.status());
    note(std::move(*busy), with, with_half);
    checkpoints += taken;
  }
  const std::string shape = fmt::format("pull batch={} at {:.0f}% of peak, {} checkpoints", batch,
                                        kLoadOfPeak * 100, checkpoints);
  const auto figure = [](std::string name, const std::vector<double>& ours,
                         const std::vector<double>& quiet) {
    Figure of{.name = std::move(name), .unit = "us", .more_is_better = false};
    of.ours = Median(ours);
    of.peer = "no checkpoint";
    of.peer_value = Median(quiet);
    return of;
  };
  return std::vector<Figure>{figure(shape + ", p99", with, without),
                             figure(shape + ", p50", with_half, without_half)};
}

std::vector<Case> CheckpointCases(bool all) {
  const uint64_t rows = all ? 8'000'000 : 4'000'000;
  const uint64_t log_bytes = uint64_t{all ? 1200U : 600U} << 20;
  std::vector<Case> cases;
  cases.push_back({"write and restore", [rows](const BenchOptions& options) {
                     return RunWriteAndRestore(rows, options);
                   }});
  for (const uint32_t dim : {16U, 64U}) {
    cases.push_back({fmt::format("replay dim={}", dim), [=](const BenchOptions& options) {
                       return RunReplay(dim, 16'000'000 / dim, log_bytes, options);
                     }});
  }
  for (const size_t batch : {size_t{256}, size_t{4096}}) {
    cases.push_back({fmt::format("pull batch={}", batch),
                     [=](const BenchOptions& options) { return RunPulls(batch, rows, options); }});
  }
  return cases;
}

}  // namespace

Suite CheckpointSuite() {
  return {"checkpoint",
          "checkpoints and replay of a server beside the disk, and pulls during checkpoints",
          CheckpointCases};
}

}  // namespace strata::bench
