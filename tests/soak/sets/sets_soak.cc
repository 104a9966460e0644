#include "tests/soak/sets/sets_soak.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "base/thread/mutex.h"
#include "tests/kernels/setops/search_case.h"
#include "tests/soak/sets/large_sets.h"

namespace strata::soak {
namespace {

constexpr uint64_t kSmallest = 1500;  // of many documents

class SetsSoak {
 public:
  SetsSoak(const SetsSoakOptions& options, std::shared_ptr<GpuSearchRoom> room,
           std::unique_ptr<WorkPool> pool)
      : options_(options), room_(std::move(room)), pool_(std::move(pool)) {}

  // Goals in many documents, and cases of few documents for the rest.
  Status Run(uint64_t seed, uint64_t cases, SoakReport* report) {
    const std::vector<SearchGoal> goals = DrawGoals(seed, cases);
    STRATA_TRY(RunLarge(seed, goals));
    report->cycles += goals.size();
    for (uint64_t i = goals.size(); i < cases; ++i, ++report->cycles) {
      STRATA_TRY(RunSmall(seed * 1000 + i).Prefixed(fmt::format("case {}", seed * 1000 + i)));
    }
    return {};
  }
  uint64_t answers() const { return answers_; }
  uint64_t documents() const { return documents_; }
  uint64_t lost_to_shared_cut() const { return lost_to_shared_cut_; }

 private:
  // Every metric with every K.
  static std::vector<SearchGoal> DrawGoals(uint64_t seed, uint64_t most) {
    std::mt19937_64 draw(seed);
    std::vector<SearchGoal> goals;
    for (int metric = 0; metric < kSetMetrics; ++metric) {
      for (const size_t k : {1, 10, 100, 1000}) {
        SearchGoal goal{.metric = static_cast<SetMetric>(metric), .k = k};
        if (draw() % 3 == 0) {
          const double score = static_cast<double>(draw() % 8) / 8;
          goal.at_least =
              SimilarityOf(goal.metric, score * (goal.metric == SetMetric::kOverlap ? 10 : 1));
        }
        if (goals.size() < most) goals.push_back(goal);
      }
    }
    return goals;
  }
  uint64_t DocumentsOf(uint64_t seed) const {
    if (seed == options_.seed || options_.documents <= kSmallest) return options_.documents;
    std::mt19937_64 draw(seed);
    const double share = std::uniform_real_distribution<double>()(draw);
    return static_cast<uint64_t>(
        kSmallest * std::pow(static_cast<double>(options_.documents) / kSmallest, share));
  }

  Result<std::vector<SetSearcher>> Searchers(std::span<const SetBlock> blocks) {
    if (room_ == nullptr) return CpuSearchers(blocks);
    return GpuSearchers(room_, blocks, *pool_);
  }

  Status RunLarge(uint64_t seed, const std::vector<SearchGoal>& goals) {
    const LargeSets sets(seed, DocumentsOf(seed), *pool_);
    documents_ = std::max<uint64_t>(documents_, sets.size());
    STRATA_ASSIGN(const auto searchers, Searchers(sets.blocks()));
    const Filter filter = sets.filter();
    Mutex mutex;
    Status failed;
    pool_->Run(goals.size(), [&](size_t i) {
      const bool has_filter = i % 4 == 3;
      Answers expected;
      for (size_t query = 0; query < sets.queries().size(); ++query) {
        expected.push_back(sets.Best(query, goals[i], has_filter));
      }
      const bool is_founding = goals[i].metric == SetMetric::kOverlapMax && !has_filter;
      if (is_founding) lost_to_shared_cut_ += sets.LostToSharedCut(goals[i], expected);
      const Status status =
          Compare(searchers, sets.queries(), goals[i], has_filter ? filter : Filter(), expected);
      const MutexLock lock(mutex);
      if (failed.ok()) failed = status.Prefixed(fmt::format("{} documents", sets.size()));
    });
    return failed;
  }

  Status RunSmall(uint64_t seed) {
    test::SearchCase of = test::DrawCase(seed);
    if (room_ != nullptr) {
      // Half of the time blocks have larger and larger ids.
      if (seed % 2 == 1) std::iota(of.documents.ids.begin(), of.documents.ids.end(), DocumentId{5});
      for (auto& query : of.queries) query.resize(std::min(query.size(), GpuSets::kLongestQuery));
      of.block_size = std::max<size_t>(of.block_size, of.documents.ids.size() / 6 + 1);
    }
    const test::Blocks blocks(of);
    STRATA_ASSIGN(const auto searchers, Searchers(blocks.blocks));
    Answers expected;
    for (const test::Tokens& query : of.queries) {
      expected.push_back(test::PlainSearch(of.documents, of.allowed, query, of.goal));
    }
    return Compare(searchers, test::Lists(of.queries).view(), of.goal,
                   of.allowed.empty() ? Filter() : blocks.allowed, expected);
  }

  Status Compare(std::span<const SetSearcher> searchers, const SetList& queries,
                 const SearchGoal& goal, const Filter& filter, const Answers& expected) {
    for (const SetSearcher& searcher : searchers) {
      const auto what = [&] {
        return fmt::format("{}, {}, k {}, at least {}/{}{}", searcher.name, NameOf(goal.metric),
                           goal.k, goal.at_least.num, goal.at_least.den,
                           filter.empty() ? "" : ", filter");
      };
      auto found = searcher.search(queries, goal, filter);
      if (!found.ok()) return found.status().Prefixed(what());
      if (options_.spoil) found->back().push_back({});
      for (size_t i = 0; i < queries.size(); ++i) {
        if ((*found)[i] != expected[i])
          return Differs((*found)[i], expected[i], i).Prefixed(what());
      }
      answers_ += queries.size();
    }
    return {};
  }
  static Status Differs(const std::vector<Hit>& found, const std::vector<Hit>& expected,
                        size_t query) {
    const auto text = [](const std::vector<Hit>& hits, size_t at) {
      if (at >= hits.size()) return std::string("nothing");
      return fmt::format("document {} with {} of {} tokens", hits[at].id, hits[at].overlap,
                         hits[at].length);
    };
    const auto at = static_cast<size_t>(std::ranges::mismatch(found, expected).in1 - found.begin());
    return Internal(fmt::format("query {}: expected {} hits, of these number {}: {}; found {}: {}",
                                query, expected.size(), at, text(expected, at), found.size(),
                                text(found, at)));
  }

  const SetsSoakOptions options_;
  const std::shared_ptr<GpuSearchRoom> room_;  // null: the CPU
  const std::unique_ptr<WorkPool> pool_;
  std::atomic<uint64_t> answers_{0};
  std::atomic<uint64_t> lost_to_shared_cut_{0};
  uint64_t documents_ = 0;
};

}  // namespace

Result<SoakReport> RunSetsSoak(const SetsSoakOptions& options) {
  std::shared_ptr<GpuSearchRoom> room;
  if (options.on_gpu) {
    STRATA_ASSIGN(room, GpuSearchRoom::Make(0));
  }
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  STRATA_ASSIGN(auto pool, WorkPool::Start("sets", std::max(cores - 1, 0)));
  SetsSoak soak(options, std::move(room), std::move(pool));
  SoakReport report = RunSeeds(
      "sets", options.seed, options.cases,
      [&](uint64_t seed, uint64_t cases, SoakReport* of) { return soak.Run(seed, cases, of); });
  report.operations = soak.answers();
  report.more = fmt::format(", \"documents\": {}, \"lost_to_shared_cut\": {}", soak.documents(),
                            soak.lost_to_shared_cut());
  return report;
}

}  // namespace strata::soak
