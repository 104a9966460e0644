#include "storage/memory/combine.h"

#include <algorithm>
#include <bit>

namespace strata {
namespace {

constexpr uint32_t kNew = UINT32_MAX;

void Add(float* __restrict sum, const float* __restrict gradient, uint32_t dim) {
  for (uint32_t i = 0; i < dim; ++i) sum[i] += gradient[i];
}

}  // namespace

void GradientCombiner::Combine(std::span<const GradientPart> parts, uint32_t dim) {
  size_t keys = 0;
  for (const GradientPart& part : parts) keys += part.keys.size();
  STRATA_CHECK(keys < kNew);
  StartRound(keys);
  Number(parts, dim);
  const auto repeated = std::count_if(groups_.begin(), groups_.end(),
                                      [](const Group& group) { return group.occurrences > 1; });
  if (repeated != 0) Sum(parts, dim, static_cast<size_t>(repeated));
}

void GradientCombiner::StartRound(size_t keys) {
  const size_t size = std::bit_ceil(std::max<size_t>(keys * 2, 64));
  if (slots_.size() < size) {
    slots_.assign(size, Slot{0, 0, 0});
    round_ = 0;
  }
  if (++round_ == 0) {  // after 2^32 rounds old marks would look new
    std::fill(slots_.begin(), slots_.end(), Slot{0, 0, 0});
    round_ = 1;
  }
  passed_ = 0;
  keys_.clear();
  groups_.clear();
  group_of_.clear();
  keys_.reserve(keys);
  groups_.reserve(keys);
  group_of_.reserve(keys);
}

// The key's group, or kNew after making one for it.
uint32_t GradientCombiner::GroupOf(Key key) {
  const size_t mask = slots_.size() - 1;
  for (size_t place = hash_(key) & mask;; place = (place + 1) & mask) {
    Slot& slot = slots_[place];
    if (slot.round != round_) {
      slot = {key, static_cast<uint32_t>(keys_.size()), round_};
      return kNew;
    }
    if (slot.key == key) return slot.group;
    ++passed_;
  }
}

void GradientCombiner::Number(std::span<const GradientPart> parts, uint32_t dim) {
  constexpr size_t kAhead = 16;
  const size_t mask = slots_.size() - 1;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto part_number = static_cast<uint32_t>(p);
    const std::span<const Key> keys = parts[p].keys;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (i + kAhead < keys.size()) {
        __builtin_prefetch(&slots_[hash_(keys[i + kAhead]) & mask], 1);
      }
      uint32_t group = GroupOf(keys[i]);
      if (group == kNew) {
        group = static_cast<uint32_t>(keys_.size());
        keys_.push_back(keys[i]);
        groups_.push_back({parts[p].gradients.data() + i * dim, nullptr, 1, 1, part_number});
      } else {
        Group& known = groups_[group];
        ++known.occurrences;
        if (known.part_last != part_number) {
          known.part_last = part_number;
          ++known.parts;
        }
      }
      group_of_.push_back(group);
    }
  }
}

void GradientCombiner::Sum(std::span<const GradientPart> parts, uint32_t dim,
                           size_t groups_repeated) {
  // Only ever grown, so that elements in use before are not cleared again.
  if (sums_.size() < groups_repeated * dim) sums_.resize(groups_repeated * dim);
  float* place = sums_.data();
  for (Group& group : groups_) {
    if (group.occurrences == 1) continue;
    group.sum = place;
    place += dim;
  }
  const uint32_t* group_of = group_of_.data();
  for (const GradientPart& part : parts) {
    const float* gradient = part.gradients.data();
    for (size_t i = 0; i < part.keys.size(); ++i, ++group_of, gradient += dim) {
      const Group& group = groups_[*group_of];
      if (group.sum == nullptr) continue;
      if (group.first == gradient) {
        std::copy_n(gradient, dim, group.sum);
      } else {
        Add(group.sum, gradient, dim);
      }
    }
  }
}

}  // namespace strata
