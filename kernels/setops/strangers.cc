#include "kernels/setops/strangers.h"

#include <algorithm>

namespace strata {

void AppendStrangers(std::span<const AllowedBlock> blocks, size_t count, std::vector<Hit>& answer) {
  if (count == 0) return;
  std::vector<DocumentId> known;
  for (const Hit& hit : answer) known.push_back(hit.id);
  std::sort(known.begin(), known.end());
  const auto by_id = [](const Hit& a, const Hit& b) { return a.id < b.id; };
  std::vector<Hit> smallest;  // a heap, the largest first
  for (const AllowedBlock& of : blocks) {
    for (const SetBlock::Run& run : of.block->runs()) {
      for (uint32_t place = run.begin; place < run.end; ++place) {
        const DocumentId id = of.block->ids()[place];
        if (smallest.size() == count && id >= smallest.front().id) break;  // a run's ids ascend
        if (!IsAllowed(of.allowed, place)) continue;
        if (std::binary_search(known.begin(), known.end(), id)) continue;
        if (smallest.size() == count) {
          std::pop_heap(smallest.begin(), smallest.end(), by_id);
          smallest.pop_back();
        }
        smallest.push_back({id, 0, run.length});
        std::push_heap(smallest.begin(), smallest.end(), by_id);
      }
    }
  }
  std::sort_heap(smallest.begin(), smallest.end(), by_id);
  answer.insert(answer.end(), smallest.begin(), smallest.end());
}

std::vector<Hit> TakeAnswer(std::span<const AllowedBlock> blocks, TopHits& hits) {
  const size_t strangers = hits.StrangersWanted();
  std::vector<Hit> answer = hits.Take();
  AppendStrangers(blocks, strangers, answer);
  return answer;
}

std::vector<AllowedBlock> AllowAll(std::span<const SetBlock> blocks) {
  std::vector<AllowedBlock> all;
  for (const SetBlock& block : blocks) all.push_back({&block, {}});
  return all;
}

}  // namespace strata
