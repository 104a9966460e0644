#include "storage/itemset/measure_rates.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/thread/mutex.h"
#include "kernels/setops/count_search.h"
#include "kernels/setops/gpu_bytes.h"
#include "kernels/setops/scan_search.h"

namespace strata {
namespace {

constexpr size_t kDocuments = 32'768;  // half a block: its counters are in no first cache
constexpr int kTimes = 5;  // of which the shortest counts: what else runs only lengthens them
// Within reach of every document, so that none is left out, and reached by next to none of them, as
// it soon is in a search.
constexpr SearchGoal kGoal{
    .metric = SetMetric::kContainmentDocument, .k = 100, .at_least = {19, 20}};

// A block of documents of about so many tokens out of a vocabulary.
SetBlock MakeBlock(size_t documents, size_t length, Token vocabulary) {
  Random random(7);
  SetLists sets;
  std::vector<DocumentId> ids;
  std::vector<Token> tokens(length);
  for (size_t i = 0; i < documents; ++i) {
    for (Token& token : tokens) token = static_cast<Token>(random.Below(vocabulary));
    sets.Add(tokens);
    ids.push_back(i);
  }
  return SetBlock::Build(ids, sets.view());
}

// `count` tokens from `first` on, `step` apart.
std::vector<Token> Tokens(Token first, size_t count, Token step) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < count; ++i) tokens.push_back(first + static_cast<Token>(i) * step);
  return tokens;
}

// So many of `length` tokens each, far apart, as lists of different queries are.
std::vector<std::vector<Token>> Queries(size_t length, Token vocabulary,
                                        Token count = ScanSearch::kMostQueries) {
  std::vector<std::vector<Token>> queries;
  const auto step = std::max<Token>(vocabulary / static_cast<Token>(length), 1);
  for (Token i = 0; i < count; ++i) queries.push_back(Tokens(i * step / count, length, step));
  return queries;
}

template <typename Run>
double Shortest(const Clock& clock, const Run& run) {
  double shortest = std::numeric_limits<double>::max();
  for (int i = 0; i < kTimes; ++i) {
    const TimeNs begin = clock.Now();
    run();
    shortest = std::min(shortest, static_cast<double>(clock.Now() - begin));
  }
  return shortest;
}

// A clock's grain must not make a unit cost nothing.
double AboveZero(double rate) {
  constexpr double kLeast = 1e-4;
  return std::max(rate, kLeast);
}

// What two kinds of unit take, by two measurements that have different shares of them.
struct Pair {
  double first = 0;
  double second = 0;
};
Pair Solve(const Pair& units_a, double time_a, const Pair& units_b, double time_b) {
  const double determinant = units_a.first * units_b.second - units_b.first * units_a.second;
  return {AboveZero((time_a * units_b.second - time_b * units_a.second) / determinant),
          AboveZero((units_a.first * time_b - units_b.first * time_a) / determinant)};
}

struct Counted {
  CountWork work;
  double time = 0;
};
Counted CountAll(const Clock& clock, const SetBlock& block,
                 const std::vector<std::vector<Token>>& queries, const SearchGoal& goal) {
  Counted counted;
  for (const auto& query : queries) counted.work += CountWorkOf(block, query);
  CountSearch search;
  counted.time = Shortest(clock, [&] {
    for (const auto& query : queries) {
      TopHits hits(goal, static_cast<uint32_t>(query.size()));
      search.Search(block, query, {}, hits);
    }
  });
  return counted;
}

CountRates MeasureCounting(const Clock& clock, const SetBlock& rare, const SetBlock& common) {
  CountRates rates;
  // Documents that have both tokens would reach it: nearly all time is that of the counters.
  constexpr SearchGoal kBoth{
      .metric = SetMetric::kContainmentQuery, .k = 100, .at_least = {19, 20}};
  const Counted pair = CountAll(clock, rare, Queries(2, rare.direct()), kBoth);
  rates.document_ns = AboveZero(pair.time / pair.work.documents);
  const Counted a = CountAll(clock, rare, Queries(64, rare.direct()), kGoal);
  const Counted b = CountAll(clock, common, Queries(64, common.direct()), kGoal);
  const Pair lists = Solve({a.work.lookups, a.work.postings}, a.time - rates.Time(a.work),
                           {b.work.lookups, b.work.postings}, b.time - rates.Time(b.work));
  rates.lookup_ns = lists.first;
  rates.posting_ns = lists.second;
  const SetBlock frequent = MakeBlock(kDocuments, 24, 128);
  const Counted c = CountAll(clock, frequent, Queries(64, frequent.direct()), kGoal);
  rates.word_ns = AboveZero((c.time - rates.Time(c.work)) / c.work.words);
  return rates;
}

double ScanTime(const Clock& clock, const SetBlock& block) {
  const auto queries = Queries(64, std::max<Token>(block.direct(), 64));
  const std::vector<std::span<const Token>> views(queries.begin(), queries.end());
  ScanSearch search(views);
  std::vector<TopHits> hits;
  for (const auto& query : views) hits.emplace_back(kGoal, static_cast<uint32_t>(query.size()));
  return Shortest(clock, [&] { search.Search(block, {}, hits); });
}

ScanRates MeasureScanning(const Clock& clock, const SetBlock& rare) {
  ScanRates rates;
  const SetBlock few = MakeBlock(1, 4'096, SetBlock::kDirectTokens);
  rates.list_ns = AboveZero(ScanTime(clock, few) / ScanWorkOf(few).lists);
  const SetBlock flat = MakeBlock(kDocuments, 4, 1'024);
  const ScanWork a = ScanWorkOf(rare);
  const ScanWork b = ScanWorkOf(flat);
  const Pair solved = Solve({a.tokens, a.documents}, ScanTime(clock, rare) - rates.Time(a),
                            {b.tokens, b.documents}, ScanTime(clock, flat) - rates.Time(b));
  rates.token_ns = solved.first;
  rates.document_ns = solved.second;
  return rates;
}

// What searches that begin without a threshold take longer, by the candidates they should have.
// These are far apart, as most are in a large collection, so that each has its neighbours looked
// at.
double MeasureCandidates(const Clock& clock, const SetBlock& rare) {
  constexpr SearchGoal kBest{.metric = SetMetric::kOverlapMax, .k = 100};
  const auto queries = Queries(8, rare.direct());
  const Counted counted = CountAll(clock, rare, queries, kGoal);
  const Counted chosen = CountAll(clock, rare, queries, kBest);
  double candidates = 0;
  const auto documents = static_cast<double>(rare.size());
  for (const auto& query : queries) {
    const double overlaps = CountWorkOf(rare, query).postings;
    candidates += CandidatesOf(documents, overlaps / documents, kBest.k);
  }
  return AboveZero((chosen.time - counted.time) / candidates);
}

// Documents that have come to a GPU, and what it takes to search them.
class OnGpu {
 public:
  OnGpu(ItemGpu& gpu, WorkPool& pool, const Clock& clock)
      : gpu_(gpu), pool_(pool), clock_(clock), block_(MakeBlock(kDocuments, 32, 32'768)) {}

  // The block so many times.
  Result<double> Load(size_t times) {
    sets_.reset();
    blocks_.assign(times, &block_);
    if (GpuBytesOf(blocks_).all() > gpu_.options().passing_bytes_max) {
      return Refused("the documents are more than may pass through the GPU");
    }
    STRATA_ASSIGN(const auto source, SourceOf(blocks_));
    const TimeNs begin = clock_.Now();
    STRATA_ASSIGN(sets_, gpu_.Open(*source, pool_));
    return static_cast<double>(clock_.Now() - begin);
  }
  Result<double> Search(size_t length, Token count, GpuEngine engine) {
    const auto queries = Queries(length, block_.direct(), count);
    SetLists lists;
    for (const auto& query : queries) lists.Add(query);
    Status status;
    const double time = Shortest(clock_, [&] {
      if (status.ok()) status = sets_->Search(lists.view(), kGoal, {.engine = engine}).status();
    });
    gpu_.CheckSearch(status);
    STRATA_TRY(status);
    return time;
  }
  CountWork WorkOf(size_t length, Token count) const {
    CountWork work;
    for (const auto& query : Queries(length, block_.direct(), count)) {
      for (const SetBlock* block : blocks_) work += CountWorkOf(*block, query);
    }
    return work;
  }
  double tokens() const {
    return static_cast<double>(block_.tokens()) * static_cast<double>(blocks_.size());
  }
  bool scans() const { return sets_->scans(); }

 private:
  ItemGpu& gpu_;
  WorkPool& pool_;
  const Clock& clock_;
  const SetBlock block_;
  std::vector<const SetBlock*> blocks_;
  std::unique_ptr<GpuSets> sets_;
};

// So many queries that they take longer than a call; where a GPU is slow, these few.
Result<Token> EnoughQueries(OnGpu& on_gpu) {
  constexpr double kLongEnough = 2e6;
  Token count = 32;
  for (; count < 1'024; count *= 2) {
    STRATA_ASSIGN(const double time, on_gpu.Search(64, count, GpuEngine::kCounting));
    if (time > kLongEnough) break;
  }
  return count;
}

}  // namespace

Result<GpuRates> MeasureGpuRates(ItemGpu& gpu, WorkPool& pool, const Clock& clock) {
  const MutexLock lock(gpu.passing());
  GpuRates rates;
  OnGpu on_gpu(gpu, pool, clock);
  STRATA_TRY(on_gpu.Load(1).status());  // what is made once is made
  STRATA_ASSIGN(const double once, on_gpu.Load(1));
  const double tokens_once = on_gpu.tokens();
  STRATA_ASSIGN(const double four_times, on_gpu.Load(4));
  rates.load_token_ns = AboveZero((four_times - once) / (on_gpu.tokens() - tokens_once));
  rates.load_call_ns = AboveZero(once - tokens_once * rates.load_token_ns);

  STRATA_ASSIGN(rates.call_ns, on_gpu.Search(1, 1, GpuEngine::kCounting));
  STRATA_ASSIGN(const Token count, EnoughQueries(on_gpu));
  STRATA_ASSIGN(const double few, on_gpu.Search(1, count, GpuEngine::kCounting));
  STRATA_ASSIGN(const double many, on_gpu.Search(64, count, GpuEngine::kCounting));
  const double few_expected = rates.count.Time(on_gpu.WorkOf(1, count));
  const double many_expected = rates.count.Time(on_gpu.WorkOf(64, count));
  const double share = AboveZero((many - few) / (many_expected - few_expected));
  for (double* rate : {&rates.count.lookup_ns, &rates.count.posting_ns, &rates.count.word_ns,
                       &rates.count.document_ns}) {
    *rate *= share;
  }
  rates.query_ns =
      AboveZero((few - rates.call_ns - few_expected * share) / static_cast<double>(count));
  if (!on_gpu.scans()) return rates;
  constexpr Token kPass = GpuSets::kScanned;
  STRATA_ASSIGN(const double pass, on_gpu.Search(64, kPass, GpuEngine::kScanning));
  STRATA_ASSIGN(const double passes, on_gpu.Search(64, 2 * kPass, GpuEngine::kScanning));
  rates.scan.token_ns = AboveZero((passes - pass - kPass * rates.query_ns) / on_gpu.tokens());
  rates.scan_call_ns = AboveZero(pass - rates.call_ns - kPass * rates.query_ns -
                                 rates.scan.token_ns * on_gpu.tokens());
  return rates;
}

SearchRates MeasureSearchRates(const Clock& clock) {
  SearchRates rates;
  const SetBlock rare = MakeBlock(kDocuments, 32, 32'768);
  const SetBlock common = MakeBlock(kDocuments, 32, 1'024);
  rates.count = MeasureCounting(clock, rare, common);
  rates.scan = MeasureScanning(clock, rare);
  rates.candidate_ns = MeasureCandidates(clock, rare);
  return rates;
}

}  // namespace strata
