#include "worker/data/shuffle_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace strata {
namespace {

Random OrderOf(uint64_t seed, uint64_t epoch) { return Random(Mix64(seed) ^ epoch); }

constexpr size_t kIncomingSamples = 1024;  // read from the source at a time

constexpr size_t kDrawnMax = 256;  // at a time
constexpr size_t kRowsAhead = 6;   // whose memory is asked for before it is used

// Copies numbers to `to`, and gives what is behind them.
template <typename T>
std::byte* Put(const T* from, size_t count, std::byte* to) {
  if (count > 0) std::memcpy(to, from, count * sizeof(T));
  return to + count * sizeof(T);
}

// The other way round, to the vector's end.
template <typename T>
const std::byte* TakeOff(const std::byte* from, size_t count, std::vector<T>* to) {
  const size_t size = to->size();
  to->resize(size + count);
  if (count > 0) std::memcpy(to->data() + size, from, count * sizeof(T));
  return from + count * sizeof(T);
}

}  // namespace

ShuffleSource::ShuffleSource(std::unique_ptr<BatchSource> source, size_t rows, uint64_t seed)
    : source_(std::move(source)), rows_max_(rows), seed_(seed), random_(OrderOf(seed, 0)) {
  STRATA_CHECK(rows >= 1);
}

Status ShuffleSource::Rewind(uint64_t epoch) {
  STRATA_TRY(source_->Rewind(epoch));
  random_ = OrderOf(seed_, epoch);
  filled_ = 0;
  incoming_.samples = 0;
  incoming_next_ = 0;
  ended_ = false;
  return Status::Ok();
}

Status ShuffleSource::Next(size_t samples_max, Batch* batch) {
  STRATA_TRY(Fill());
  batch->Start(incoming_.slots, incoming_.dense_width);
  while (batch->samples < samples_max && filled_ > 0) {
    STRATA_TRY(ReadIncoming());
    const size_t wanted = samples_max - batch->samples;
    if (!ended_) {
      // The buffer stays full meanwhile, so that all can be drawn at once.
      const size_t there = incoming_.samples - incoming_next_;
      STRATA_TRY(MoveSamples(std::min({wanted, there, kDrawnMax}), batch));
      continue;
    }
    const size_t drawn = random_.Below(filled_);
    STRATA_TRY(Append(rows_[drawn], batch));
    std::swap(rows_[drawn], rows_[--filled_]);
  }
  return Status::Ok();
}

// Draws samples for the batch; the source's next ones take their places.
Status ShuffleSource::MoveSamples(size_t count, Batch* batch) {
  drawn_.clear();
  for (size_t i = 0; i < count; ++i) drawn_.push_back(random_.Below(filled_));
  for (size_t i = 0; i < std::min(kRowsAhead, count); ++i) rows_[drawn_[i]].Prefetch();
  for (size_t i = 0; i < count; ++i) {
    // A row is asked for first, then what it points to.
    if (i + 2 * kRowsAhead < count) __builtin_prefetch(&rows_[drawn_[i + 2 * kRowsAhead]], 1);
    if (i + kRowsAhead < count) rows_[drawn_[i + kRowsAhead]].Prefetch();
    STRATA_TRY(Append(rows_[drawn_[i]], batch));
    Take(&rows_[drawn_[i]]);
  }
  return {};
}

Status ShuffleSource::Fill() {
  while (filled_ < rows_max_) {
    STRATA_TRY(ReadIncoming());
    if (ended_) break;
    if (rows_.size() == filled_) rows_.emplace_back();
    Take(&rows_[filled_++]);
  }
  return Status::Ok();
}

// Makes sure that there are samples which are not in the buffer yet, unless the source has ended.
Status ShuffleSource::ReadIncoming() {
  if (ended_ || incoming_next_ < incoming_.samples) return {};
  STRATA_TRY(source_->Next(kIncomingSamples, &incoming_));
  incoming_next_ = 0;
  ended_ = incoming_.samples == 0;
  return {};
}

// Takes the next sample of those that have come in.
void ShuffleSource::Take(Row* row) {
  const size_t i = incoming_next_++;
  const size_t slots = incoming_.slots;
  const size_t width = incoming_.dense_width;
  const uint32_t* const offsets = incoming_.offsets.data() + i * slots;
  const uint32_t begin = offsets[0];
  row->keys = offsets[slots] - begin;
  row->has_key_weights = !incoming_.key_weights.empty();
  const size_t weights = row->has_key_weights ? row->keys : 0;
  row->bytes.resize(row->keys * sizeof(Key) + slots * sizeof(uint32_t) +
                    (weights + width + 2) * sizeof(float));
  std::byte* at = Put(incoming_.keys.data() + begin, row->keys, row->bytes.data());
  for (size_t slot = 0; slot < slots; ++slot) {
    const uint32_t end = offsets[slot + 1] - begin;
    at = Put(&end, 1, at);
  }
  at = Put(incoming_.key_weights.data() + (weights > 0 ? begin : 0), weights, at);
  at = Put(incoming_.dense.data() + i * width, width, at);
  at = Put(&incoming_.labels[i], 1, at);
  Put(&incoming_.weights[i], 1, at);
}

Status ShuffleSource::Append(const Row& row, Batch* batch) const {
  if (row.keys > Batch::kKeysMax - batch->keys.size()) {
    return Batch::TooManyKeys(batch->samples + 1);
  }
  const size_t keys = batch->keys.size();
  const std::byte* at = TakeOff(row.bytes.data(), row.keys, &batch->keys);
  const size_t offsets = batch->offsets.size();
  at = TakeOff(at, batch->slots, &batch->offsets);
  for (size_t i = offsets; i < batch->offsets.size(); ++i) {
    batch->offsets[i] += static_cast<uint32_t>(keys);
  }
  if (row.has_key_weights) {
    batch->key_weights.resize(keys, 1);  // of samples before, where all were 1
    at = TakeOff(at, row.keys, &batch->key_weights);
  } else if (!batch->key_weights.empty()) {
    batch->key_weights.resize(batch->keys.size(), 1);
  }
  at = TakeOff(at, batch->dense_width, &batch->dense);
  at = TakeOff(at, 1, &batch->labels);
  TakeOff(at, 1, &batch->weights);
  ++batch->samples;
  return Status::Ok();
}

void ShuffleSource::Row::Prefetch() const {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(bytes.data() + at, 1);
}

}  // namespace strata
