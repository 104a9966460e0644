#include "worker/data/batch/keys_by_table.h"

#include <atomic>
#include <numeric>

#include "strata/status.h"

namespace strata {
namespace {

constexpr size_t kPieceBags = size_t{1} << 15;

bool HasKeyABag(const Batch& batch, WorkPool& threads) {
  if (batch.keys.size() != batch.samples * batch.slots) return false;
  std::atomic<bool> has = true;
  threads.RunPieces(batch.offsets.size(), kPieceBags, [&](size_t begin, size_t end) {
    uint32_t differ = 0;
    for (size_t bag = begin; bag < end; ++bag) {
      differ |= batch.offsets[bag] ^ static_cast<uint32_t>(bag);
    }
    if (differ != 0) has = false;
  });
  return has;
}

}  // namespace

void KeysByTable::Set(const Batch& batch) {
  STRATA_CHECK(std::reduce(table_slots_.begin(), table_slots_.end()) == batch.slots);
  batch_ = &batch;
  has_key_a_bag_ = HasKeyABag(batch, threads_);
  first_slots_.clear();
  begins_.assign(1, 0);
  offsets_.clear();
  size_t slots = 0;
  for (size_t table = 0; table < table_slots_.size(); ++table) {
    first_slots_.push_back(slots);
    slots += table_slots_[table];
    if (table_slots_.size() == 1) {
      begins_.push_back(batch.keys.size());
      continue;
    }
    if (!has_key_a_bag_) AddOffsets(table);
    begins_.push_back(begins_.back() + KeysBefore(table, batch.samples));
  }
}

std::span<const uint32_t> KeysByTable::offsets() const {
  if (has_key_a_bag_) return {};
  return table_slots_.size() == 1 ? batch_->offsets : offsets_;
}

void KeysByTable::AddOffsets(size_t table) {
  uint32_t keys = 0;
  offsets_.push_back(keys);
  for (size_t sample = 0; sample < batch_->samples; ++sample) {
    const size_t first = sample * batch_->slots + first_slots_[table];
    for (size_t bag = first; bag < first + table_slots_[table]; ++bag) {
      keys += batch_->offsets[bag + 1] - batch_->offsets[bag];
      offsets_.push_back(keys);
    }
  }
}

}  // namespace strata
