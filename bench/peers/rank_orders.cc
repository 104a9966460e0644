#include "bench/peers/rank_orders.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/print.h"
#include "bench/harness/measure.h"

namespace strata::bench {
namespace {

constexpr int kWarmUpCalls = 2;
constexpr float kUnset = -1;

// Small whole numbers: their sums are exact in whatever order.
float In(int rank, size_t i) { return static_cast<float>(i % 97) + static_cast<float>(rank); }

std::vector<float> Inputs(const RankOrder& order, int rank, int world) {
  const size_t count = FloatsOf(order, world);
  const size_t block = count / static_cast<size_t>(world);
  size_t begin = 0;
  size_t end = count;
  if (order.operation == Collective::kAllgather) {
    begin = block * static_cast<size_t>(rank);
    end = begin + block;
  } else if (order.operation == Collective::kBroadcast && rank != 0) {
    end = 0;
  }
  std::vector<float> data(count, kUnset);
  for (size_t i = begin; i < end; ++i) data[i] = In(rank, i);
  return data;
}

// One configuration of one peer: buffer, check, timed calls.
class Prepared {
 public:
  Prepared(int rank, int world, RankCollectives& collectives)
      : rank_(rank), world_(world), collectives_(collectives) {}

  void Do(const RankOrder& order, RankAnswer& answer) {
    Status status;
    if (order.variant >= collectives_.variants(order.operation)) {
      answer.outcome = RankOutcome::kNoVariant;
      return;
    }
    const bool known = last_ && last_->operation == order.operation &&
                       last_->variant == order.variant && last_->bytes == order.bytes;
    if (!known) status = Check(order, answer);
    if (status.ok() && answer.outcome == RankOutcome::kDone) status = Time(order, answer);
    if (status.ok()) return;
    answer.outcome = RankOutcome::kFailed;
    fmt::format_to_n(answer.text, sizeof answer.text - 1, "{}", status.ToString());
  }

 private:
  Status Check(const RankOrder& order, RankAnswer& answer) {
    last_.reset();
    data_ = Inputs(order, rank_, world_);
    STRATA_TRY(collectives_.Prepare(order, data_));
    STRATA_TRY(collectives_.Call());
    const std::vector<float> expected = Expected(order, rank_, world_);
    const std::span<const float> found = collectives_.Result();
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i < found.size() && found[i] == expected[i]) continue;
      answer.outcome = RankOutcome::kWrong;
      fmt::format_to_n(answer.text, sizeof answer.text - 1,
                       "rank {}: element {} of {} has to be {}, found {}", rank_, i,
                       expected.size(), expected[i],
                       i < found.size() ? fmt::format("{}", found[i]) : "nothing");
      return {};
    }
    std::ranges::fill(data_, 0.0F);  // sums of sums would overflow
    last_ = order;
    return {};
  }

  Status Time(const RankOrder& order, RankAnswer& answer) {
    std::vector<double> times_us(order.calls);
    for (int i = 0; i < kWarmUpCalls; ++i) STRATA_TRY(collectives_.Call());
    const TimeNs start = RealClock().Now();
    TimeNs before = start;
    for (double& time_us : times_us) {
      STRATA_TRY(collectives_.Call());
      const TimeNs now = RealClock().Now();
      time_us = static_cast<double>(now - before) / kMicrosecond;
      before = now;
    }
    answer.seconds = static_cast<double>(before - start) / kSecond;
    answer.p50_us = Median(times_us);
    answer.p99_us = Quantile(std::move(times_us), 0.99);
    return {};
  }

  const int rank_;
  const int world_;
  RankCollectives& collectives_;
  std::vector<float> data_;
  std::optional<RankOrder> last_;
};

bool ReadAll(int fd, void* into, size_t bytes) {
  return recv(fd, into, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

bool WriteAll(int fd, const void* from, size_t bytes) {
  return send(fd, from, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

}  // namespace

size_t FloatsOf(const RankOrder& order, int world) {
  const size_t count = std::max<size_t>(order.bytes / sizeof(float), 1);
  if (order.operation == Collective::kAllreduce || order.operation == Collective::kBroadcast ||
      order.operation == Collective::kReduce) {
    return count;
  }
  const auto blocks = static_cast<size_t>(world);
  return (count + blocks - 1) / blocks * blocks;
}

std::vector<float> Expected(const RankOrder& order, int rank, int world) {
  const size_t count = FloatsOf(order, world);
  const auto n = static_cast<size_t>(world);
  const size_t block = count / n;
  const size_t own = block * static_cast<size_t>(rank);
  const auto sum = [n](size_t i) { return static_cast<float>(n * (i % 97) + n * (n - 1) / 2); };
  std::vector<float> result(count);
  switch (order.operation) {
    case Collective::kAllreduce:
      for (size_t i = 0; i < count; ++i) result[i] = sum(i);
      break;
    case Collective::kReduce:
      if (rank != 0) return {};
      for (size_t i = 0; i < count; ++i) result[i] = sum(i);
      break;
    case Collective::kReduceScatter:
      result.resize(block);
      for (size_t i = 0; i < block; ++i) result[i] = sum(own + i);
      break;
    case Collective::kAllgather:
      for (size_t i = 0; i < count; ++i) result[i] = In(static_cast<int>(i / block), i);
      break;
    case Collective::kBroadcast:
      for (size_t i = 0; i < count; ++i) result[i] = In(0, i);
      break;
    case Collective::kAllToAll:
      for (size_t i = 0; i < count; ++i) {
        result[i] = In(static_cast<int>(i / block), own + i % block);
      }
      break;
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kBarrier:
      return {};
  }
  return result;
}

Result<RankMaster> RankMaster::Reach(const char* path) {
  RankMaster master(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (connect(master.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Failed(fmt::format("no strata-bench listens at {}", path));
  }
  return master;
}

RankMaster::RankMaster(RankMaster&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
RankMaster::~RankMaster() {
  if (fd_ >= 0) close(fd_);
}

Result<std::vector<uint16_t>> RankMaster::Meet(const RankHello& hello, int world) const {
  std::vector<uint16_t> ports(static_cast<size_t>(world));
  if (!WriteAll(fd_, &hello, sizeof hello) ||
      !ReadAll(fd_, ports.data(), ports.size() * sizeof ports[0])) {
    return Failed("strata-bench went away before all ranks had met");
  }
  return ports;
}

Status RankMaster::Serve(int rank, int world, RankCollectives& collectives) const {
  Prepared prepared(rank, world, collectives);
  RankOrder order;
  while (ReadAll(fd_, &order, sizeof order)) {
    RankAnswer answer;
    prepared.Do(order, answer);
    if (!WriteAll(fd_, &answer, sizeof answer)) return Failed("strata-bench went away");
  }
  return {};
}

int RankMain(int argc, char** argv, Status (*body)(std::span<char*> arguments)) {
  const Status status = body(std::span(argv + 1, static_cast<size_t>(argc - 1)));
  if (!status.ok()) PrintStderr("{}: {}\n", argv[0], status.ToString());
  return ExitCode(status);
}

}  // namespace strata::bench
