#include "storage/itemset/planned_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/thread/mutex.h"
#include "base/thread/thread_time.h"
#include "kernels/setops/count_search.h"
#include "kernels/setops/scan_search.h"

namespace strata {
namespace {

using Answers = std::vector<std::vector<Hit>>;

// A group of queries over some of the blocks: what a thread does at a time.
struct Piece {
  size_t group = 0;
  size_t first_block = 0;
  size_t last_block = 0;               // exclusive
  bool is_all = true;                  // of the blocks: then answers are whole at once
  std::vector<std::vector<Hit>> best;  // or else the best of each query
  size_t passed_along = 0;             // queries that began with a threshold of another piece
  uint64_t offered = 0;                // to TopHits
  double took_ns = 0;                  // of processors
  double passed_ns = 0;                // meanwhile
};

// Groups are cut by blocks where there are fewer of them than threads, and where the best that all
// parts keep are not too many.
std::vector<Piece> Pieces(const SearchPlan& plan, size_t blocks, size_t k, size_t threads) {
  constexpr size_t kPiecesEach = 2;              // so that threads end at about the same time
  constexpr size_t kBestMost = size_t{1} << 22;  // of a group, all parts together
  const size_t wanted = threads == 1 ? 1 : threads * kPiecesEach;
  std::vector<Piece> pieces;
  for (size_t group = 0; group < plan.groups.size(); ++group) {
    const size_t best = plan.groups[group].queries.size() * (k == SearchGoal::kAll ? 1 : k);
    const size_t most = std::min(blocks, kBestMost / std::max<size_t>(best, 1));
    const size_t parts = std::clamp<size_t>((wanted + plan.groups.size() - 1) / plan.groups.size(),
                                            1, std::max<size_t>(most, 1));
    for (size_t part = 0; part < parts; ++part) {
      Piece& piece = pieces.emplace_back();
      piece.group = group;
      piece.first_block = blocks * part / parts;
      piece.last_block = blocks * (part + 1) / parts;
      piece.is_all = parts == 1;
    }
  }
  return pieces;
}

// The similarities that answers have at least, as far as the pieces that are done have shown: of k
// documents that one has found the last one's. Later ones need not look below, and keep what is as
// alike, so that ids decide. Thread-safe.
class Thresholds {
 public:
  Thresholds(const SearchGoal& goal, size_t queries)
      : goal_(goal), least_(queries, goal.at_least) {}

  SearchGoal GoalOf(uint32_t query) const {
    SearchGoal goal = goal_;
    const MutexLock lock(mutex_);
    goal.at_least = least_[query];
    return goal;
  }
  bool IsRaised(const SearchGoal& goal) const { return IsLess(goal_.at_least, goal.at_least); }
  // Best first.
  void Raise(uint32_t query, size_t query_length, std::span<const Hit> found) {
    if (goal_.k == 0 || found.size() < goal_.k) return;
    const Hit& last = found[goal_.k - 1];
    const Fraction least =
        Similarity(goal_.metric, last.overlap, static_cast<uint32_t>(query_length), last.length);
    const MutexLock lock(mutex_);
    if (IsLess(least_[query], least)) least_[query] = least;
  }

 private:
  const SearchGoal goal_;
  mutable Mutex mutex_;
  std::vector<Fraction> least_ STRATA_GUARDED_BY(mutex_);  // by query
};

bool IsExceeded(const SearchGoal& goal) { return goal.room != nullptr && goal.room->IsExceeded(); }

void SearchPiece(const SearchPlan::Group& group, std::span<const AllowedBlock> blocks,
                 const SetList& queries, Thresholds& thresholds, Piece& piece, Answers& answers) {
  std::vector<std::span<const Token>> tokens;
  std::vector<TopHits> all;  // of each query
  SearchGoal goal;
  for (const uint32_t query : group.queries) {
    tokens.push_back(queries[query]);
    goal = thresholds.GoalOf(query);
    piece.passed_along += thresholds.IsRaised(goal) ? 1 : 0;
    all.emplace_back(goal, static_cast<uint32_t>(tokens.back().size()));
  }
  blocks = blocks.subspan(piece.first_block, piece.last_block - piece.first_block);
  if (group.engine == SearchEngine::kScanning) {
    ScanSearch scan(tokens);
    for (const AllowedBlock& block : blocks) {
      if (!IsExceeded(goal)) scan.Search(*block.block, block.allowed, all);
    }
  } else {
    CountSearch count;
    for (const AllowedBlock& block : blocks) {
      for (size_t i = 0; i < tokens.size() && !IsExceeded(goal); ++i) {
        count.Search(*block.block, tokens[i], block.allowed, all[i]);
      }
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    piece.offered += all[i].offered();
    if (piece.is_all) {
      answers[group.queries[i]] = TakeAnswer(blocks, all[i]);
      continue;
    }
    piece.best.push_back(all[i].Take());
    thresholds.Raise(group.queries[i], tokens[i].size(), piece.best.back());
  }
}

// The answer to a query that several pieces have searched for, of what they have found.
std::vector<Hit> AnswerOf(std::span<const AllowedBlock> blocks, const SearchGoal& goal,
                          uint32_t query_length, std::span<std::vector<Hit>* const> found) {
  TopHits best(goal, query_length);
  for (std::vector<Hit>* const hits : found) {
    if (best.room() != nullptr) best.room()->GiveBack(hits->size());
    for (const Hit& hit : *hits) best.Offer(hit);
    *hits = {};
  }
  return TakeAnswer(blocks, best);
}

void SearchOnCpu(std::span<const AllowedBlock> blocks, const SetList& queries,
                 const SearchGoal& goal, const SearchMeans& means, SearchReport& report,
                 Answers& answers) {
  const SearchPlan& plan = report.plan;
  std::vector<Piece> pieces = Pieces(plan, blocks.size(), goal.k, means.threads);
  Thresholds thresholds(goal, queries.size());
  means.pool->Run(pieces.size(), [&](size_t i) {
    const TimeNs begin = means.clock->Now();
    const TimeNs thread_begin = ThreadTime();
    SearchPiece(plan.groups[pieces[i].group], blocks, queries, thresholds, pieces[i], answers);
    pieces[i].took_ns = static_cast<double>(ThreadTime() - thread_begin);
    pieces[i].passed_ns = static_cast<double>(means.clock->Now() - begin);
  });
  std::vector<std::vector<std::vector<Hit>*>> found(queries.size());  // by query, in pieces
  for (Piece& piece : pieces) {
    report.took_ns[piece.group] += piece.took_ns;
    report.candidates[piece.group] += piece.offered;
    report.threads_ns += piece.took_ns;
    report.passed_ns += piece.passed_ns;
    report.passed_along += piece.passed_along;
    for (size_t i = 0; i < piece.best.size(); ++i) {
      found[plan.groups[piece.group].queries[i]].push_back(&piece.best[i]);
    }
  }
  report.pieces = pieces.size();
  means.pool->Run(queries.size(), [&](size_t query) {
    if (found[query].empty()) return;
    answers[query] =
        AnswerOf(blocks, goal, static_cast<uint32_t>(queries[query].size()), found[query]);
  });
}

// Group after group.
Status SearchOnGpu(std::span<const AllowedBlock> blocks, bool is_all, const SetList& queries,
                   const SearchGoal& goal, const SearchMeans& means, SearchReport& report,
                   Answers& answers) {
  std::vector<std::span<const uint64_t>> allowed;
  if (!is_all) {
    for (const AllowedBlock& block : blocks) allowed.push_back(block.allowed);
  }
  for (size_t i = 0; i < report.plan.groups.size(); ++i) {
    const SearchPlan::Group& group = report.plan.groups[i];
    const TimeNs begin = means.clock->Now();
    const GpuSearchMeans how{.engine = group.engine == SearchEngine::kGpuScanning
                                           ? GpuEngine::kScanning
                                           : GpuEngine::kCounting,
                             .allowed = allowed};
    if (group.queries.size() == queries.size()) {
      STRATA_ASSIGN(answers, means.gpu->Search(queries, goal, how));
    } else {
      SetLists some;
      for (const uint32_t query : group.queries) some.Add(queries[query]);
      STRATA_ASSIGN(auto found, means.gpu->Search(some.view(), goal, how));
      for (size_t j = 0; j < found.size(); ++j) answers[group.queries[j]] = std::move(found[j]);
    }
    report.took_ns[i] = static_cast<double>(means.clock->Now() - begin);
  }
  if (means.gpu_pieces > 0) report.load_ns = means.gpu->counts().load_ns;
  return {};
}

bool IsOfGpu(const SearchPlan& plan) {
  return !plan.groups.empty() && strata::IsOfGpu(plan.groups[0].engine);
}

std::string Milliseconds(double ns) { return fmt::format("{:.3f} ms", ns / 1e6); }

}  // namespace

Result<Answers> SearchAsPlanned(std::span<const AllowedBlock> blocks, bool is_all,
                                const SetList& queries, const SearchGoal& goal,
                                const SearchMeans& means, SearchReport* report) {
  SearchReport unwanted;
  SearchReport& of = report == nullptr ? unwanted : *report;
  const TimeNs begin = means.clock->Now();
  of = {.queries = queries.size(), .blocks = blocks.size(), .threads = means.threads};
  for (const AllowedBlock& block : blocks) of.documents += block.block->size();
  PlannedBlocks planned_for{.blocks = blocks,
                            .gpu_has_all = means.gpu != nullptr,
                            .gpu_scans = means.gpu != nullptr && means.gpu->scans(),
                            .gpu_pieces = means.gpu_pieces};
  const SearchRates* const measured =
      means.measured != nullptr ? means.measured->load(std::memory_order_acquire) : nullptr;
  SearchRates rates = measured != nullptr ? *measured : means.rates;
  if (means.pace != nullptr) of.ratios = means.pace->Look();
  rates.ratios = of.ratios.of_engines;
  of.plan = PlanSearch(planned_for, queries, goal, rates, means.threads);
  of.took_ns.resize(of.plan.groups.size());
  of.candidates.resize(of.plan.groups.size());
  const TimeNs planned = means.clock->Now();
  of.planning_ns = static_cast<double>(planned - begin);

  Answers answers(queries.size());
  bool is_done = queries.size() == 0;
  if (IsOfGpu(of.plan)) {
    of.gpu_refused = SearchOnGpu(blocks, is_all, queries, goal, means, of, answers);
    is_done = of.gpu_refused.ok();
    if (!is_done && of.gpu_refused.code() != StatusCode::kRefused) return of.gpu_refused;
  }
  if (!is_done) {
    if (!of.gpu_refused.ok()) {
      planned_for.gpu_has_all = false;
      of.plan = PlanSearch(planned_for, queries, goal, rates, means.threads);
      of.took_ns.assign(of.plan.groups.size(), 0);
      of.candidates.assign(of.plan.groups.size(), 0);
    }
    SearchOnCpu(blocks, queries, goal, means, of, answers);
  }
  if (IsExceeded(goal)) {
    return Invalid(fmt::format(
        "more than {} documents are alike enough, as many as the answers may have; ask for more "
        "similar ones, or for the best K, or search with fewer queries at a time",
        goal.room->most()));
  }
  of.total_ns = static_cast<double>(means.clock->Now() - begin);
  if (means.pace != nullptr) means.pace->Note(of);
  return answers;
}

bool IsOfGpu(SearchEngine engine) {
  return engine == SearchEngine::kGpuCounting || engine == SearchEngine::kGpuScanning;
}

std::vector<EngineUse> EnginesOf(const SearchReport& report) {
  std::vector<EngineUse> uses;
  for (const SearchEngine engine : {SearchEngine::kCounting, SearchEngine::kScanning,
                                    SearchEngine::kGpuCounting, SearchEngine::kGpuScanning}) {
    EngineUse use{.engine = engine};
    for (size_t i = 0; i < report.plan.groups.size(); ++i) {
      const SearchPlan::Group& group = report.plan.groups[i];
      if (group.engine != engine) continue;
      ++use.groups;
      use.queries += group.queries.size();
      use.expected_ns += group.estimate_ns;
      use.took_ns += report.took_ns[i];
      use.expected_candidates += group.candidates;
      use.candidates += report.candidates[i];
    }
    if (use.groups == 0) continue;
    use.by_rates_ns = use.expected_ns / report.ratios.of_engines.at(static_cast<size_t>(engine));
    uses.push_back(use);
  }
  return uses;
}

double ExpectedOf(const SearchReport& report) {
  return report.plan.estimate_ns * (IsOfGpu(report.plan) ? 1 : report.ratios.waiting);
}

std::string Explain(const SearchReport& report) {
  auto out = fmt::memory_buffer();
  const auto to = std::back_inserter(out);
  const SearchPlan& plan = report.plan;
  fmt::format_to(to, "{} queries, {} documents in {} blocks, {} threads\n", report.queries,
                 report.documents, report.blocks, report.threads);
  for (const EngineUse& use : EnginesOf(report)) {
    const bool is_of_gpu = IsOfGpu(use.engine);
    const double ratio = report.ratios.of_engines.at(static_cast<size_t>(use.engine));
    fmt::format_to(to, "{}: {} queries in {} groups, expected {} of {}, took {}",
                   NameOf(use.engine), use.queries, use.groups, Milliseconds(use.expected_ns),
                   is_of_gpu ? "the GPU" : "a processor", Milliseconds(use.took_ns));
    fmt::format_to(to, " (its rates say {}, and it took {:.2f} times that of late)",
                   Milliseconds(use.by_rates_ns), ratio);
    if (!is_of_gpu) {
      fmt::format_to(to, ", candidates: expected {:.0f}, found {}", use.expected_candidates,
                     use.candidates);
    }
    fmt::format_to(to, "\n");
  }
  if (plan.load_pieces > 0) {
    fmt::format_to(to,
                   "of that, to bring the documents to the GPU in {} pieces: expected {}, took "
                   "{}\n",
                   plan.load_pieces, Milliseconds(plan.load_ns), Milliseconds(report.load_ns));
  }
  if (!report.gpu_refused.ok()) {
    fmt::format_to(to, "not on the GPU, as planned: {}\n", report.gpu_refused.message());
  }
  fmt::format_to(to, "together: expected {}, took {} with {} of planning\n",
                 Milliseconds(ExpectedOf(report)), Milliseconds(report.total_ns),
                 Milliseconds(report.planning_ns));
  if (report.pieces > plan.groups.size()) {
    fmt::format_to(to, "in {} parts, where {} of the queries began with a threshold passed along\n",
                   report.pieces, report.passed_along);
  }
  if (report.threads_ns > 0) {
    fmt::format_to(to,
                   "threads waited for processors: a millisecond took {:.2f} ms of late, {:.2f} "
                   "now\n",
                   report.ratios.waiting, report.passed_ns / report.threads_ns);
  }
  fmt::format_to(to, "one engine alone would be expected to take: counting {}, scanning {}",
                 Milliseconds(plan.counting_ns), Milliseconds(plan.scanning_ns));
  if (plan.gpu_ns) fmt::format_to(to, ", a GPU {}", Milliseconds(*plan.gpu_ns));
  fmt::format_to(to, "\n");
  return fmt::to_string(out);
}

}  // namespace strata
