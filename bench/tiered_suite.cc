// Suite "tiered": a table twenty times as large as the memory it may use, beside a table in RocksDB
// alone with the same memory, under the limit of the same table all in memory. Pulls and pushes
// take turns, on keys drawn by Zipf's law.
//
// Each contender is a process of its own, so that its resident memory is its own, and is stopped
// while another has its turn, so that each pays for its own compactions. At the end all rows of all
// contenders, with state and counters, are compared by digest.
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/hash.h"
#include "bench/figure.h"
#include "bench/measure.h"
#include "bench/workload.h"
#include "storage/memory/host_table.h"
#include "storage/rocks/rocks_table.h"
#include "storage/tiered/tiered_table.h"

namespace strata::bench {
namespace {

constexpr size_t kBatch = 4096;
constexpr uint32_t kDim = 16;
constexpr uint64_t kBatchesPerTurn = 100;
constexpr uint64_t kTablePerBudget = 20;

struct Shape {
  uint64_t budget;
  uint64_t rows;
  int turns;
};

Shape ShapeOf(uint64_t budget, int turns) {
  const uint64_t row_bytes = 2 * kDim * sizeof(float) + sizeof(RowCounters) + sizeof(Key);
  return {.budget = budget, .rows = kTablePerBudget * budget / row_bytes, .turns = turns};
}

TableSpec Spec() {
  TableSpec spec;
  spec.name = "bench";
  spec.dim = kDim;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  spec.initializer = {InitializerKind::kUniform, 0.1F};
  return spec;
}

// What a contender is: a table and what it stands on.
class Holder {
 public:
  virtual ~Holder() = default;
  virtual LocalTable& table() = 0;
  virtual void Hint(std::span<const Key>) {}
  virtual std::string Describe() { return {}; }
};

class MemoryHolder : public Holder {
 public:
  LocalTable& table() override { return table_; }

 private:
  HostTable table_{Spec()};
};

class RocksHolder : public Holder {
 public:
  RocksHolder(std::unique_ptr<RocksDb> cold) : cold_(std::move(cold)), table_(Spec(), *cold_) {}
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

class TieredHolder : public Holder {
 public:
  TieredHolder(uint64_t warm_bytes, const TierPolicy& policy, std::unique_ptr<RocksDb> cold,
               std::unique_ptr<TierExecutor> executor)
      : cold_(std::move(cold)),
        executor_(std::move(executor)),
        warm_(warm_bytes),
        table_(Spec(), policy, warm_, *cold_, *executor_) {}
  LocalTable& table() override { return table_; }
  void Hint(std::span<const Key> keys) override { table_.Prefetch(keys); }
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

using MakeHolder = std::function<Result<std::unique_ptr<Holder>>(const std::string& folder)>;

// Of the budget: rows in memory with their index; RocksDB; the rest is code, stacks and batches.
uint64_t WarmBytes(uint64_t budget) { return budget / 100 * 42; }
uint64_t ColdBytes(uint64_t budget) { return budget / 100 * 42; }

MakeHolder MakeTiered(uint64_t budget) {
  return [=](const std::string& folder) -> Result<std::unique_ptr<Holder>> {
    STRATA_ASSIGN(auto cold,
                  RocksDb::Open({.folder = folder, .memory_bytes_max = ColdBytes(budget)}));
    STRATA_ASSIGN(auto executor, MakeThreadExecutor());
    return std::unique_ptr<Holder>(std::make_unique<TieredHolder>(
        WarmBytes(budget), TierPolicy{}, std::move(cold), std::move(executor)));
  };
}

MakeHolder MakeRocks(uint64_t budget) {
  return [=](const std::string& folder) -> Result<std::unique_ptr<Holder>> {
    STRATA_ASSIGN(auto cold, RocksDb::Open({.folder = folder,
                                            .memory_bytes_max = budget / 100 * 84,
                                            .read_threads = 0}));
    return std::unique_ptr<Holder>(std::make_unique<RocksHolder>(std::move(cold)));
  };
}

struct Answer {
  double seconds = 0;
  uint64_t resident_max = 0;
  uint64_t rows = 0;
  uint64_t digest = 0;
  char text[400] = {};  // an error, or what Describe says
  bool ok = false;
};

struct Order {
  enum Kind : uint32_t { kFill, kRun, kDigest, kEnd } kind;
  bool hints;
  uint64_t first;  // batch
};

uint64_t ResidentMax() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) << 10;
}

// Carries out orders on a table.
class Performer {
 public:
  Performer(const Shape& shape, const std::string& keys_path, Holder& holder)
      : shape_(shape), keys_path_(keys_path), holder_(holder), out_(kBatch * kDim) {
    for (const float value : DrawFloats(kBatch * kDim, 3)) {
      gradients_.push_back(value < 0 ? -1.0F : 2.0F);
    }
  }

  Status Do(const Order& order, Answer& answer) {
    const TimeNs begin = RealClock().Now();
    if (order.kind == Order::kFill) STRATA_TRY(Fill());
    if (order.kind == Order::kRun) STRATA_TRY(Run(order));
    if (order.kind == Order::kDigest) Digest(answer);
    answer.seconds = static_cast<double>(RealClock().Now() - begin) / kSecond;
    answer.rows = holder_.table().Stats().rows;
    return {};
  }

 private:
  Status Push(std::span<const Key> keys) {
    const GradientPart part{keys, std::span(gradients_).first(keys.size() * kDim)};
    return holder_.table().ApplyGradients({&part, 1}, ++step_);
  }
  Status Fill() {
    std::vector<Key> keys;
    for (uint64_t from = 0; from < shape_.rows; from += kBatch) {
      keys.clear();
      for (uint64_t n = from; n < std::min(from + kBatch, shape_.rows); ++n) {
        keys.push_back(KeyAt(n));
      }
      STRATA_TRY(Push(keys));
    }
    return {};
  }
  Status Run(const Order& order) {
    STRATA_ASSIGN(const auto file, RealDisk().OpenToRead(keys_path_));
    std::vector<Key> keys(kBatch), ahead(kBatch);
    const auto read = [&](uint64_t batch, std::vector<Key>& into) {
      return file->ReadAt(batch * kBatch * sizeof(Key), std::as_writable_bytes(std::span(into)));
    };
    for (uint64_t batch = order.first; batch < order.first + kBatchesPerTurn; ++batch) {
      STRATA_TRY(read(batch, keys).status());
      if (order.hints) {
        STRATA_TRY(read(batch + 1, ahead).status());
        holder_.Hint(ahead);
      }
      if (batch % 2 == 0) {
        holder_.table().Lookup(keys, out_);
      } else {
        STRATA_TRY(Push(keys));
      }
    }
    return {};
  }
  void Digest(Answer& answer) {
    ScanPage page;
    page.rows_max = 16384;
    page.with_state = true;
    const size_t width = 2 * kDim;
    do {
      holder_.table().Scan(page);
      for (size_t i = 0; i < page.keys.size(); ++i) {
        const uint64_t row =
            Hash64(std::as_bytes(std::span(page.rows).subspan(i * width, width)), page.keys[i]);
        answer.digest += Hash64(std::as_bytes(std::span(page.counters).subspan(i, 1)), row);
      }
    } while (!page.done);
  }

  const Shape shape_;
  const std::string keys_path_;
  Holder& holder_;
  std::vector<float> out_;
  std::vector<float> gradients_;
  uint64_t step_ = 0;
};

// A contender in a process of its own.
class Remote {
 public:
  explicit Remote(std::string name) : name_(std::move(name)) {}
  ~Remote() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(orders_);
    close(answers_);
  }

  Status Start(const Shape& shape, const std::string& keys_path, const std::string& folder,
               const MakeHolder& make) {
    int orders[2], answers[2];
    if (pipe(orders) != 0 || pipe(answers) != 0) return Failed("no pipes");
    pid_ = fork();
    if (pid_ < 0) return Failed("no process");
    if (pid_ == 0) {
      close(orders[1]);
      close(answers[0]);
      Serve(shape, keys_path, folder, make, orders[0], answers[1]);
      _exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    orders_ = orders[1];
    answers_ = answers[0];
    kill(pid_, SIGSTOP);
    return {};
  }

  Result<Answer> Do(const Order& order) {
    kill(pid_, SIGCONT);
    Answer answer;
    if (write(orders_, &order, sizeof order) != sizeof order ||
        read(answers_, &answer, sizeof answer) != sizeof answer) {
      return Failed(fmt::format("{} has died", name_));
    }
    kill(pid_, SIGSTOP);
    if (!answer.ok) return Failed(fmt::format("{}: {}", name_, answer.text));
    return answer;
  }

  const std::string& name() const { return name_; }

 private:
  static void Serve(const Shape& shape, const std::string& keys_path, const std::string& folder,
                    const MakeHolder& make, int orders, int answers) {
    // Threads come and go in RocksDB; an arena for each would keep what they no longer use.
    mallopt(M_ARENA_MAX, 2);
    auto holder = make(folder);
    std::unique_ptr<Performer> performer;
    if (holder.ok()) performer = std::make_unique<Performer>(shape, keys_path, **holder);
    Order order;
    while (read(orders, &order, sizeof order) == sizeof order) {
      Answer answer;
      const Status status = performer ? performer->Do(order, answer) : holder.status();
      answer.ok = status.ok();
      answer.resident_max = ResidentMax();
      const std::string text = status.ok() ? (*holder)->Describe() : status.ToString();
      strncpy(answer.text, text.c_str(), sizeof answer.text - 1);
      if (write(answers, &answer, sizeof answer) != sizeof answer) return;
    }
  }

  const std::string name_;
  pid_t pid_ = -1;
  int orders_ = -1;
  int answers_ = -1;
};

// Removed at the end, whatever happens.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "strata-bench-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

Status WriteKeys(const std::string& path, const Shape& shape) {
  const uint64_t batches = static_cast<uint64_t>(shape.turns + 1) * kBatchesPerTurn + 1;
  const std::vector<Key> keys = DrawKeys(Distribution::kZipf, shape.rows, batches * kBatch, 7);
  STRATA_ASSIGN(const auto file, RealDisk().Create(path));
  return file->Append(std::as_bytes(std::span(keys)));
}

// The contenders and what is seen of them.
class Race {
 public:
  explicit Race(const Shape& shape) : shape_(shape) {}

  // Fills all of them.
  Status Start() {
    const std::string keys_path = folder_.path + "/keys";
    STRATA_TRY(Add("tiered", keys_path, MakeTiered(shape_.budget)));
    STRATA_TRY(Add("RocksDB MultiGet/Write", keys_path, MakeRocks(shape_.budget)));
    STRATA_TRY(Add("in memory", keys_path, [](const std::string&) {
      return Result<std::unique_ptr<Holder>>(std::make_unique<MemoryHolder>());
    }));
    // Behind the forks: what drawing needs would count as theirs.
    STRATA_TRY(WriteKeys(keys_path, shape_));
    for (Contestant& one : contestants_) {
      STRATA_TRY(Do(one, {Order::kFill, false, 0}, "filled").status());
    }
    return {};
  }

  // The first turn warms up. In every second one the next batch's keys are hinted.
  Status Run() {
    for (int turn = 0; turn <= shape_.turns; ++turn) {
      const bool is_hinted = turn % 2 == 0;
      for (Contestant& one : contestants_) {
        const Order order{Order::kRun, is_hinted, static_cast<uint64_t>(turn) * kBatchesPerTurn};
        STRATA_ASSIGN(const Answer done, Do(one, order, is_hinted ? "turn, hinted" : "turn"));
        if (turn == 0) continue;
        (is_hinted ? one.hinted_rates : one.rates)
            .push_back(static_cast<double>(kBatchesPerTurn * kBatch) / done.seconds / 1e3);
      }
    }
    return {};
  }

  // All rows with state and counters are those of the table in memory.
  Status Compare() {
    std::vector<Answer> digests;
    for (Contestant& one : contestants_) {
      STRATA_ASSIGN(const Answer digest, Do(one, {Order::kDigest, false, 0}, "scanned"));
      digests.push_back(digest);
    }
    for (size_t i = 0; i < digests.size(); ++i) {
      if (digests[i].rows == shape_.rows && digests[i].digest == digests.back().digest) continue;
      return Failed(fmt::format("{}: {} rows, digest {:x}; expected {} rows, digest {:x}",
                                contestants_[i].remote->name(), digests[i].rows, digests[i].digest,
                                shape_.rows, digests.back().digest));
    }
    return {};
  }

  std::vector<Figure> Figures() const {
    const std::string name = fmt::format("mixed rows={} budget={}MB dim={} adagrad zipf batch={}",
                                         shape_.rows, shape_.budget / 1'000'000, kDim, kBatch);
    const Contestant &ours = contestants_[0], &peer = contestants_[1], &memory = contestants_[2];
    const auto rate = [&](const std::string& suffix, std::vector<double> Contestant::*rates) {
      return Figure{.name = name + suffix,
                    .unit = "K rows/s",
                    .ours = Median(ours.*rates),
                    .peer = peer.remote->name(),
                    .peer_value = Median(peer.*rates),
                    .limit = Median(memory.*rates)};
    };
    const auto resident = [&](const Contestant& one) {
      return static_cast<double>(one.resident_max) / static_cast<double>(shape_.budget);
    };
    return {rate("", &Contestant::rates), rate(" hinted", &Contestant::hinted_rates),
            Figure{.name = name + " resident",
                   .unit = "x budget",
                   .more_is_better = false,
                   .ours = resident(ours),
                   .peer = peer.remote->name(),
                   .peer_value = resident(peer)}};
  }

 private:
  struct Contestant {
    std::unique_ptr<Remote> remote;
    std::vector<double> rates = {};  // thousands of rows a second, of each turn
    std::vector<double> hinted_rates = {};
    uint64_t resident_max = 0;
  };

  Status Add(const std::string& name, const std::string& keys_path, const MakeHolder& make) {
    contestants_.push_back({.remote = std::make_unique<Remote>(name)});
    const std::string folder = fmt::format("{}/{}", folder_.path, contestants_.size());
    return contestants_.back().remote->Start(shape_, keys_path, folder, make);
  }

  static Result<Answer> Do(Contestant& one, const Order& order, const char* what) {
    STRATA_ASSIGN(const Answer answer, one.remote->Do(order));
    one.resident_max = answer.resident_max;
    fmt::print(stderr, "{}: {} in {:.1f} s, {} MB resident; {}\n", one.remote->name(), what,
               answer.seconds, answer.resident_max >> 20, answer.text);
    return answer;
  }

  const Shape shape_;
  const Folder folder_;
  std::vector<Contestant> contestants_;
};

Result<std::vector<Figure>> RunTiered(const Shape& shape) {
  Race race(shape);
  STRATA_TRY(race.Start());
  STRATA_TRY(race.Run());
  STRATA_TRY(race.Compare());
  return race.Figures();
}

}  // namespace

Suite TieredSuite() {
  return {.name = "tiered",
          .about = "a table 20 times its memory beside plain RocksDB with the same memory",
          .cases = [](bool all) {
            const Shape shape = all ? ShapeOf(100'000'000, 10) : ShapeOf(40'000'000, 4);
            return std::vector<Case>{
                {"mixed", [shape](const BenchOptions&) { return RunTiered(shape); }}};
          }};
}

}  // namespace strata::bench
