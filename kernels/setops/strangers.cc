#include "kernels/setops/strangers.h"

#include <algorithm>

namespace strata {
namespace {

// Where a run's documents are looked at, whose ids ascend.
struct NextOfRun {
  const AllowedBlock* of = nullptr;
  const SetBlock::Run* run = nullptr;
  uint32_t place = 0;
  DocumentId id = 0;

  // Goes to the next one that is allowed, which may be this one. False: there is none.
  bool Find() {
    while (place < run->end && !IsAllowed(of->allowed, place)) ++place;
    if (place == run->end) return false;
    id = of->block->ids()[place];
    return true;
  }
};

}  // namespace

void AppendStrangers(std::span<const AllowedBlock> blocks, size_t count, HitRoom* room,
                     std::vector<Hit>& answer) {
  if (count == 0 || (room != nullptr && room->IsExceeded())) return;
  std::vector<DocumentId> known;
  for (const Hit& hit : answer) known.push_back(hit.id);
  std::sort(known.begin(), known.end());
  std::vector<NextOfRun> runs;  // a heap, the smallest id in front
  const auto is_later = [](const NextOfRun& a, const NextOfRun& b) { return a.id > b.id; };
  for (const AllowedBlock& of : blocks) {
    for (const SetBlock::Run& run : of.block->runs()) {
      NextOfRun next{&of, &run, run.begin};
      if (next.Find()) runs.push_back(next);
    }
  }
  std::make_heap(runs.begin(), runs.end(), is_later);
  auto next_known = known.begin();
  while (!runs.empty() && count > 0) {
    std::pop_heap(runs.begin(), runs.end(), is_later);
    NextOfRun& next = runs.back();
    const bool is_last = runs.size() == 1;
    const DocumentId of_others = runs.front().id;
    bool is_found = false;
    do {
      while (next_known != known.end() && *next_known < next.id) ++next_known;
      if (next_known == known.end() || *next_known != next.id) {
        answer.push_back({next.id, 0, next.run->length});
        --count;
        if (room != nullptr) room->Take(1);
        if (room != nullptr && room->IsExceeded()) return;
      }
      ++next.place;
      is_found = next.Find();
    } while (is_found && count > 0 && (is_last || next.id < of_others));
    if (is_found) {
      std::push_heap(runs.begin(), runs.end(), is_later);
    } else {
      runs.pop_back();
    }
  }
}

std::vector<Hit> TakeAnswer(std::span<const AllowedBlock> blocks, TopHits& hits) {
  const size_t strangers = hits.StrangersWanted();
  std::vector<Hit> answer = hits.Take();
  AppendStrangers(blocks, strangers, hits.room(), answer);
  return answer;
}

std::vector<AllowedBlock> AllowAll(std::span<const SetBlock> blocks) {
  std::vector<AllowedBlock> all;
  for (const SetBlock& block : blocks) all.push_back({&block, {}});
  return all;
}

}  // namespace strata
