// What of a collection goes into images, and comes back from them.
#include <fmt/format.h>

#include <algorithm>

#include "storage/itemset/item_set.h"

namespace strata {

Result<ItemSetState> ItemSet::CaptureState(uint64_t floor) {
  const MutexLock lock(mutex_);
  if (!tail_.empty() && tail_first_ < floor) STRATA_TRY(Seal());
  ItemSetState state;
  if (!tail_.empty()) state.first_change = tail_first_;
  for (Held& held : held_) {
    if (held.segment == nullptr) continue;
    if (held.level < kLevels - 1 && held.first_change >= floor) {
      state.first_change = std::min(state.first_change, held.first_change);
      continue;
    }
    held.is_shared = true;
    state.segments.push_back({.number = held.number,
                              .segment = held.segment,
                              .live = held.live,
                              .dead = held.dead,
                              .level = held.level,
                              .age = held.age});
  }
  std::ranges::sort(state.segments, {}, &SegmentState::number);
  return state;
}

Status ItemSet::RestoreState(std::vector<SegmentState> segments) {
  const MutexLock lock(mutex_);
  STRATA_CHECK(locations_.size() == 0 && numbered_ == 0);
  for (SegmentState& state : segments) {
    const Segment& segment = *state.segment;
    const std::string name = fmt::format("segment {}", state.number);
    if (segment.attributes_each() != options_.spec.attributes.size()) {
      return Corrupt(fmt::format("{}: expected documents of {} attributes, found {}", name,
                                 options_.spec.attributes.size(), segment.attributes_each()));
    }
    if (state.level < 0 || state.level >= kLevels || held_.size() + 1 >= Locations::kMostSlots) {
      return Corrupt(
          fmt::format("{}: expected a level below {} and at most {} segments, found "
                      "level {}",
                      name, kLevels, Locations::kMostSlots - 2, state.level));
    }
    // Its changes are older than whatever comes: it stays in images until others replace it.
    const uint16_t slot = Hold(state.segment, state.level, state.age, 0);
    Held& held = held_[slot];
    held.number = state.number;
    held.dead = state.dead;
    held.live = std::make_shared<PlaceBits>(*state.live);
    const auto ids = segment.block().ids();
    for (uint32_t place = 0; place < ids.size(); ++place) {
      if (!HasBit(*held.live, place)) continue;
      if (const auto known = locations_.Find(ids[place])) {
        return Corrupt(fmt::format("{}: document {} is alive in segment {}, too", name, ids[place],
                                   held_[known->slot].number));
      }
      locations_.Put(ids[place], {slot, static_cast<uint16_t>(place)});
    }
    ages_ = std::max(ages_, state.age);
    numbered_ = std::max(numbered_, state.number);
    if (state.level == kLevels - 1) numbers_ = segment.numbers();
  }
  WantOnGpu();
  changed_.NotifyAll();
  return {};
}

}  // namespace strata
