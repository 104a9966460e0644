#include "bench/suites/search/gpu_collection.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/human_text.h"
#include "base/print.h"
#include "base/thread/thread.h"
#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/suites/search/set_documents.h"
#include "storage/itemset/item_gpu.h"
#include "storage/itemset/item_set.h"
#include "storage/itemset/measure_rates.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 11;
constexpr size_t kDocuments = 1'000'000;
constexpr size_t kQueries = 2000;
constexpr SearchGoal kGoal{.metric = SetMetric::kOverlapMax, .k = 100};
constexpr uint64_t kGpuBytes = uint64_t{4} << 30;

Status Fill(ItemSet& set, const std::vector<Document>& documents) {
  for (const Document& document : documents) STRATA_TRY(set.Upsert(document));
  set.WaitForGpu();
  return {};
}

// Searches for so many queries, others each time.
Work SearchesOf(const ItemSet& set, const SetList& queries, size_t count) {
  return [&set, queries, count, next = size_t{0}](uint64_t times) mutable -> Status {
    for (uint64_t time = 0; time < times; ++time) {
      const size_t first = next;
      next = next + 2 * count <= queries.size() ? next + count : 0;
      STRATA_TRY(set.Search(Some(queries, first, count), kGoal, {}).status());
    }
    return {};
  };
}

Result<std::vector<Figure>> Run(const std::string& name, TokenSpread spread,
                                const BenchOptions& options) {
  STRATA_ASSIGN(const SetDocuments drawn,
                SetDocuments::Make(kSeed, {.spread = spread}, kDocuments, kQueries));
  STRATA_ASSIGN(const auto pool, WorkPool::Start("search", Cores() - 1));
  STRATA_ASSIGN(const auto gpu, ItemGpu::Start(ItemGpuOptions::Divide(0, kGpuBytes)));
  SearchMeans means{.rates = MeasureSearchRates(RealClock()),
                    .pool = pool.get(),
                    .threads = static_cast<size_t>(Cores()),
                    .clock = &RealClock()};
  STRATA_ASSIGN(const auto on_cpu, ItemSet::Make({.spec = {}, .means = means}));
  STRATA_ASSIGN(means.rates.gpu, MeasureGpuRates(*gpu, *pool, RealClock()));
  means.items = gpu.get();
  STRATA_ASSIGN(const auto on_gpu, ItemSet::Make({.spec = {}, .means = means}));
  const std::vector<Document> documents = drawn.ForCollections();
  Status filled;
  STRATA_ASSIGN(auto filling, StartThread("fill", [&] { filled = Fill(*on_cpu, documents); }));
  STRATA_TRY(Fill(*on_gpu, documents));
  filling.join();
  STRATA_TRY(filled);
  const GpuCopyStats there = on_gpu->Stats().on_gpu;
  PrintStderr("{}: {} of {} segments on the GPU, {} there, in {} groups\n", name, there.segments,
              there.segments + there.lacking, HumanBytes(there.bytes), there.groups);

  const SetList queries = drawn.queries();
  STRATA_ASSIGN(const auto found, on_gpu->Search(queries, kGoal, {}));
  STRATA_ASSIGN(const auto expected, on_cpu->Search(queries, kGoal, {}));
  if (found != expected) return Internal("answers of the GPU's collection and the CPU's differ");

  std::vector<Figure> figures;
  for (const size_t count : {size_t{1}, size_t{32}, kQueries}) {
    STRATA_ASSIGN(const auto rates, MeasureRates({{"GPU", SearchesOf(*on_gpu, queries, count)},
                                                  {"CPU", SearchesOf(*on_cpu, queries, count)}},
                                                 options.rounds, options.round));
    figures.push_back({.name = fmt::format("{} queries={}", name, count),
                       .unit = "queries/s",
                       .ours = rates[0] * static_cast<double>(count),
                       .peer = fmt::format("the same without a GPU, {} threads", means.threads),
                       .peer_value = rates[1] * static_cast<double>(count)});
  }
  return figures;
}

}  // namespace

std::vector<Case> GpuCollectionCases() {
  std::vector<Case> cases;
  for (const auto& [spread, of] :
       {std::pair{TokenSpread::kUniform, "uniform"}, std::pair{TokenSpread::kZipf, "Zipf"}}) {
    const std::string name =
        fmt::format("collection documents={} tokens={} k={}", kDocuments, of, kGoal.k);
    cases.push_back(
        {name, [=](const BenchOptions& options) { return Run(name, spread, options); }});
  }
  return cases;
}

}  // namespace strata::bench
