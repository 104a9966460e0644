// Reading: rows of some keys on their way up from the table below, chunk by chunk.
//
// Threads of RowGatherer gather chunks and send them off, each in the slot of its number; who uses
// them takes them in order, and hands the slots back.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <semaphore>
#include <span>
#include <utility>
#include <vector>

#include "storage/gpu/hot/row_gatherer.h"
#include "strata/status.h"

namespace strata {

struct Reading {
  // Of a slot.
  struct Turns {
    Status filled;
    std::counting_semaphore<> empty{1};
    std::counting_semaphore<> full{0};
  };

  // `begins`: where chunks begin, and the last one ends. The keys lie in pinned memory.
  Reading(std::span<const Key> keys_read, const ReadRule& how, std::vector<size_t> begins)
      : rule(how), keys_(keys_read), begins_(std::move(begins)), count_(keys_read.size()) {}

  // There are no more keys than so many, before a chunk is gathered: the last chunks may have none.
  void EndAt(size_t count) { count_ = count; }
  size_t count() const { return count_; }
  size_t chunks() const { return begins_.size() - 1; }
  size_t first(size_t chunk) const { return begins_[chunk]; }  // number of its first key
  std::span<const Key> KeysOf(size_t chunk) const {
    const size_t count = count_;
    const size_t begin = std::min(begins_[chunk], count);
    return keys_.subspan(begin, std::min(begins_[chunk + 1], count) - begin);
  }
  // Those of one turn out of ReadRule::kTurns, if there are turns.
  bool ComesUp(size_t chunk) const {
    return !rule.turn.has_value() || first(chunk) * ReadRule::kTurns / keys_.size() == *rule.turn;
  }
  bool IsFilled() const {
    return std::ranges::all_of(turns, [](const Turns& of_chunk) { return of_chunk.filled.ok(); });
  }
  Turns& TurnsOf(size_t chunk) { return turns[chunk % RowGatherer::kSlots]; }
  size_t SlotOf(size_t chunk) const { return one_slot.value_or(chunk % RowGatherer::kSlots); }

  const ReadRule rule;
  std::optional<size_t> one_slot;  // has all chunks, which are used as one
  std::array<Turns, RowGatherer::kSlots> turns;
  std::atomic<bool> stop = false;
  size_t fillers = 0;  // that are at it
  size_t used = 0;     // chunks

 private:
  const std::span<const Key> keys_;
  const std::vector<size_t> begins_;
  std::atomic<size_t> count_;  // of the keys
};

}  // namespace strata
