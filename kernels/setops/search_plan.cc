#include "kernels/setops/search_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
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

// What answering with one kind of engine takes, query by query.
struct Costs {
  std::vector<double> counting_ns = {};    // of each query
  std::vector<double> candidates_ns = {};  // besides, with any engine
  double scan_ns = 0;                      // of `scanned` queries
  size_t scanned = 1;
  double scan_call_ns = 0;  // if anything is scanned

  double CountingAll() const { return Sum(counting_ns) + Sum(candidates_ns); }
  double ScanningAll() const {
    const size_t passes = (counting_ns.size() + scanned - 1) / scanned;
    return scan_call_ns + static_cast<double>(passes) * scan_ns + Sum(candidates_ns);
  }
  static double Sum(std::span<const double> of) {
    return std::accumulate(of.begin(), of.end(), 0.0);
  }
};

// Queries, the dearest to count first, and how many of them are best scanned.
struct Division {
  std::vector<uint32_t> order;
  size_t scanned = 0;
  double estimate_ns = 0;

  explicit Division(const Costs& costs) : order(costs.counting_ns.size()) {
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return costs.counting_ns[a] > costs.counting_ns[b];
    });
    // Each further group to scan saves no more than the one before.
    double saved = -costs.scan_call_ns;
    while (scanned < order.size()) {
      const size_t end = std::min(scanned + costs.scanned, order.size());
      double counted = 0;
      for (size_t i = scanned; i < end; ++i) counted += costs.counting_ns[order[i]];
      if (counted <= costs.scan_ns) break;
      saved += counted - costs.scan_ns;
      scanned = end;
    }
    estimate_ns = costs.CountingAll();
    if (saved <= 0) {
      scanned = 0;
    } else {
      estimate_ns -= saved;
    }
  }
  // One engine for all of them, the faster one.
  void Unite(const Costs& costs) {
    scanned = costs.ScanningAll() < costs.CountingAll() ? order.size() : 0;
    estimate_ns = std::min(costs.ScanningAll(), costs.CountingAll());
  }
  std::span<const uint32_t> ToScan() const { return std::span(order).first(scanned); }
  std::span<const uint32_t> ToCount() const { return std::span(order).subspan(scanned); }
};

// Puts the queries into groups of at most `most`.
void AddGroups(SearchEngine engine, std::span<const uint32_t> queries, size_t most, bool scans,
               const Costs& costs, SearchPlan& plan) {
  for (size_t begin = 0; begin < queries.size(); begin += most) {
    const auto some = queries.subspan(begin, std::min(most, queries.size() - begin));
    SearchPlan::Group group{engine, {some.begin(), some.end()}, 0};
    std::sort(group.queries.begin(), group.queries.end());
    if (scans) {
      const size_t passes = (some.size() + costs.scanned - 1) / costs.scanned;
      group.estimate_ns = costs.scan_call_ns + static_cast<double>(passes) * costs.scan_ns;
    }
    for (const uint32_t query : some) {
      group.estimate_ns += costs.candidates_ns[query];
      if (!scans) group.estimate_ns += costs.counting_ns[query];
    }
    plan.groups.push_back(std::move(group));
  }
}

// Of all documents of a block with the query, together, about: some words of bits stand for all.
double OverlapsOf(const SetBlock& block, std::span<const Token> query) {
  constexpr size_t kWordsLookedAt = 16;
  const size_t step = std::max<size_t>(block.words() / kWordsLookedAt, 1);
  double overlaps = 0;
  for (const Token token : query) {
    const SetBlock::Places places = block.With(token);
    overlaps += static_cast<double>(places.list.size());
    for (size_t word = 0; word < places.bits.size(); word += step) {
      overlaps += std::popcount(places.bits[word]) * static_cast<double>(step);
    }
  }
  return overlaps;
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
  constexpr std::array<std::string_view, 4> kNames = {"counting", "scanning", "counting on a GPU",
                                                      "scanning on a GPU"};
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

double CandidatesOf(double documents, double overlap, size_t k) {
  if (k == 0 || overlap <= 0) return 0;
  const auto room = static_cast<double>(TopHits::RoomFor(k));
  // Documents that have an overlap of `least` or more, and of one more: shares of all.
  double least = 1;
  double exactly = overlap * std::exp(-overlap);
  double have = 1 - std::exp(-overlap);
  double have_more = std::max(have - exactly, 0.0);
  double seen = 0;
  double candidates = 0;
  double kept = 0;
  while (seen < documents) {
    // Until there is no more room, and the best k are kept.
    const double until = std::min(seen + (room - kept) / have, documents);
    candidates += (until - seen) * have;
    seen = until;
    kept = static_cast<double>(k);
    while (have_more * seen >= kept) {
      ++least;
      exactly *= overlap / least;
      have = have_more;
      have_more = std::max(have - exactly, 0.0);
    }
  }
  return candidates;
}

SearchPlan PlanSearch(const PlannedBlocks& blocks, const SetList& queries, const SearchGoal& goal,
                      const SearchRates& rates, size_t threads) {
  STRATA_CHECK(threads > 0);
  const Sample sample(blocks.blocks);
  double documents = 0;
  for (const SetBlock* block : sample.blocks) documents += static_cast<double>(block->size());
  documents *= sample.documents_each;
  Costs cpu{.scanned = SearchPlan::kBatch};
  Costs gpu{.scanned = GpuSets::kScanned, .scan_call_ns = rates.gpu.scan_call_ns};
  for (size_t i = 0; i < queries.size(); ++i) {
    CountWork work;
    double overlaps = 0;
    for (const SetBlock* block : sample.blocks) {
      work += CountWorkOf(*block, queries[i]);
      overlaps += OverlapsOf(*block, queries[i]);
    }
    cpu.counting_ns.push_back(TimeOf(rates.count, work, sample.documents_each));
    const double each = documents > 0 ? overlaps * sample.documents_each / documents : 0;
    cpu.candidates_ns.push_back(rates.candidate_ns * CandidatesOf(documents, each, goal.k));
    gpu.counting_ns.push_back(TimeOf(rates.gpu.count, work, sample.documents_each));
    gpu.candidates_ns.push_back(rates.gpu.query_ns);
  }
  ScanWork scan;
  for (const SetBlock* block : sample.blocks) scan += ScanWorkOf(*block);
  cpu.scan_ns = TimeOf(rates.scan, scan, sample.documents_each);
  gpu.scan_ns = TimeOf(rates.gpu.scan, scan, sample.documents_each);
  if (!blocks.gpu_scans) gpu.scan_ns = std::numeric_limits<double>::max();

  SearchPlan plan;
  const auto shared = static_cast<double>(threads);
  plan.counting_ns = cpu.CountingAll() / shared;
  plan.scanning_ns = cpu.ScanningAll() / shared;
  const Division on_cpu(cpu);
  plan.estimate_ns = on_cpu.estimate_ns / shared;
  if (blocks.gpu_has_all && queries.size() > 0 && FitGpu(queries)) {
    Division on_gpu(gpu);
    double calls_ns = rates.gpu.call_ns;
    double load_ns = 0;
    if (blocks.gpu_pieces > 0) {
      // Each engine would have them brought there anew.
      on_gpu.Unite(gpu);
      const auto pieces = static_cast<double>(blocks.gpu_pieces);
      calls_ns *= pieces;
      load_ns = pieces * rates.gpu.load_call_ns +
                scan.tokens * sample.documents_each * rates.gpu.load_token_ns;
    }
    plan.gpu_ns = load_ns + calls_ns + on_gpu.estimate_ns;
    if (*plan.gpu_ns < plan.estimate_ns) {
      plan.estimate_ns = *plan.gpu_ns;
      plan.load_pieces = blocks.gpu_pieces;
      plan.load_ns = load_ns;
      AddGroups(SearchEngine::kGpuScanning, on_gpu.ToScan(), queries.size(), true, gpu, plan);
      AddGroups(SearchEngine::kGpuCounting, on_gpu.ToCount(), queries.size(), false, gpu, plan);
      plan.groups.front().estimate_ns += load_ns + calls_ns;
      return plan;
    }
  }
  constexpr size_t kBatch = SearchPlan::kBatch;
  AddGroups(SearchEngine::kScanning, on_cpu.ToScan(), kBatch, true, cpu, plan);
  AddGroups(SearchEngine::kCounting, on_cpu.ToCount(), kBatch, false, cpu, plan);
  return plan;
}

}  // namespace strata
