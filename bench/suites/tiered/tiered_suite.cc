// Suite "tiered": a table twenty times as large as the memory it may use, beside a table in RocksDB
// alone with the same memory, under the limit of the same table all in memory. Pulls and pushes
// take turns, on keys drawn by Zipf's law. At the end all rows of all contenders are compared with
// an exact model of what was pushed.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/print.h"
#include "base/resident_memory.h"
#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/suites/tiered/tiered_contender.h"
#include "bench/suites/tiered/tiered_load.h"

namespace strata::bench {
namespace {

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

// Thousands of rows a second, of each turn.
struct Rates {
  std::vector<double> all, pulls, pushes, hinted;
};

struct Contestant {
  std::unique_ptr<TieredContender> process;
  Rates rates = {};
  uint64_t resident_max = 0;
};

class Race {
 public:
  explicit Race(const TieredShape& shape) : shape_(shape), files_{folder_.path} {}

  Status Start() {
    if (folder_.path.empty()) return Failed("no folder for the tables can be made");
    PrintStderr("{} rows of {} bytes; a process without a table: {} MB resident\n", shape_.rows,
                SchemaOf(TieredSpec()).row_bytes(), ResidentBytes() >> 20);
    STRATA_TRY(Add("tiered", MakeTiered(shape_.budget)));
    STRATA_TRY(Add("RocksDB MultiGet/Write", MakeRocksAlone(shape_.budget)));
    STRATA_TRY(Add("in memory", MakeInMemory()));
    // Behind the forks: what drawing needs would count as theirs.
    STRATA_TRY(WriteTieredFiles(shape_, files_));
    for (Contestant& one : contestants_) {
      STRATA_TRY(Do(one, {.kind = TieredOrder::kFill}, "filled").status());
    }
    for (Contestant& one : contestants_) {
      STRATA_TRY(Do(one, {.kind = TieredOrder::kWarmUp}, "warmed up").status());
    }
    return {};
  }

  // The first turn still warms up. In every second one the next batch's keys are hinted.
  Status Run() {
    for (uint64_t turn = 0; turn < shape_.turns; ++turn) {
      const bool hints = turn % 2 == 0;
      for (Contestant& one : contestants_) {
        const TieredOrder order{
            .kind = TieredOrder::kRun, .hints = hints, .first = turn * shape_.batches};
        STRATA_ASSIGN(const TieredAnswer done, Do(one, order, hints ? "turn, hinted" : "turn"));
        if (turn == 0) continue;
        const auto rate = [&](double seconds, uint64_t batches) {
          return static_cast<double>(batches * kTieredBatch) / seconds / 1e3;
        };
        const double all = rate(done.pull_seconds + done.push_seconds, shape_.batches);
        if (hints) {
          one.rates.hinted.push_back(all);
          continue;
        }
        one.rates.all.push_back(all);
        one.rates.pulls.push_back(rate(done.pull_seconds, shape_.batches / 2));
        one.rates.pushes.push_back(rate(done.push_seconds, shape_.batches / 2));
      }
    }
    return {};
  }

  // Every row of every contender against the model.
  Status Check() {
    Status status;
    for (Contestant& one : contestants_) {
      STRATA_ASSIGN(const TieredAnswer seen, Do(one, {.kind = TieredOrder::kCheck}, "checked"));
      PrintStderr("{}: rows lost {}, wrong {}, of {}\n", one.process->name(), seen.rows_lost,
                  seen.rows_wrong, shape_.rows);
      if (seen.rows_lost + seen.rows_wrong == 0) continue;
      status = Failed(fmt::format("{}: {} rows lost, {} wrong, of {}", one.process->name(),
                                  seen.rows_lost, seen.rows_wrong, shape_.rows));
    }
    return status;
  }

  std::vector<Figure> Figures() const {
    const std::string name =
        fmt::format("rows={} budget={}MB dim={} sgd zipf batch={}", shape_.rows,
                    shape_.budget / 1'000'000, kTieredDim, kTieredBatch);
    const Contestant &ours = contestants_[0], &peer = contestants_[1], &memory = contestants_[2];
    const auto rate = [&](const std::string& what, std::vector<double> Rates::*rates) {
      return Figure{.name = what + " " + name,
                    .unit = "K rows/s",
                    .ours = Median(ours.rates.*rates),
                    .peer = peer.process->name(),
                    .peer_value = Median(peer.rates.*rates),
                    .limit = Median(memory.rates.*rates)};
    };
    const auto resident = [&](const Contestant& one) {
      return static_cast<double>(one.resident_max) / static_cast<double>(shape_.budget);
    };
    return {rate("mixed", &Rates::all), rate("pulls of it", &Rates::pulls),
            rate("pushes of it", &Rates::pushes), rate("mixed, hinted", &Rates::hinted),
            Figure{.name = "resident, whole process, " + name,
                   .unit = "x budget",
                   .more_is_better = false,
                   .ours = resident(ours),
                   .peer = peer.process->name(),
                   .peer_value = resident(peer)}};
  }

 private:
  Status Add(const std::string& name, const MakeTieredHolder& make) {
    contestants_.push_back({.process = std::make_unique<TieredContender>(name)});
    const std::string folder = fmt::format("{}/{}", folder_.path, contestants_.size());
    return contestants_.back().process->Start(shape_, files_, folder, make);
  }

  static Result<TieredAnswer> Do(Contestant& one, const TieredOrder& order, const char* what) {
    STRATA_ASSIGN(const TieredAnswer answer, one.process->Do(order));
    one.resident_max = answer.resident_max;
    PrintStderr("{}: {} in {:.1f} s, {} MB resident, {} at most; {}\n", one.process->name(), what,
                answer.seconds, answer.resident >> 20, answer.resident_max >> 20, answer.text);
    return answer;
  }

  const TieredShape shape_;
  const Folder folder_;
  const TieredFiles files_;
  std::vector<Contestant> contestants_;
};

Result<std::vector<Figure>> RunTiered(const TieredShape& shape) {
  Race race(shape);
  STRATA_TRY(race.Start());
  STRATA_TRY(race.Run());
  STRATA_TRY(race.Check());
  return race.Figures();
}

}  // namespace

Suite TieredSuite() {
  return {.name = "tiered",
          .about = "a table 20 times its memory beside plain RocksDB with the same memory",
          .cases = [](bool all) {
            const TieredShape shape = all ? TieredShapeOf(100'000'000, 300, 64, 7)
                                          : TieredShapeOf(40'000'000, 100, 64, 5);
            return std::vector<Case>{
                {"mixed", [shape](const BenchOptions&) { return RunTiered(shape); }}};
          }};
}

}  // namespace strata::bench
