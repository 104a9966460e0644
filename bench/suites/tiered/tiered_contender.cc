#include "bench/suites/tiered/tiered_contender.h"

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "bench/peers/rocks_table.h"
#include "storage/memory/host_table.h"
#include "storage/tiered/tiered_table.h"

namespace strata::bench {
namespace {

class MemoryHolder : public TieredHolder {
 public:
  LocalTable& table() override { return table_; }

 private:
  HostTable table_{TieredSpec()};
};

class RocksHolder : public TieredHolder {
 public:
  explicit RocksHolder(std::unique_ptr<RocksDb> cold)
      : cold_(std::move(cold)), table_(TieredSpec(), *cold_) {}
  LocalTable& table() override { return table_; }
  std::string Describe() override {
    const RocksStats stats = cold_->Stats();
    return fmt::format("rocks memory {} MB, disk {} MB", stats.memory_bytes >> 20,
                       stats.disk_bytes >> 20);
  }

 private:
  std::unique_ptr<RocksDb> cold_;
  RocksTable table_;
};

class TiersHolder : public TieredHolder {
 public:
  TiersHolder(uint64_t warm_bytes, std::unique_ptr<RocksDb> cold,
              std::unique_ptr<TierExecutor> executor)
      : cold_(std::move(cold)),
        executor_(std::move(executor)),
        warm_(warm_bytes),
        table_(TieredSpec(), TierPolicy{}, warm_, *cold_, *executor_) {}
  LocalTable& table() override { return table_; }
  std::string Describe() override {
    const TierStats s = table_.tier_stats();
    const RocksStats r = cold_->Stats();
    return fmt::format(
        "warm rows {} ({} MB), warm hits {}, cold hits {}, up {} ({} prefetched), down {}, dropped "
        "{}, waits {}; rocks memory {} MB, disk {} MB",
        s.warm_rows, s.warm_bytes >> 20, s.warm_hits, s.cold_hits, s.moved_up, s.prefetched,
        s.moved_down, s.dropped, s.waits, r.memory_bytes >> 20, r.disk_bytes >> 20);
  }

 private:
  std::unique_ptr<RocksDb> cold_;
  std::unique_ptr<TierExecutor> executor_;
  WarmShares warm_;
  TieredTable table_;
};

// Of the budget, in percent, as a server cuts it: rows in memory with their index; RocksDB. The
// rest is for code, stacks and batches.
constexpr uint64_t kWarmPercent = 42;
constexpr uint64_t kColdPercent = 42;

}  // namespace

MakeTieredHolder MakeTiered(uint64_t budget) {
  return [=](const std::string& folder) -> Result<std::unique_ptr<TieredHolder>> {
    STRATA_ASSIGN(auto cold, RocksDb::Open({.folder = folder,
                                            .memory_bytes_max = budget / 100 * kColdPercent}));
    STRATA_ASSIGN(auto executor, MakeThreadExecutor());
    return std::unique_ptr<TieredHolder>(std::make_unique<TiersHolder>(
        budget / 100 * kWarmPercent, std::move(cold), std::move(executor)));
  };
}

MakeTieredHolder MakeRocksAlone(uint64_t budget) {
  return [=](const std::string& folder) -> Result<std::unique_ptr<TieredHolder>> {
    const uint64_t bytes = budget / 100 * (kWarmPercent + kColdPercent);
    STRATA_ASSIGN(auto cold,
                  RocksDb::Open({.folder = folder, .memory_bytes_max = bytes, .read_threads = 0}));
    return std::unique_ptr<TieredHolder>(std::make_unique<RocksHolder>(std::move(cold)));
  };
}

MakeTieredHolder MakeInMemory() {
  return [](const std::string&) {
    return Result<std::unique_ptr<TieredHolder>>(std::make_unique<MemoryHolder>());
  };
}

TieredContender::~TieredContender() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(orders_);
  close(answers_);
}

Status TieredContender::Start(const TieredShape& shape, const TieredFiles& files,
                              const std::string& folder, const MakeTieredHolder& make) {
  int orders[2], answers[2];
  if (pipe(orders) != 0 || pipe(answers) != 0) return Failed("no pipes");
  pid_ = fork();
  if (pid_ < 0) return Failed("no process");
  if (pid_ == 0) {
    close(orders[1]);
    close(answers[0]);
    Serve(shape, files, folder, make, orders[0], answers[1]);
    _exit(0);
  }
  close(orders[0]);
  close(answers[1]);
  orders_ = orders[1];
  answers_ = answers[0];
  kill(pid_, SIGSTOP);
  return {};
}

Result<TieredAnswer> TieredContender::Do(const TieredOrder& order) {
  kill(pid_, SIGCONT);
  TieredAnswer answer;
  if (write(orders_, &order, sizeof order) != sizeof order ||
      read(answers_, &answer, sizeof answer) != sizeof answer) {
    return Failed(fmt::format("{} has died", name_));
  }
  kill(pid_, SIGSTOP);
  if (!answer.ok) return Failed(fmt::format("{}: {}", name_, answer.text));
  return answer;
}

void TieredContender::Serve(const TieredShape& shape, const TieredFiles& files,
                            const std::string& folder, const MakeTieredHolder& make, int orders,
                            int answers) {
  // Threads come and go in RocksDB; an arena for each would keep what they no longer use.
  mallopt(M_ARENA_MAX, 2);
  auto holder = make(folder);
  std::unique_ptr<TieredPerformer> performer;
  if (holder.ok()) performer = std::make_unique<TieredPerformer>(shape, files, **holder);
  TieredOrder order;
  while (read(orders, &order, sizeof order) == sizeof order) {
    TieredAnswer answer;
    const Status status = performer ? performer->Do(order, answer) : holder.status();
    answer.ok = status.ok();
    const std::string text = status.ok() ? (*holder)->Describe() : status.ToString();
    strncpy(answer.text, text.c_str(), sizeof answer.text - 1);
    if (write(answers, &answer, sizeof answer) != sizeof answer) return;
  }
}

}  // namespace strata::bench
