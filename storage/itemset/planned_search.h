// A search of a batch of queries as its plan says, and what came of it.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/search_plan.h"
#include "kernels/setops/top_hits.h"
#include "storage/itemset/search_pace.h"
#include "strata/status.h"

namespace strata {

// The plan of a search beside what happened.
struct SearchReport {
  size_t queries = 0;
  size_t blocks = 0;
  size_t documents = 0;
  size_t threads = 0;
  SearchPlan plan = {};
  SearchPace::Ratios ratios = {};         // that the plan was made with
  std::vector<double> took_ns = {};       // by group: of processors, summed, or of the GPU
  std::vector<uint64_t> candidates = {};  // by group: documents offered to TopHits; a GPU has none
  double threads_ns = 0;                  // of processors, all groups together,
  double passed_ns = 0;                   // and the time that passed in the threads meanwhile
  size_t pieces = 0;                      // of groups and blocks, that threads took one by one
  size_t passed_along = 0;  // of all their queries, those that began with a threshold of another
  double planning_ns = 0;
  double total_ns = 0;  // of the call, planning included
  double load_ns = 0;   // of that, documents were brought to the GPU
  // The plan was a GPU's, which had no memory for it: why, and what then was done is in `plan`.
  Status gpu_refused = {};
};

bool IsOfGpu(SearchEngine engine);

// What an engine did of a search, all of its groups together.
struct EngineUse {
  SearchEngine engine = SearchEngine::kCounting;
  size_t queries = 0;
  size_t groups = 0;
  double expected_ns = 0;  // of processors, or of the GPU,
  double by_rates_ns = 0;  // without regard to what it took of late,
  double took_ns = 0;      // and in fact
  double expected_candidates = 0;
  uint64_t candidates = 0;
};
// Those that had queries.
std::vector<EngineUse> EnginesOf(const SearchReport& report);
// What the whole call was expected to take.
double ExpectedOf(const SearchReport& report);

// For a person, some lines: what was chosen, what was expected and what it took, and what the other
// engines were expected to take.
std::string Explain(const SearchReport& report);

class ItemGpu;

// Who searches. All of it outlives the searches.
struct SearchMeans {
  SearchRates rates;
  WorkPool* pool = nullptr;
  size_t threads = 1;  // of the pool, the calling one too
  const Clock* clock = nullptr;
  GpuSets* gpu = nullptr;  // holds the very blocks that are searched; null: none does
  size_t gpu_pieces = 0;   // PlannedBlocks::gpu_pieces
  // Where a collection brings its segments (item_gpu.h); null: nowhere.
  ItemGpu* items = nullptr;
  SearchPace* pace = nullptr;  // of these documents, kept from search to search; may be null
  // Where rates will be that somebody measures meanwhile; null, or null there: `rates` count.
  const std::atomic<const SearchRates*>* measured = nullptr;
};

// The answer to each query, best first, as a plain search would give it, whatever the plan.
// `is_all`: every document of the blocks is allowed. `report` may be null. Any thread. A GPU that
// has no memory for a search leaves it to the CPU. kInvalid: goal.room is exceeded.
Result<std::vector<std::vector<Hit>>> SearchAsPlanned(std::span<const AllowedBlock> blocks,
                                                      bool is_all, const SetList& queries,
                                                      const SearchGoal& goal,
                                                      const SearchMeans& means,
                                                      SearchReport* report = nullptr);

}  // namespace strata
