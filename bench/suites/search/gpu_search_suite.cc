// Suite "search" on a GPU: exact top-K of documents that are all in its memory, and of collections.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/print.h"
#include "base/thread/work_pool.h"
#include "bench/harness/figure.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/suites/search/gpu_collection.h"
#include "bench/suites/search/set_documents.h"
#include "kernels/setops/count_search.h"
#include "kernels/setops/gpu_index.cuh"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/strangers.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 11;
constexpr size_t kQueries = 2000;
constexpr SearchGoal kGoal{.metric = SetMetric::kOverlapMax, .k = 100};
constexpr size_t kTimes = 9;  // that as many queries are asked for, or kQueriesAsked in all
constexpr size_t kQueriesAsked = 400;

// Milliseconds that baidu_topk v7 took for as many queries, measured on an H200; 0: not measured.
double PublishedTime(const SetShape& shape, size_t queries) {
  if (shape.lengths != SetLengths::kUniform) return 0;
  if (queries == 4 && shape.spread == TokenSpread::kUniform) return 2.4;
  if (queries != kQueries) return 0;
  return shape.spread == TokenSpread::kUniform ? 464 : 409;
}

std::string_view NameOf(GpuEngine engine) {
  return engine == GpuEngine::kCounting ? "count" : "scan";
}

// A few answers by the CPU.
Status Check(std::span<const SetBlock> blocks, const SetList& queries,
             const std::vector<std::vector<Hit>>& answers) {
  CountSearch search;
  const std::vector<AllowedBlock> all = AllowAll(blocks);
  const size_t step = std::max<size_t>(queries.size() / 20, 1);
  for (size_t i = 0; i < queries.size(); i += step) {
    TopHits hits(kGoal, static_cast<uint32_t>(queries[i].size()));
    for (const SetBlock& block : blocks) search.Search(block, queries[i], {}, hits);
    if (answers[i] != TakeAnswer(all, hits))
      return Internal(fmt::format("query {}: a wrong answer", i));
  }
  return {};
}

// Documents on the GPU, and what is measured with them.
class GpuSearch {
 public:
  explicit GpuSearch(std::string name) : name_(std::move(name)) {}

  Result<std::vector<Figure>> Run(const SetShape& shape, size_t documents) {
    STRATA_ASSIGN(const SetDocuments drawn, SetDocuments::Make(kSeed, shape, documents, kQueries));
    STRATA_ASSIGN(pool_, WorkPool::Start("search", static_cast<int>(Cores()) - 1));
    const TimeNs begin = RealClock().Now();
    STRATA_ASSIGN(const std::vector<SetBlock> blocks, drawn.Blocks());
    Add("index (CPU)", Milliseconds(begin));
    STRATA_ASSIGN(const FlatDocuments flat, drawn.Flat());
    STRATA_TRY(MeasureIndex(flat));
    STRATA_TRY(MeasureWhole(
        flat, drawn.queries(),
        shape.spread == TokenSpread::kZipf ? GpuEngine::kScanning : GpuEngine::kCounting));
    STRATA_ASSIGN(const auto source, SourceOf(flat.view()));
    STRATA_ASSIGN(const auto sets, GpuSets::Open(0, *source, *pool_));
    for (const size_t count :
         {size_t{1}, size_t{4}, size_t{16}, size_t{32}, size_t{200}, kQueries}) {
      for (const GpuEngine engine : {GpuEngine::kCounting, GpuEngine::kScanning}) {
        if (engine == GpuEngine::kScanning && (count < 32 || !sets->scans())) continue;
        STRATA_TRY(MeasureSearch(*sets, blocks, drawn.queries(), count, engine, shape));
      }
    }
    return std::move(figures_);
  }

 private:
  static double Milliseconds(TimeNs begin) {
    return static_cast<double>(RealClock().Now() - begin) / 1e6;
  }
  void Add(const std::string& what, double milliseconds, double published = 0) {
    Figure figure{.name = fmt::format("{} {}", what, name_),
                  .unit = "ms",
                  .more_is_better = false,
                  .ours = milliseconds};
    if (published > 0) {
      figure.peer = "baidu_topk v7";
      figure.peer_value = published;
      figure.recorded = true;
    }
    figures_.push_back(std::move(figure));
  }

  // Of documents whose tokens are on the GPU.
  Status MeasureIndex(const FlatDocuments& flat) {
    constexpr int kMade = 5;
    std::vector<double> made;
    for (int time = 0; time < kMade; ++time) {
      STRATA_ASSIGN(const auto source, SourceOf(flat.view()));
      gpu_sets::GpuIndex index;
      TimeNs alone = 0;
      STRATA_TRY(index.Look(*source, *pool_));
      STRATA_TRY(index.Make(*source, *pool_, 0, &alone));
      made.push_back(static_cast<double>(alone) / 1e6);
    }
    Add("index alone (GPU)", Median(made));
    return {};
  }

  // From arrays of the host to an index on the GPU, and on to answers by the engine that so many
  // queries take the least time with, which is what a collection's planner chooses.
  Status MeasureWhole(const FlatDocuments& flat, const SetList& queries, GpuEngine engine) {
    constexpr int kOpened = 5;
    std::vector<double> opened;
    std::vector<double> whole;
    for (int time = 0; time < kOpened; ++time) {
      const TimeNs begin = RealClock().Now();
      STRATA_ASSIGN(const auto source, SourceOf(flat.view()));
      STRATA_ASSIGN(const auto sets, GpuSets::Open(0, *source, *pool_));
      opened.push_back(Milliseconds(begin));
      STRATA_ASSIGN(const auto answers, sets->Search(queries, kGoal, {.engine = engine}));
      whole.push_back(Milliseconds(begin));
    }
    Add("upload and index (GPU)", Median(opened));
    Add(fmt::format("upload, index and {} queries={}", NameOf(engine), queries.size()),
        Median(whole));
    return {};
  }

  // So many queries at once, others each time.
  Status MeasureSearch(GpuSets& sets, std::span<const SetBlock> blocks, const SetList& queries,
                       size_t count, GpuEngine engine, const SetShape& shape) {
    std::vector<double> times;
    for (size_t time = 0; time < std::max(kTimes, kQueriesAsked / count); ++time) {
      const size_t first = time * count % (queries.size() - count + 1);
      const SetList asked = Some(queries, first, count);
      const TimeNs begin = RealClock().Now();
      STRATA_ASSIGN(const auto answers, sets.Search(asked, kGoal, {.engine = engine}));
      times.push_back(Milliseconds(begin));
      if (time == 0) STRATA_TRY(Check(blocks, asked, answers));
    }
    Add(fmt::format("{} queries={}", NameOf(engine), count), Median(times),
        PublishedTime(shape, count));
    PrintStderr("{} {} queries: {} candidates each, {} asked again\n", NameOf(engine), count,
                sets.counts().candidates / count, sets.counts().asked_again);
    return {};
  }

  const std::string name_;
  std::unique_ptr<WorkPool> pool_;
  std::vector<Figure> figures_;
};

// A process of its own, as the contest's programs are, of the program that lies beside this one.
// As this one holds the GPU meanwhile, CUDA's driver is there in a tenth of the time.
Result<std::vector<Figure>> RunContest(const std::string& name, const std::string& arguments) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string command =
      fmt::format("'{}' {}", (folder / "strata-bench-search-contest").string(), arguments);
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return Failed(fmt::format("{} does not start", command));
  constexpr double kPublished = 827;  // baidu_topk v7 on an H200
  std::vector<Figure> figures;
  double ms = 0;
  char what[64];
  while (fscanf(output, "%lf %63[^\n]", &ms, what) == 2) {
    const bool is_all = std::string_view(what) == "all";
    Figure figure{.name = fmt::format("{} {}",
                                      is_all ? "contest clock, beside this process on the GPU"
                                             : fmt::format("- {}", what),
                                      name),
                  .unit = "ms",
                  .more_is_better = false,
                  .ours = ms};
    if (is_all) {
      figure.peer = "baidu_topk v7";
      figure.peer_value = kPublished;
      figure.recorded = true;
    }
    figures.push_back(std::move(figure));
  }
  if (pclose(output) != 0) return Failed(fmt::format("{} failed", command));
  return figures;
}

std::vector<Case> Cases(bool /*all*/) {
  constexpr size_t kDocuments = 8'499'200;
  std::vector<Case> cases;
  for (const TokenSpread spread : {TokenSpread::kUniform, TokenSpread::kZipf}) {
    for (const SetLengths lengths : {SetLengths::kUniform, SetLengths::kContest}) {
      const SetShape shape{spread, lengths};
      const std::string name =
          fmt::format("documents={} {} k={}", kDocuments, shape.Name(), kGoal.k);
      cases.push_back(
          {name, [=](const BenchOptions&) { return GpuSearch(name).Run(shape, kDocuments); }});
      if (lengths == SetLengths::kContest) continue;
      const char* of = spread == TokenSpread::kUniform ? "uniform" : "Zipf";
      cases.push_back({"contest " + name, [=](const BenchOptions&) {
                         return RunContest(name, fmt::format("{} {} {}", of, kDocuments, kQueries));
                       }});
    }
  }
  std::ranges::move(GpuCollectionCases(), std::back_inserter(cases));
  return cases;
}

}  // namespace

Suite GpuSearchSuite() { return {"search", "exact top-K by set intersection on the GPU", Cases}; }

}  // namespace strata::bench
