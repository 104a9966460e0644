// HotTable::Reading: rows of some keys on their way up from the table below, chunk by chunk.
//
// Threads of the table gather chunks and send them off, each in the slot of its number; who uses
// them takes them in order, and hands the slots back.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <semaphore>
#include <span>
#include <utility>
#include <vector>

#include "storage/gpu/chunk_slot.cuh"

namespace strata {

struct HotTable::Reading {
  // Of a slot.
  struct Turns {
    Status filled;
    std::counting_semaphore<> empty{1};
    std::counting_semaphore<> full{0};
  };

  // `begins`: where chunks begin, and the last one ends. The keys lie in pinned memory.
  Reading(std::span<const Key> keys_read, const ReadRule& how, std::vector<size_t> begins)
      : keys(keys_read), rule(how), begins_(std::move(begins)) {}

  size_t chunks() const { return begins_.size() - 1; }
  size_t first(size_t chunk) const { return begins_[chunk]; }  // number of its first key
  std::span<const Key> KeysOf(size_t chunk) const {
    return keys.subspan(begins_[chunk], begins_[chunk + 1] - begins_[chunk]);
  }
  Turns& TurnsOf(size_t chunk) { return turns[chunk % kChunkSlots]; }

  const std::span<const Key> keys;
  const ReadRule rule;
  std::array<Turns, kChunkSlots> turns;
  std::atomic<bool> stop = false;
  size_t fillers = 0;  // that are at it
  size_t used = 0;     // chunks

 private:
  const std::vector<size_t> begins_;
};

}  // namespace strata
