#include "worker/data/batch/batch_slices.h"

#include <algorithm>
#include <vector>

namespace strata {
namespace {

constexpr size_t kSamplesShared = 8192;  // fewer are copied faster than threads wake

// The place among the batch's keys of the first key of a sample, which may be the one at the end.
size_t FirstKey(const Batch& batch, size_t sample) { return batch.offsets[sample * batch.slots]; }

// Where a slice begins among what is joined.
struct Place {
  size_t sample = 0;
  size_t key = 0;
};

bool HasWeights(const BatchSlice& slice) {
  const std::vector<float>& weights = slice.batch->key_weights;
  if (weights.empty()) return false;
  return std::any_of(weights.begin() + static_cast<ptrdiff_t>(FirstKey(*slice.batch, slice.begin)),
                     weights.begin() + static_cast<ptrdiff_t>(FirstKey(*slice.batch, slice.end)),
                     [](float weight) { return weight != 1; });
}

// The places of the slices, and behind them the place of the end.
Result<std::vector<Place>> PlacesOf(std::span<const BatchSlice> slices) {
  std::vector<Place> places(1);
  for (const BatchSlice& slice : slices) {
    const Place& last = places.back();
    const size_t first_key = FirstKey(*slice.batch, slice.begin);
    const size_t room = Batch::kKeysMax - last.key;
    size_t end = slice.end;
    while (FirstKey(*slice.batch, end) - first_key > room) --end;
    if (end != slice.end) return Batch::TooManyKeys(last.sample + end - slice.begin + 1);
    places.push_back({.sample = last.sample + end - slice.begin,
                      .key = last.key + FirstKey(*slice.batch, end) - first_key});
  }
  return places;
}

template <typename T>
void Copy(const std::vector<T>& from, size_t begin, size_t end, std::vector<T>* to, size_t place) {
  std::copy(from.begin() + static_cast<ptrdiff_t>(begin),
            from.begin() + static_cast<ptrdiff_t>(end),
            to->begin() + static_cast<ptrdiff_t>(place));
}

// What the batch holds is overwritten, so nothing is cleared.
void Shape(const Batch& shape, const Place& end, bool has_weights, bool has_groups, Batch* batch) {
  batch->samples = end.sample;
  batch->slots = shape.slots;
  batch->dense_width = shape.dense_width;
  batch->offsets.resize(end.sample * shape.slots + 1);
  batch->offsets[0] = 0;
  batch->keys.resize(end.key);
  batch->key_weights.resize(has_weights ? end.key : 0);
  batch->dense.resize(end.sample * shape.dense_width);
  batch->labels.resize(end.sample);
  batch->weights.resize(end.sample);
  batch->groups.resize(has_groups ? end.sample : 0);
  batch->bad.clear();
}

void CopySlice(const BatchSlice& slice, const Place& place, Batch* batch) {
  const Batch& from = *slice.batch;
  const size_t slots = from.slots;
  const size_t width = from.dense_width;
  const size_t first_key = FirstKey(from, slice.begin);
  const size_t end_key = FirstKey(from, slice.end);
  const auto shift = static_cast<uint32_t>(place.key - first_key);  // modulo 2^32
  const uint32_t* const offsets = from.offsets.data() + slice.begin * slots + 1;
  uint32_t* const out = batch->offsets.data() + place.sample * slots + 1;
  const size_t count = (slice.end - slice.begin) * slots;
  for (size_t i = 0; i < count; ++i) out[i] = offsets[i] + shift;
  Copy(from.keys, first_key, end_key, &batch->keys, place.key);
  if (!batch->key_weights.empty()) {
    if (from.key_weights.empty()) {
      std::fill_n(batch->key_weights.data() + place.key, end_key - first_key, 1.0F);
    } else {
      Copy(from.key_weights, first_key, end_key, &batch->key_weights, place.key);
    }
  }
  Copy(from.dense, slice.begin * width, slice.end * width, &batch->dense, place.sample * width);
  Copy(from.labels, slice.begin, slice.end, &batch->labels, place.sample);
  Copy(from.weights, slice.begin, slice.end, &batch->weights, place.sample);
  if (!batch->groups.empty()) {
    Copy(from.groups, slice.begin, slice.end, &batch->groups, place.sample);
  }
}

}  // namespace

Status JoinSlices(std::span<const BatchSlice> slices, const Batch& shape, WorkPool& threads,
                  Batch* batch) {
  STRATA_ASSIGN(const std::vector<Place> places, PlacesOf(slices));
  const bool has_groups = std::ranges::any_of(
      slices, [](const BatchSlice& slice) { return !slice.batch->groups.empty(); });
  Shape(shape, places.back(), std::ranges::any_of(slices, HasWeights), has_groups, batch);
  const auto copy = [&](size_t n) { CopySlice(slices[n], places[n], batch); };
  if (batch->samples >= kSamplesShared) {
    threads.Run(slices.size(), copy);
  } else {
    for (size_t n = 0; n < slices.size(); ++n) copy(n);
  }
  return {};
}

}  // namespace strata
