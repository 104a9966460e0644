#include "worker/data/batch/unique_keys.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace strata {
namespace {

constexpr size_t kPartKeys = size_t{1} << 13;  // of a part, by and large
constexpr int kGroupBits = std::bit_width(kKeyGroups - 1);
constexpr int kPartBitsMax = 9;               // of how many parts there are
constexpr size_t kRunKeys = size_t{1} << 13;  // that a thread takes at a time

size_t CountKeys(const Batch& batch, size_t first_slot, size_t slots) {
  if (slots == batch.slots) return batch.keys.size();
  size_t count = 0;
  for (size_t i = 0; i < batch.samples; ++i) {
    const size_t bag = i * batch.slots + first_slot;
    count += batch.offsets[bag + slots] - batch.offsets[bag];
  }
  return count;
}

}  // namespace

template <typename Task>
void UniqueFinder::Run(size_t count, const Task& task) {
  RunPieces(threads_, count, 1, [&](size_t number, size_t /*end*/) { task(number); });
}

template <typename Visit>
void UniqueFinder::ForEachOfRun(const TableKeys& of, size_t run, const Visit& visit) const {
  const Batch& batch = of.batch;
  const size_t begin = std::min(run * run_samples_, batch.samples);
  const size_t end = std::min(begin + run_samples_, batch.samples);
  const bool takes_all = of.slots == batch.slots;
  for (size_t i = begin; i < end; i = takes_all ? end : i + 1) {
    const size_t bag = i * batch.slots + of.first_slot;
    const size_t last_bag = takes_all ? end * batch.slots : bag + of.slots;
    for (uint32_t at = batch.offsets[bag]; at < batch.offsets[last_bag]; ++at) visit(at);
  }
}

void UniqueFinder::Find(const Batch& batch, std::span<const uint32_t> table_slots,
                        UniqueKeys* unique) {
  STRATA_CHECK(batch.keys.size() <= Batch::kKeysMax);
  STRATA_CHECK(std::accumulate(table_slots.begin(), table_slots.end(), size_t{0}) == batch.slots);
  unique->keys.clear();
  unique->begins.assign(1, 0);
  unique->index.resize(batch.keys.size());
  passed_.clear();
  passed_before_ = 0;
  size_t first_slot = 0;
  for (const uint32_t slots : table_slots) {
    passed_before_ = passed();
    FindOfTable({batch, first_slot, slots, CountKeys(batch, first_slot, slots)}, unique);
    first_slot += slots;
    unique->begins.push_back(unique->keys.size());
  }
}

uint64_t UniqueFinder::passed() const {
  return std::accumulate(passed_.begin(), passed_.end(), passed_before_);
}

void UniqueFinder::FindOfTable(const TableKeys& of, UniqueKeys* unique) {
  Plan(of);
  Deal(of);
  groups_.assign(kKeyGroups, 0);
  Run(parts_, [&](size_t part) { FindOfPart(part); });
  uint32_t distinct = 0;
  for (uint32_t& group : groups_) distinct += std::exchange(group, distinct);
  const size_t begin = unique->keys.size();
  unique->keys.resize(begin + distinct);
  Run(parts_, [&](size_t part) {
    NumberPart(part, std::span(unique->keys).subspan(begin), unique->index);
  });
}

void UniqueFinder::Plan(const TableKeys& of) {
  const int bits = std::min(static_cast<int>(std::bit_width(of.count / kPartKeys)), kPartBitsMax);
  parts_ = size_t{1} << bits;
  part_shift_ = kGroupBits - bits;
  runs_ = std::clamp<size_t>(of.count / kRunKeys, 1, std::max<size_t>(of.batch.samples, 1));
  run_samples_ = (of.batch.samples + runs_ - 1) / runs_;
}

// A counting sort by part, which keeps the order of the batch.
void UniqueFinder::Deal(const TableKeys& of) {
  counts_.assign(parts_ * runs_, 0);
  Run(runs_, [&](size_t run) {
    ForEachOfRun(of, run,
                 [&](uint32_t at) { ++counts_[run * parts_ + PartOf(of.batch.keys[at])]; });
  });
  begins_.assign(parts_ + 1, 0);
  place_begins_.assign(parts_ + 1, 0);
  uint32_t next = 0;
  for (size_t part = 0; part < parts_; ++part) {
    begins_[part] = next;
    for (size_t run = 0; run < runs_; ++run) {
      next += std::exchange(counts_[run * parts_ + part], next);
    }
    // At most half of the places are taken.
    const size_t entries = next - begins_[part];
    place_begins_[part + 1] = place_begins_[part] + std::bit_ceil(2 * entries + 2);
  }
  begins_[parts_] = next;
  entries_.resize(next);
  firsts_.resize(next);
  places_.resize(std::max(places_.size(), place_begins_[parts_]));
  passed_.assign(parts_, 0);
  Run(runs_, [&](size_t run) {
    uint32_t* const ends = counts_.data() + run * parts_;
    ForEachOfRun(of, run, [&](uint32_t at) {
      const Key key = of.batch.keys[at];
      entries_[ends[PartOf(key)]++] = {key, at};
    });
  });
}

// By linear probing.
void UniqueFinder::FindOfPart(size_t part) {
  const size_t mask = place_begins_[part + 1] - place_begins_[part] - 1;
  uint32_t* const places = places_.data() + place_begins_[part];
  std::fill_n(places, mask + 1, 0);
  uint64_t passed = 0;
  for (uint32_t number = begins_[part]; number < begins_[part + 1]; ++number) {
    const Entry& entry = entries_[number];
    size_t place = hash_(entry.key) & mask;
    while (places[place] != 0 && entries_[places[place] - 1].key != entry.key) {
      place = (place + 1) & mask;
      ++passed;
    }
    if (places[place] == 0) {
      places[place] = number + 1;
      ++groups_[KeyGroup(entry.key)];
    }
    firsts_[number] = places[place] - 1;
  }
  passed_[part] = passed;
}

// Those of its groups, each of which lies in one part.
void UniqueFinder::NumberPart(size_t part, std::span<Key> distinct, std::span<uint32_t> index) {
  for (uint32_t number = begins_[part]; number < begins_[part + 1]; ++number) {
    const Entry& entry = entries_[number];
    if (firsts_[number] != number) {
      index[entry.at] = index[entries_[firsts_[number]].at];
      continue;
    }
    const uint32_t place = groups_[KeyGroup(entry.key)]++;
    distinct[place] = entry.key;
    index[entry.at] = place;
  }
}

}  // namespace strata
