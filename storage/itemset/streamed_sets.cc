#include "storage/itemset/streamed_sets.h"

#include <algorithm>

#include "base/thread/mutex.h"
#include "kernels/setops/gpu_bytes.h"
#include "kernels/setops/merge_answers.h"

namespace strata {

StreamedSets::StreamedSets(ItemGpu& gpu, std::span<const AllowedBlock> blocks, WorkPool& pool,
                           const Clock& clock)
    : gpu_(gpu), pool_(pool), clock_(clock) {
  for (const AllowedBlock& of : blocks) blocks_.push_back(of.block);
  const auto fit = [&](size_t begin, size_t end) {
    const auto some = std::span(blocks_).subspan(begin, end - begin);
    return GpuBytesOf(some).all() <= gpu_.options().passing_bytes_max;
  };
  for (size_t begin = 0; begin < blocks_.size();) {
    size_t end = begin;
    while (end < blocks_.size() && fit(begin, end + 1)) ++end;
    if (end == begin) {
      pieces_.clear();
      return;
    }
    pieces_.push_back(end);
    begin = end;
  }
}

bool StreamedSets::scans() const {
  return std::ranges::all_of(blocks_, [](const SetBlock* block) { return block->rare().empty(); });
}

Result<std::vector<std::vector<Hit>>> StreamedSets::Search(const SetList& queries,
                                                           const SearchGoal& goal,
                                                           const GpuSearchMeans& means) {
  STRATA_CHECK(!pieces_.empty());
  counts_ = {};
  std::vector<std::vector<std::vector<Hit>>> of_query(queries.size());
  const MutexLock lock(gpu_.passing());
  size_t begin = 0;
  for (const size_t end : pieces_) {
    const TimeNs start = clock_.Now();
    const auto blocks = std::span(blocks_).subspan(begin, end - begin);
    STRATA_ASSIGN(const auto source, SourceOf(std::span<const SetBlock* const>(blocks)));
    STRATA_ASSIGN(const auto sets, gpu_.Open(*source, pool_));
    counts_.load_ns += static_cast<double>(clock_.Now() - start);
    GpuSearchMeans how = means;
    if (!means.allowed.empty()) how.allowed = means.allowed.subspan(begin, end - begin);
    auto found = sets->Search(queries, goal, how);
    gpu_.CheckSearch(found.status());
    STRATA_TRY(found.status());
    for (size_t i = 0; i < queries.size(); ++i) of_query[i].push_back(std::move((*found)[i]));
    begin = end;
  }
  std::vector<std::vector<Hit>> answers;
  for (size_t i = 0; i < queries.size(); ++i) {
    answers.push_back(MergeAnswers(of_query[i], goal, static_cast<uint32_t>(queries[i].size())));
  }
  return answers;
}

}  // namespace strata
