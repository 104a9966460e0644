#include "storage/memory/cut_history.h"

#include <algorithm>

#include "strata/status.h"

namespace strata {

void CutHistory::SetEpoch(uint32_t epoch) {
  STRATA_CHECK(epoch >= epoch_);
  if (snapshot_epoch_ && epoch_ == *snapshot_epoch_) candidate_ = epoch;
  epoch_ = epoch;
}

void CutHistory::Erased(Key key, uint64_t rows) {
  if (erased_ >= std::max(rows / 4, kErasedMin)) ErasedUnnamed();
  if (lost_ == epoch_) return;
  if (generations_.empty() || generations_.back().epoch != epoch_) {
    generations_.push_back({epoch_, std::make_shared<std::vector<Key>>()});
  }
  generations_.back().keys->push_back(key);
  ++erased_;
}

void CutHistory::ErasedUnnamed() {
  generations_.clear();
  erased_ = 0;
  base_.reset();
  lost_ = epoch_;
}

uint32_t CutHistory::BeginSnapshot(uint32_t since) {
  EndSnapshot();
  snapshot_epoch_ = epoch_;
  snapshot_since_ = base_ && since >= *base_ && since <= epoch_ ? since : 0;
  if (snapshot_since_ == 0) return 0;
  for (const Generation& generation : generations_) {
    if (generation.epoch >= snapshot_since_) snapshot_erased_.push_back(generation);
  }
  return snapshot_since_;
}

std::vector<Key> CutHistory::SnapshotErased() const {
  std::vector<Key> keys;
  for (const Generation& generation : snapshot_erased_) {
    keys.insert(keys.end(), generation.keys->begin(), generation.keys->end());
  }
  return keys;
}

void CutHistory::EndSnapshot() {
  snapshot_epoch_.reset();
  snapshot_since_ = 0;
  snapshot_erased_.clear();
}

void CutHistory::Loaded() {
  candidate_ = epoch_;
  base_.reset();
  generations_.clear();
  erased_ = 0;
}

void CutHistory::ForgetErased(uint32_t epoch) {
  if (candidate_ != epoch || (lost_ && *lost_ >= epoch)) return;
  base_ = epoch;
  std::erase_if(generations_, [&](const Generation& generation) {
    if (generation.epoch >= epoch) return false;
    erased_ -= generation.keys->size();
    return true;
  });
}

}  // namespace strata
