#include "tests/soak/sets/set_searchers.h"

#include <algorithm>

#include "base/thread/mutex.h"
#include "kernels/setops/count_search.h"
#include "kernels/setops/scan_search.h"
#include "kernels/setops/strangers.h"

namespace strata::soak {
namespace {

std::vector<AllowedBlock> Allowed(std::span<const SetBlock> blocks, const Filter& filter) {
  std::vector<AllowedBlock> allowed = AllowAll(blocks);
  for (size_t i = 0; i < filter.size(); ++i) allowed[i].allowed = filter[i];
  return allowed;
}

std::vector<TopHits> HitsOf(const SetList& queries, const SearchGoal& goal) {
  std::vector<TopHits> hits;
  for (size_t i = 0; i < queries.size(); ++i) {
    hits.emplace_back(goal, static_cast<uint32_t>(queries[i].size()));
  }
  return hits;
}

Answers Count(std::span<const AllowedBlock> blocks, const SetList& queries,
              const SearchGoal& goal) {
  std::vector<TopHits> hits = HitsOf(queries, goal);
  CountSearch search;
  Answers answers;
  for (size_t i = 0; i < queries.size(); ++i) {
    for (const AllowedBlock& of : blocks) search.Search(*of.block, queries[i], of.allowed, hits[i]);
    answers.push_back(TakeAnswer(blocks, hits[i]));
  }
  return answers;
}

Answers Scan(std::span<const AllowedBlock> blocks, const SetList& queries, const SearchGoal& goal) {
  std::vector<TopHits> hits = HitsOf(queries, goal);
  Answers answers;
  for (size_t begin = 0; begin < queries.size(); begin += ScanSearch::kMostQueries) {
    const size_t end = std::min(begin + ScanSearch::kMostQueries, queries.size());
    std::vector<std::span<const Token>> some;
    for (size_t i = begin; i < end; ++i) some.push_back(queries[i]);
    ScanSearch search(some);
    const auto of_some = std::span(hits).subspan(begin, end - begin);
    for (const AllowedBlock& of : blocks) search.Search(*of.block, of.allowed, of_some);
    for (TopHits& of : of_some) answers.push_back(TakeAnswer(blocks, of));
  }
  return answers;
}

// Documents on a GPU, for one thread after the other.
class OnGpu {
 public:
  explicit OnGpu(std::unique_ptr<GpuSets> sets) : sets_(std::move(sets)) {}

  bool scans() const { return sets_->scans(); }
  // All queries in one call, and some of them again where they would be few.
  Result<Answers> SearchMany(GpuEngine engine, const SetList& queries, const SearchGoal& goal,
                             const Filter& filter) {
    SetLists asked;
    for (size_t i = 0; i < std::max(queries.size(), GpuSets::kFew + 1); ++i) {
      asked.Add(queries[i % queries.size()]);
    }
    STRATA_ASSIGN(Answers answers, Search(engine, asked.view(), goal, filter));
    answers.resize(queries.size());
    return answers;
  }
  // One query, then two, and so on.
  Result<Answers> SearchFew(const SetList& queries, const SearchGoal& goal, const Filter& filter) {
    Answers answers;
    for (size_t begin = 0, count = 1; begin < queries.size(); begin += count, ++count) {
      count = std::min({count, GpuSets::kFew, queries.size() - begin});
      STRATA_ASSIGN(
          Answers some,
          Search(GpuEngine::kCounting, {queries.offsets.subspan(begin, count + 1), queries.tokens},
                 goal, filter));
      std::ranges::move(some, std::back_inserter(answers));
    }
    return answers;
  }

 private:
  Result<Answers> Search(GpuEngine engine, const SetList& queries, const SearchGoal& goal,
                         const Filter& filter) {
    const std::vector<std::span<const uint64_t>> allowed(filter.begin(), filter.end());
    const MutexLock lock(mutex_);
    return sets_->Search(queries, goal, {.engine = engine, .allowed = allowed});
  }

  Mutex mutex_;  // held by a search
  std::unique_ptr<GpuSets> sets_;
};

}  // namespace

std::vector<SetSearcher> CpuSearchers(std::span<const SetBlock> blocks) {
  const auto of = [&](std::string name, auto search) {
    return SetSearcher{std::move(name),
                       [=](const SetList& queries, const SearchGoal& goal,
                           const Filter& filter) -> Result<Answers> {
                         return search(Allowed(blocks, filter), queries, goal);
                       }};
  };
  return {of("counting", Count), of("scanning", Scan)};
}

Result<std::vector<SetSearcher>> GpuSearchers(const std::shared_ptr<GpuSearchRoom>& room,
                                              std::span<const SetBlock> blocks, WorkPool& pool) {
  STRATA_ASSIGN(const auto source, SourceOf(blocks));
  STRATA_ASSIGN(auto opened, GpuSets::Open(room, *source, pool));
  const auto sets = std::make_shared<OnGpu>(std::move(opened));
  const auto many = [&](std::string name, GpuEngine engine) {
    return SetSearcher{std::move(name),
                       [=](const SetList& queries, const SearchGoal& goal, const Filter& filter) {
                         return sets->SearchMany(engine, queries, goal, filter);
                       }};
  };
  std::vector<SetSearcher> searchers{
      many("counting", GpuEngine::kCounting),
      {"counting few", [=](const SetList& queries, const SearchGoal& goal, const Filter& filter) {
         return sets->SearchFew(queries, goal, filter);
       }}};
  if (sets->scans()) searchers.push_back(many("scanning", GpuEngine::kScanning));
  return searchers;
}

}  // namespace strata::soak
