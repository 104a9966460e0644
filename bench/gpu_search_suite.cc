// Suite "search" on a GPU: exact top-K of documents that are all in its memory.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "bench/figure.h"
#include "bench/measure.h"
#include "bench/set_documents.h"
#include "kernels/setops/count_search.h"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/strangers.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 11;
constexpr size_t kQueries = 2000;
constexpr SearchGoal kGoal{.metric = SetMetric::kOverlapMax, .k = 100};
constexpr int kTimes = 9;

// Milliseconds that baidu_topk v7 took for as many queries, measured on an H200; 0: not measured.
double PublishedTime(TokenSpread spread, size_t queries) {
  if (queries == 4 && spread == TokenSpread::kUniform) return 2.4;
  if (queries != kQueries) return 0;
  return spread == TokenSpread::kUniform ? 464 : 409;
}

SetList First(const SetList& queries, size_t count) {
  return {queries.offsets.first(count + 1), queries.tokens};
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

Result<std::vector<Figure>> RunCase(const std::string& name, TokenSpread spread, size_t documents) {
  STRATA_ASSIGN(const SetDocuments drawn, SetDocuments::Make(kSeed, spread, documents, kQueries));
  TimeNs begin = RealClock().Now();
  STRATA_ASSIGN(const std::vector<SetBlock> blocks, drawn.Blocks());
  const TimeNs built = RealClock().Now() - begin;
  begin = RealClock().Now();
  STRATA_ASSIGN(const auto sets, GpuSets::Open(0, blocks));
  const TimeNs uploaded = RealClock().Now() - begin;

  std::vector<Figure> figures;
  const auto add = [&](const std::string& what, double milliseconds, double published) {
    Figure figure{.name = fmt::format("{} {}", what, name),
                  .unit = "ms",
                  .more_is_better = false,
                  .ours = milliseconds};
    if (published > 0) {
      figure.peer = "baidu_topk v7";
      figure.peer_value = published;
      figure.recorded = true;
    }
    figures.push_back(std::move(figure));
  };
  for (const size_t count : {size_t{1}, size_t{4}, size_t{32}, size_t{200}, kQueries}) {
    const SetList queries = First(drawn.queries(), count);
    std::vector<double> times;
    for (int time = 0; time < kTimes; ++time) {
      begin = RealClock().Now();
      STRATA_ASSIGN(const auto answers, sets->Search(queries, kGoal));
      times.push_back(static_cast<double>(RealClock().Now() - begin) / 1e6);
      if (time == 0) STRATA_TRY(Check(blocks, queries, answers));
    }
    add(fmt::format("queries={}", count), Median(times), PublishedTime(spread, count));
    fmt::print(stderr, "{} queries: {} candidates each, {} asked again\n", count,
               sets->counts().candidates / count, sets->counts().asked_again);
  }
  add("index (CPU)", static_cast<double>(built) / 1e6, 0);
  add("upload", static_cast<double>(uploaded) / 1e6, 0);
  return figures;
}

std::vector<Case> Cases(bool /*all*/) {
  constexpr size_t kDocuments = 8'499'200;
  std::vector<Case> cases;
  for (const auto& [spread, of] :
       {std::pair{TokenSpread::kUniform, "uniform"}, std::pair{TokenSpread::kZipf, "Zipf"}}) {
    const std::string name = fmt::format("documents={} tokens={} k={}", kDocuments, of, kGoal.k);
    cases.push_back({name, [=](const BenchOptions&) { return RunCase(name, spread, kDocuments); }});
  }
  return cases;
}

}  // namespace

Suite GpuSearchSuite() { return {"search", "exact top-K by set intersection on the GPU", Cases}; }

}  // namespace strata::bench
