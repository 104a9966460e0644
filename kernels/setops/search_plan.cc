#include "kernels/setops/search_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/scan_search.h"
#include "strata/status.h"

namespace strata {
namespace {

static_assert(SearchPlan::kBatch == ScanSearch::kMostQueries);

// Blocks that stand for all. What counting and scanning take depends on how large a block is, so
// that those of about one size stand for each other: between a power of two and the next.
class Sample {
 public:
  struct Block {
    const SetBlock* block = nullptr;
    double stands_for = 1;  // so many times its documents
  };

  explicit Sample(std::span<const AllowedBlock> of) {
    std::array<std::vector<const AllowedBlock*>, kSizes> of_size;
    for (const AllowedBlock& block : of) {
      of_size[std::bit_width(block.block->size())].push_back(&block);
    }
    for (const auto& alike : of_size) {
      const size_t count = std::min(alike.size(), kLookedAt);
      double all = 0;
      double seen = 0;
      double allowed = 0;
      for (const AllowedBlock* block : alike) all += static_cast<double>(block->block->size());
      const size_t first = blocks_.size();
      for (size_t i = 0; i < count; ++i) {
        const AllowedBlock& block = *alike[i * alike.size() / count];
        blocks_.push_back({block.block, 1});
        seen += static_cast<double>(block.block->size());
        allowed += AllowedOf(block);
      }
      const double stands_for = seen > 0 ? all / seen : 0;
      for (Block& block : std::span(blocks_).subspan(first)) block.stands_for = stands_for;
      documents_ += all;
      allowed_ += allowed * stands_for;
    }
  }
  std::span<const Block> blocks() const { return blocks_; }
  double documents() const { return documents_; }  // of all
  double allowed() const { return allowed_; }      // of them, by filters and as not deleted

 private:
  static constexpr size_t kSizes = std::bit_width(SetBlock::kMostDocuments) + 1;
  static constexpr size_t kLookedAt = 4;  // of each size

  static double AllowedOf(const AllowedBlock& block) {
    if (block.allowed.empty()) return static_cast<double>(block.block->size());
    size_t allowed = 0;
    for (const uint64_t word : block.allowed) allowed += static_cast<size_t>(std::popcount(word));
    return static_cast<double>(allowed);
  }

  std::vector<Block> blocks_;
  double documents_ = 0;
  double allowed_ = 0;
};

// Of numbers by Poisson's law around a mean above 0: nearly none are below this.
double FirstOf(double mean) { return std::max(std::floor(mean - 8 * std::sqrt(mean)), 0.0); }

// Those of exactly n, which is at least 1. By Stirling's formula: e^-mean is 0 from 746 on.
double ShareOf(double n, double mean) {
  return std::exp(n * std::log(mean / n) + n - mean) /
         (std::sqrt(2 * std::numbers::pi * n) * (1 + 1 / (12 * n)));
}

// Those of `least` and more.
double ShareFrom(uint32_t least, double mean) {
  if (mean <= 0) return least == 0 ? 1 : 0;
  double n = FirstOf(mean);
  double exactly = n > 0 ? ShareOf(n, mean) : std::exp(-mean);
  double below = 0;
  for (; n < least && below < 1 - 1e-9; ++n) {
    below += exactly;
    exactly *= mean / (n + 1);
  }
  return std::max(1 - below, 0.0);
}

// The share of documents that are at least as alike to a query as is asked for, about. Those of
// about one length stand for each other; the longer they are, the more they share with it.
class AlikeDocuments {
 public:
  AlikeDocuments(const Sample& sample, const SearchGoal& goal) : goal_(goal) {
    for (const auto& [block, stands_for] : sample.blocks()) {
      for (const SetBlock::Run& run : block->runs()) {
        if (run.length == 0) continue;
        const double documents = static_cast<double>(run.end - run.begin) * stands_for;
        OfLength& alike = lengths_[LengthClass(run.length)];
        alike.documents += documents;
        alike.tokens += documents * static_cast<double>(run.length);
        tokens_ += documents * static_cast<double>(run.length);
      }
    }
  }
  // `overlaps`: of all documents with the query, together.
  double CountOf(uint32_t query_length, double overlaps) const {
    double count = 0;
    for (const OfLength& of : lengths_) {
      if (of.documents == 0) continue;
      const double length = of.tokens / of.documents;
      const auto whole = static_cast<uint32_t>(std::lround(length));
      const uint32_t least = LeastOverlap(goal_.metric, goal_.at_least, query_length, whole);
      if (least > std::min(query_length, whole)) continue;
      count += of.documents * ShareFrom(least, overlaps * length / tokens_);
    }
    return count;
  }

 private:
  struct OfLength {
    double documents = 0;
    double tokens = 0;
  };
  // Two to each power of two.
  static size_t LengthClass(uint32_t length) {
    const auto bits = static_cast<size_t>(std::bit_width(length));
    return 2 * bits + (bits > 1 ? length >> (bits - 2) & 1 : 0);
  }

  const SearchGoal goal_;
  std::array<OfLength, 2 * 33> lengths_{};
  double tokens_ = 0;
};

// What answering with one kind of engine takes, query by query.
struct Costs {
  double counting_ratio = 1;
  double scanning_ratio = 1;
  std::vector<double> counting_ns = {};    // of each query
  std::vector<double> candidates = {};     // likewise, that are offered to TopHits
  std::vector<double> candidates_ns = {};  // besides, with any engine
  double scan_ns = 0;                      // of `scanned` queries
  size_t scanned = 1;
  double scan_call_ns = 0;  // if anything is scanned

  double Counting(std::span<const uint32_t> queries) const {
    double ns = 0;
    for (const uint32_t query : queries) ns += counting_ns[query] + candidates_ns[query];
    return counting_ratio * ns;
  }
  // But for scan_call_ns.
  double Scanning(std::span<const uint32_t> queries) const {
    const size_t passes = (queries.size() + scanned - 1) / scanned;
    double ns = static_cast<double>(passes) * scan_ns;
    for (const uint32_t query : queries) ns += candidates_ns[query];
    return scanning_ratio * ns;
  }
  double ScanCall() const { return scanning_ratio * scan_call_ns; }

  double CountingAll() const { return Counting(All()); }
  double ScanningAll() const { return ScanCall() + Scanning(All()); }
  std::vector<uint32_t> All() const {
    std::vector<uint32_t> all(counting_ns.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
};

// Queries, the dearest to count first, and how many of them are best scanned.
struct Division {
  std::vector<uint32_t> order;
  size_t scanned = 0;
  double estimate_ns = 0;

  explicit Division(const Costs& costs) : order(costs.All()) {
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return costs.counting_ns[a] > costs.counting_ns[b];
    });
    estimate_ns = costs.Counting(order);
    // Groups that each take less than to count them; some more of them than pay for the call.
    double scanning = costs.ScanCall();
    for (size_t begin = 0; begin < order.size();) {
      const size_t end = std::min(begin + costs.scanned, order.size());
      const auto group = std::span<const uint32_t>(order).subspan(begin, end - begin);
      const double scan = costs.Scanning(group);
      if (costs.Counting(group) <= scan) break;
      scanning += scan;
      begin = end;
      const double all = scanning + costs.Counting(std::span(order).subspan(end));
      if (all < estimate_ns) {
        scanned = end;
        estimate_ns = all;
      }
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
    SearchPlan::Group group{engine, {some.begin(), some.end()}};
    std::sort(group.queries.begin(), group.queries.end());
    for (const uint32_t query : some) group.candidates += costs.candidates[query];
    group.estimate_ns = scans ? costs.ScanCall() + costs.Scanning(some) : costs.Counting(some);
    plan.groups.push_back(std::move(group));
  }
}

// Of a query in a block: what counting is made of, and all overlaps of documents with it, together,
// about: some words of bits stand for all.
struct QueryWork {
  CountWork count;
  double overlaps = 0;

  QueryWork(const SetBlock& block, std::span<const Token> query)
      : count{.lookups = static_cast<double>(query.size())} {
    constexpr size_t kWordsLookedAt = 16;
    const size_t step = std::max<size_t>(block.words() / kWordsLookedAt, 1);
    for (const Token token : query) {
      const SetBlock::Places places = block.With(token);
      count.postings += static_cast<double>(places.list.size());
      count.words += static_cast<double>(places.bits.size());
      for (size_t word = 0; word < places.bits.size(); word += step) {
        overlaps += std::popcount(places.bits[word]) * static_cast<double>(step);
      }
    }
    overlaps += count.postings;
    // A block none of whose documents share a token is left at once.
    if (count.postings + count.words > 0) {
      count.documents = static_cast<double>(block.words() * 64);
    }
  }
};

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

ScanWork ScanWork::operator*(double times) const {
  return {lists * times, tokens * times, documents * times};
}

CountWork CountWorkOf(const SetBlock& block, std::span<const Token> query) {
  return QueryWork(block, query).count;
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
  double least = std::max(FirstOf(overlap), 1.0);
  double exactly = ShareOf(least, overlap);
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
  const double documents = sample.documents();
  std::optional<AlikeDocuments> alike;
  if (goal.at_least.num > 0) alike.emplace(sample, goal);
  Costs cpu{.counting_ratio = rates.RatioOf(SearchEngine::kCounting),
            .scanning_ratio = rates.RatioOf(SearchEngine::kScanning),
            .scanned = SearchPlan::kBatch};
  Costs gpu{.counting_ratio = rates.RatioOf(SearchEngine::kGpuCounting),
            .scanning_ratio = rates.RatioOf(SearchEngine::kGpuScanning),
            .scanned = GpuSets::kScanned,
            .scan_call_ns = rates.gpu.scan_call_ns};
  for (size_t i = 0; i < queries.size(); ++i) {
    double overlaps = 0;
    double cpu_ns = 0;
    double gpu_ns = 0;
    for (const auto& [block, stands_for] : sample.blocks()) {
      const QueryWork work(*block, queries[i]);
      overlaps += work.overlaps * stands_for;
      cpu_ns += rates.count.Time(work.count) * stands_for;
      gpu_ns += rates.gpu.count.Time(work.count) * stands_for;
    }
    cpu.counting_ns.push_back(cpu_ns);
    const double each = documents > 0 ? overlaps / documents : 0;
    double candidates = CandidatesOf(sample.allowed(), each, goal.k);
    if (alike && documents > 0) {
      const double wanted = alike->CountOf(static_cast<uint32_t>(queries[i].size()), overlaps);
      candidates = std::min(candidates, wanted * sample.allowed() / documents);
    }
    cpu.candidates.push_back(candidates);
    cpu.candidates_ns.push_back(rates.candidate_ns * cpu.candidates.back());
    gpu.counting_ns.push_back(gpu_ns);
    gpu.candidates.push_back(0);
    gpu.candidates_ns.push_back(rates.gpu.query_ns);
  }
  ScanWork scan;
  for (const auto& [block, stands_for] : sample.blocks()) scan += ScanWorkOf(*block) * stands_for;
  cpu.scan_ns = rates.scan.Time(scan);
  gpu.scan_ns = rates.gpu.scan.Time(scan);
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
      load_ns = pieces * rates.gpu.load_call_ns + scan.tokens * rates.gpu.load_token_ns;
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
