#include "worker/data/batch/batch.h"

#include <fmt/format.h>

namespace strata {

void Batch::Start(size_t slots_now, size_t dense_width_now) {
  samples = 0;
  slots = slots_now;
  dense_width = dense_width_now;
  offsets.assign(1, 0);
  keys.clear();
  key_weights.clear();
  dense.clear();
  labels.clear();
  weights.clear();
  groups.clear();
  bad.clear();
}

Status Batch::TooManyKeys(size_t samples) {
  return Invalid(fmt::format(
      "{} samples have more than {} keys, and a batch at most so many: lower train.batch_size",
      samples, kKeysMax));
}

void Batch::AppendKeys(std::span<const Key> sample_keys, std::span<const float> sample_weights,
                       std::span<const uint32_t> ends) {
  STRATA_CHECK(ends.size() == slots && (slots == 0 || ends.back() == sample_keys.size()));
  STRATA_CHECK(sample_weights.empty() || sample_weights.size() == sample_keys.size());
  STRATA_CHECK(sample_keys.size() <= kKeysMax - keys.size());
  const auto before = static_cast<uint32_t>(keys.size());
  const size_t place = offsets.size();
  offsets.resize(place + slots);
  for (size_t s = 0; s < slots; ++s) offsets[place + s] = before + ends[s];
  if (!sample_weights.empty()) {
    key_weights.resize(keys.size(), 1);  // of samples before, where all were 1
    key_weights.insert(key_weights.end(), sample_weights.begin(), sample_weights.end());
  }
  keys.insert(keys.end(), sample_keys.begin(), sample_keys.end());
  if (!key_weights.empty()) key_weights.resize(keys.size(), 1);
}

}  // namespace strata
