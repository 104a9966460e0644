#include "kernels/setops/search_plan.h"

#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/scan_search.h"

namespace strata {
namespace {

static_assert(SearchPlan::kBatch == ScanSearch::kMostQueries);

constexpr size_t kBlocksLookedAt = 8;

// Blocks that stand for all, evenly spaced, and how many documents there are for each of theirs.
struct Sample {
  std::vector<const SetBlock*> blocks;
  double documents_each = 1;

  explicit Sample(std::span<const AllowedBlock> of) {
    size_t all = 0;
    for (const AllowedBlock& block : of) all += block.block->size();
    const size_t count = std::min(of.size(), kBlocksLookedAt);
    size_t seen = 0;
    for (size_t i = 0; i < count; ++i) {
      blocks.push_back(of[i * of.size() / count].block);
      seen += blocks.back()->size();
    }
    if (seen > 0) documents_each = static_cast<double>(all) / static_cast<double>(seen);
  }
};

template <typename Rates, typename Work>
double TimeOf(const Rates& rates, const Work& work, double times) {
  return rates.Time(work) * times;
}

// Puts the queries into groups of kBatch.
void AddGroups(SearchEngine engine, std::span<const uint32_t> queries,
               std::span<const double> counting_ns, double scan_ns, SearchPlan& plan) {
  for (size_t begin = 0; begin < queries.size(); begin += SearchPlan::kBatch) {
    const auto some = queries.subspan(begin, std::min(SearchPlan::kBatch, queries.size() - begin));
    SearchPlan::Group group{engine, {some.begin(), some.end()}, scan_ns};
    if (engine == SearchEngine::kCounting) {
      group.estimate_ns = 0;
      for (const uint32_t query : some) group.estimate_ns += counting_ns[query];
    }
    plan.estimate_ns += group.estimate_ns;
    plan.groups.push_back(std::move(group));
  }
}

// A query longer than this is not counted on a GPU.
bool FitGpu(const SetList& queries) {
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].size() > GpuSets::kLongestQuery) return false;
  }
  return true;
}

}  // namespace

std::string_view NameOf(SearchEngine engine) {
  constexpr std::array<std::string_view, 3> kNames = {"counting", "scanning", "counting on a GPU"};
  return kNames.at(static_cast<size_t>(engine));
}

CountWork& CountWork::operator+=(const CountWork& other) {
  lookups += other.lookups;
  postings += other.postings;
  words += other.words;
  documents += other.documents;
  return *this;
}

ScanWork& ScanWork::operator+=(const ScanWork& other) {
  lists += other.lists;
  tokens += other.tokens;
  documents += other.documents;
  return *this;
}

CountWork CountWorkOf(const SetBlock& block, std::span<const Token> query) {
  CountWork work{.lookups = static_cast<double>(query.size())};
  for (const Token token : query) {
    const SetBlock::Places places = block.With(token);
    work.postings += static_cast<double>(places.list.size());
    work.words += static_cast<double>(places.bits.size());
  }
  // A block none of whose documents share a token is left at once.
  if (work.postings + work.words > 0) work.documents = static_cast<double>(block.words() * 64);
  return work;
}

ScanWork ScanWorkOf(const SetBlock& block) {
  ScanWork work{.lists = static_cast<double>(block.lists())};
  for (const SetBlock::Run& run : block.runs()) {
    const auto documents = static_cast<double>(run.end - run.begin);
    if (run.length == 0) continue;
    work.documents += documents;
    work.tokens += documents * static_cast<double>(run.length);
  }
  return work;
}

SearchPlan PlanSearch(const PlannedBlocks& blocks, const SetList& queries, const SearchRates& rates,
                      size_t threads) {
  STRATA_CHECK(threads > 0);
  const Sample sample(blocks.blocks);
  std::vector<double> counting_ns(queries.size());
  CountWork all;
  for (size_t i = 0; i < queries.size(); ++i) {
    CountWork work;
    for (const SetBlock* block : sample.blocks) work += CountWorkOf(*block, queries[i]);
    counting_ns[i] = TimeOf(rates.count, work, sample.documents_each);
    all += work;
  }
  ScanWork scan;
  for (const SetBlock* block : sample.blocks) scan += ScanWorkOf(*block);
  const double scan_ns = TimeOf(rates.scan, scan, sample.documents_each);

  SearchPlan plan;
  const auto shared = static_cast<double>(threads);
  const size_t batches = (queries.size() + SearchPlan::kBatch - 1) / SearchPlan::kBatch;
  plan.counting_ns = std::accumulate(counting_ns.begin(), counting_ns.end(), 0.0) / shared;
  plan.scanning_ns = static_cast<double>(batches) * scan_ns / shared;

  // The dearest to count first. Each further group to scan saves no more than the one before.
  std::vector<uint32_t> order(queries.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return counting_ns[a] > counting_ns[b]; });
  size_t scanned = 0;
  while (scanned < order.size()) {
    const size_t end = std::min(scanned + SearchPlan::kBatch, order.size());
    double counted = 0;
    for (size_t i = scanned; i < end; ++i) counted += counting_ns[order[i]];
    if (counted <= scan_ns) break;
    scanned = end;
  }
  const std::span<const uint32_t> ordered(order);
  AddGroups(SearchEngine::kScanning, ordered.first(scanned), counting_ns, scan_ns, plan);
  AddGroups(SearchEngine::kCounting, ordered.subspan(scanned), counting_ns, scan_ns, plan);
  plan.estimate_ns /= shared;

  if (blocks.gpu_has_all && queries.size() > 0 && FitGpu(queries)) {
    plan.gpu_ns = rates.gpu_call_ns + TimeOf(rates.gpu, all, sample.documents_each);
    if (*plan.gpu_ns < plan.estimate_ns) {
      std::sort(order.begin(), order.end());
      plan.groups = {{SearchEngine::kGpuCounting, std::move(order), *plan.gpu_ns}};
      plan.estimate_ns = *plan.gpu_ns;
    }
  }
  return plan;
}

}  // namespace strata
