// Suite "ctr" on the CPU: training of click models in one process, from batches in memory beside
// eager PyTorch on as many threads, and from text by a whole job; and text that is parsed alone.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/print.h"
#include "base/thread/work_pool.h"
#include "bench/harness/figure.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/harness/peer_script.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/ctr/click_parse.h"
#include "bench/suites/ctr/click_shapes.h"
#include "bench/suites/ctr/click_steps.h"
#include "bench/suites/ctr/click_text.h"
#include "kernels/dense/matmul.h"
#include "storage/table_spec.h"

namespace strata::bench {
namespace {

constexpr uint64_t kRows = 20'000;       // of each slot
constexpr uint64_t kTextRows = 100'000;  // of a file
constexpr double kThousand = 1e3;
constexpr double kMillion = 1e6;

struct StepsCase {
  const char* model;
  uint32_t dim;
  uint32_t batch;
  const char* optimizer;  // of the rows

  std::string Name() const {
    return fmt::format("{} dim={} batch={} {}", model, dim, batch, optimizer);
  }
};

struct TextCase {
  const char* format;
  const char* model;
  uint32_t dim;
  uint32_t batch;

  std::string Name() const {
    return fmt::format("{} text, {} dim={} batch={}", format, model, dim, batch);
  }
};

struct ParseCase {
  const char* format;
  bool shuffles;

  std::string Name() const {
    return fmt::format("{} text parsed{}, threads={}", format, shuffles ? " and shuffled" : "",
                       Cores());
  }
};

// Floating-point operations a second of large products.
Result<double> ProductPeak(int threads) {
  constexpr size_t kSide = 1024;
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool,
                WorkPool::Start("products", threads - 1, ThreadWait::kSpinFirst));
  MatMul matmul(pool.get());
  const std::vector<float> a(kSide * kSide, 1.0F);
  std::vector<float> c(kSide * kSide);
  const Work work = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      STRATA_TRY(matmul.Run({}, {.m = kSide, .k = kSide, .n = kSide}, a, a, {}, c));
    }
    return Status();
  };
  STRATA_ASSIGN(const std::vector<double> rates,
                MeasureRates({{"products", work}}, 3, kSecond / 5));
  return rates[0] * 2.0 * kSide * kSide * kSide;
}

// Samples a second of eager PyTorch, and its name.
struct TorchRun {
  std::string name;
  double samples_per_second = 0;
};
Result<TorchRun> RunTorch(const StepsCase& of, int threads, double seconds) {
  STRATA_ASSIGN(
      const nlohmann::json json,
      RunPeerScript("torch_ctr.py", "torch",
                    {fmt::format("model={}", of.model), fmt::format("dim={}", of.dim),
                     fmt::format("batch={}", of.batch), fmt::format("optimizer={}", of.optimizer),
                     fmt::format("slots={}", kClickSlots), fmt::format("rows={}", kRows),
                     fmt::format("dense={}", kClickDense), fmt::format("threads={}", threads),
                     fmt::format("seconds={}", seconds)}));
  return TorchRun{fmt::format("PyTorch {} eager", json.value("version", "")),
                  json.value("samples_s", 0.0)};
}

Result<std::vector<Figure>> RunSteps(const StepsCase& of, const BenchOptions& options) {
  STRATA_ASSIGN(const ModelShape shape, ClickShape(of.model, of.dim));
  STRATA_ASSIGN(const OptimizerKind optimizer, ParseOptimizerKind(of.optimizer));
  const int threads = Cores();
  STRATA_ASSIGN(const double peak, ProductPeak(threads));
  STRATA_ASSIGN(const std::unique_ptr<ClickSteps> steps, ClickSteps::Make({.shape = shape,
                                                                           .batch_size = of.batch,
                                                                           .optimizer = optimizer,
                                                                           .rows = kRows,
                                                                           .threads = threads}));
  STRATA_ASSIGN(const uint64_t count,
                CountFor([&](uint64_t n) { return steps->Run(n); }, options.round));
  std::vector<double> ours;
  std::vector<double> theirs;
  Figure figure{.name = of.Name(), .unit = "K samples/s", .peer = "PyTorch eager"};
  bool has_peer = true;
  for (int round = 0; round < options.rounds; ++round) {
    const TimeNs begin = RealClock().Now();
    STRATA_TRY(steps->Run(count));
    const double seconds = SecondsBetween(begin, RealClock().Now());
    ours.push_back(static_cast<double>(count) * of.batch / seconds);
    if (!has_peer) continue;
    const Result<TorchRun> peer = RunTorch(of, threads, seconds);
    if (peer.status().code() == StatusCode::kNotFound) {
      PrintStderr("{}\n", peer.status().message());
      has_peer = false;
      continue;
    }
    STRATA_TRY(peer.status());
    figure.peer = peer->name;
    theirs.push_back(peer->samples_per_second);
  }
  figure.ours = Median(std::move(ours)) / kThousand;
  if (!theirs.empty()) figure.peer_value = Median(std::move(theirs)) / kThousand;
  figure.limit = peak / FlopsOf(GraphOf(shape)) / kThousand;
  return std::vector<Figure>{std::move(figure)};
}

Result<std::vector<Figure>> RunText(const TextCase& of, const BenchOptions& options) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  const std::string path = folder.path() + "/clicks.txt";
  STRATA_TRY(WriteClickText(path, of.format, kTextRows));
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    STRATA_ASSIGN(const double rate,
                  TrainFromText(path, of.format, of.model, of.dim, of.batch, Cores()));
    rates.push_back(rate);
  }
  return std::vector<Figure>{Figure{
      .name = of.Name(), .unit = "K samples/s", .ours = Median(std::move(rates)) / kThousand}};
}

// Beside one thread.
Result<std::vector<Figure>> RunParse(const ParseCase& of, const BenchOptions& options) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  const std::string path = folder.path() + "/clicks.txt";
  STRATA_TRY(WriteClickText(path, of.format, kTextRows));
  STRATA_ASSIGN(const std::unique_ptr<File> file, RealDisk().OpenToRead(path));
  STRATA_ASSIGN(const uint64_t bytes, file->Size());
  std::vector<std::unique_ptr<ClickParse>> parses;
  std::vector<Contender> contenders;
  for (const int threads : {Cores(), 1}) {
    STRATA_ASSIGN(std::unique_ptr<ClickParse> parse,
                  ClickParse::Make(path, of.format, of.shuffles, threads));
    contenders.push_back({"", [p = parse.get()](uint64_t epochs) { return p->Run(epochs); }});
    parses.push_back(std::move(parse));
  }
  STRATA_ASSIGN(const std::vector<double> epochs,
                MeasureRates(contenders, options.rounds, options.round));
  const auto figure = [&](const char* unit, double of_epoch) {
    return Figure{.name = of.Name(),
                  .unit = unit,
                  .ours = epochs[0] * of_epoch,
                  .peer = "one thread",
                  .peer_value = epochs[1] * of_epoch};
  };
  return std::vector<Figure>{figure("MB/s", static_cast<double>(bytes) / kMillion),
                             figure("K rows/s", double{kTextRows} / kThousand)};
}

}  // namespace

Suite CtrSuite() {
  return {"ctr", "training of click models from memory beside eager PyTorch, and from text",
          [](bool all) {
            std::vector<StepsCase> steps = {{"dlrm", 16, 2048, "adagrad"},
                                            {"deepfm", 16, 2048, "adagrad"},
                                            {"dcn_v2", 16, 2048, "adagrad"},
                                            {"dlrm", 128, 2048, "adagrad"}};
            if (all) {
              for (const char* model : {"deepfm", "dcn_v2"}) {
                steps.push_back({model, 128, 2048, "adagrad"});
              }
              for (const char* model : {"dlrm", "deepfm", "dcn_v2"}) {
                steps.push_back({model, 16, 8192, "sgd"});
              }
            }
            std::vector<Case> cases;
            for (const StepsCase& of : steps) {
              cases.push_back(
                  {of.Name(), [of](const BenchOptions& options) { return RunSteps(of, options); }});
            }
            for (const TextCase& of :
                 {TextCase{"criteo", "deepfm", 16, 2048}, TextCase{"csv", "deepfm", 16, 2048},
                  TextCase{"criteo", "fm", 16, 2048}, TextCase{"csv", "fm", 16, 2048}}) {
              cases.push_back(
                  {of.Name(), [of](const BenchOptions& options) { return RunText(of, options); }});
            }
            for (const ParseCase& of :
                 {ParseCase{"criteo", false}, ParseCase{"criteo", true}, ParseCase{"csv", false},
                  ParseCase{"libffm", false}, ParseCase{"libsvm", false}}) {
              cases.push_back(
                  {of.Name(), [of](const BenchOptions& options) { return RunParse(of, options); }});
            }
            return cases;
          }};
}

}  // namespace strata::bench
