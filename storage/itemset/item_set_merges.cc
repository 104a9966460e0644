// Which segments are merged, and how that is done beside searches and changes.
#include <algorithm>
#include <new>
#include <optional>

#include "base/out_of_memory.h"
#include "storage/itemset/item_set.h"

namespace strata {
namespace {

constexpr TimeNs kRestWithoutMemory = kSecond;

// The share of tokens whose numbers are too large for a list that is found at once.
double FarShare(const TokenNumbers& numbers, const std::vector<Token>& occurrences) {
  const auto is_far = [&](Token token) {
    return numbers.NumberOf(token) >= SetBlock::kDirectTokens;
  };
  const auto far = std::count_if(occurrences.begin(), occurrences.end(), is_far);
  return occurrences.empty() ? 0
                             : static_cast<double>(far) / static_cast<double>(occurrences.size());
}

}  // namespace

size_t ItemSet::SmallSegments() const {
  return static_cast<size_t>(std::count_if(held_.begin(), held_.end(), [](const Held& held) {
    return held.segment != nullptr && held.level < kLevels - 1;
  }));
}

// As many as make one of the next level; none while there are fewer.
std::vector<uint16_t> ItemSet::OldestOf(int level) const {
  std::vector<uint16_t> slots;
  for (size_t slot = 1; slot < held_.size(); ++slot) {
    if (held_[slot].segment != nullptr && held_[slot].level == level) {
      slots.push_back(static_cast<uint16_t>(slot));
    }
  }
  std::ranges::sort(slots, {}, [&](uint16_t slot) {
    mutex_.AssumeHeld();
    return held_[slot].age;
  });
  size_t of = 0;
  const auto end = std::ranges::find_if(slots, [&](uint16_t slot) {
    mutex_.AssumeHeld();
    of += held_[slot].of;
    return of >= kFan;
  });
  if (end == slots.end()) return {};
  slots.erase(end + 1, slots.end());
  return slots;
}

size_t ItemSet::RoomOf(int level) const {
  size_t room = options_.tail;
  for (int i = 0; i < level; ++i) room *= kFan;
  return room;
}

// Those of the level that have lost too many documents, as many as fit into one. Below the last
// level others that fill at most half of one go with them, so that they do not become many.
std::vector<uint16_t> ItemSet::Thinned(int level) const {
  const size_t room = RoomOf(level);
  std::vector<uint16_t> slots;
  size_t live = 0;
  const auto take = [&](bool thin) {
    mutex_.AssumeHeld();
    for (size_t slot = 1; slot < held_.size(); ++slot) {
      const Held& held = held_[slot];
      if (held.segment == nullptr || held.level != level || IsThin(held) != thin) continue;
      const size_t more = held.segment->size() - held.dead;
      if (live + more > room || (!thin && more > room / 2)) continue;
      live += more;
      slots.push_back(static_cast<uint16_t>(slot));
    }
  };
  take(true);
  if (!slots.empty() && level < kLevels - 1) take(false);
  return slots;
}

// So many documents are gone that it should be merged: below the last level more than are left to
// be written again.
bool ItemSet::IsThin(const Held& held) {
  const size_t share = held.level == kLevels - 1 ? 8 : 2;
  return held.segment != nullptr && held.dead * share > held.segment->size();
}

// No slots: there is nothing to merge. Large ones first: small ones never end while changes come,
// and would keep their documents out of images, and dead ones in memory.
ItemSet::Merge ItemSet::ChooseMerge() const {
  for (int level = kLevels - 1; level >= 0; --level) {
    if (level < kLevels - 1) {
      if (auto slots = OldestOf(level); !slots.empty()) {
        return {.slots = std::move(slots), .parts = {}, .level = level + 1};
      }
    }
    if (auto slots = Thinned(level); !slots.empty()) {
      size_t of = 0;
      for (const uint16_t slot : slots) of += held_[slot].of;
      return {.slots = std::move(slots), .parts = {}, .level = level, .of = of};
    }
  }
  return {};
}

// Null when no document is left.
std::shared_ptr<const Segment> ItemSet::Build(const Merge& merge,
                                              std::shared_ptr<const TokenNumbers> numbers) {
  std::vector<std::shared_ptr<const Document>> documents;
  std::vector<Token> occurrences;
  for (const Part& part : merge.parts) {
    for (uint32_t place = 0; place < part.segment->size(); ++place) {
      if (!HasBit(*part.live, place)) continue;
      documents.push_back(std::make_shared<const Document>(part.segment->At(place)));
      const auto& tokens = documents.back()->tokens;
      if (merge.level == kLevels - 1) {
        occurrences.insert(occurrences.end(), tokens.begin(), tokens.end());
      }
    }
  }
  if (documents.empty()) return nullptr;
  // New numbers where they make a difference: each kind of them is a search of its own.
  constexpr double kFarMost = 0.1;
  if (const double far = FarShare(*numbers, occurrences); far > kFarMost) {
    auto better = std::make_shared<const TokenNumbers>(TokenNumbers::ByFrequency(occurrences));
    if (FarShare(*better, occurrences) < far / 2) numbers = std::move(better);
  }
  return Segment::Build(documents, std::move(numbers));
}

// A document that was deleted or replaced meanwhile is located elsewhere, or nowhere, by now.
void ItemSet::Publish(const Merge& merge, const std::shared_ptr<const Segment>& made) {
  if (made != nullptr) {
    uint64_t age = 0, first_change = UINT64_MAX;
    for (const uint16_t slot : merge.slots) {
      age = std::max(age, held_[slot].age);
      first_change = std::min(first_change, held_[slot].first_change);
    }
    const uint16_t slot = Hold(made, merge.level, age, first_change);
    Held& held = held_[slot];
    held.of = merge.of;
    const auto ids = made->block().ids();
    for (uint32_t place = 0; place < ids.size(); ++place) {
      const auto known = locations_.Find(ids[place]);
      if (known &&
          std::find(merge.slots.begin(), merge.slots.end(), known->slot) != merge.slots.end()) {
        locations_.Put(ids[place], {slot, static_cast<uint16_t>(place)});
      } else {
        (*held.live)[place / 64] &= ~(uint64_t{1} << place % 64);
        ++held.dead;
      }
    }
    numbers_ = made->numbers();
  }
  for (const uint16_t slot : merge.slots) held_[slot] = {};
  ++merges_;
  if (merge.level == kLevels - 1) ++large_made_;
  WantOnGpu();
}

// Small segments would take as long there as in the CPU's caches, and are merged soon.
void ItemSet::WantOnGpu() {
  if (on_gpu_ == nullptr) return;
  GpuCopy::Segments wanted;
  for (const Held& held : held_) {
    if (held.segment != nullptr && held.level > 0) wanted.emplace(held.number, held.segment);
  }
  on_gpu_->Want(std::move(wanted));
}

void ItemSet::MergeUntilStopped() {
  MutexLock lock(mutex_);
  while (!stop_) {
    Merge merge = ChooseMerge();
    is_merging_ = !merge.slots.empty();
    changed_.NotifyAll();
    if (!is_merging_) {
      changed_.Wait(mutex_);
      continue;
    }
    for (const uint16_t slot : merge.slots) {
      held_[slot].is_shared = true;
      merge.parts.push_back({held_[slot].segment, held_[slot].live});
    }
    const auto numbers = numbers_;
    lock.Unlock();
    std::optional<std::shared_ptr<const Segment>> made;  // null: nothing of them is left
    try {
      made = Build(merge, numbers);
    } catch (const std::bad_alloc&) {  // later, then: the segments are there as they were
    }
    lock.Lock();
    if (made) {
      const MustAllocate must;
      Publish(merge, *made);
    } else {
      changed_.WaitFor(mutex_, kRestWithoutMemory);
    }
  }
}

void ItemSet::WaitForMerges() {
  const MutexLock lock(mutex_);
  while (is_merging_ || !ChooseMerge().slots.empty()) changed_.Wait(mutex_);
}

void ItemSet::WaitForGpu() {
  WaitForMerges();
  if (on_gpu_ != nullptr) on_gpu_->WaitUntilPlaced();
}

}  // namespace strata
