#include "worker/data/batch/shuffle_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace strata {
namespace {

Random OrderOf(uint64_t seed, uint64_t epoch) { return Random(Mix64(seed) ^ epoch); }

constexpr size_t kIncomingSamples = 8192;  // read from the source at a time
constexpr size_t kPiece = 512;             // samples that a thread copies at a time
constexpr size_t kRowsAhead = 6;           // whose memory is asked for before it is used

// Copies numbers to `to`, and gives what is after them.
template <typename T>
std::byte* CopyTo(const T* from, size_t count, std::byte* to) {
  if (count > 0) std::memcpy(to, from, count * sizeof(T));
  return to + count * sizeof(T);
}

// The other way round.
template <typename T>
const std::byte* CopyFrom(const std::byte* from, size_t count, T* to) {
  if (count > 0) std::memcpy(to, from, count * sizeof(T));
  return from + count * sizeof(T);
}

}  // namespace

ShuffleSource::ShuffleSource(std::unique_ptr<BatchSource> source, size_t rows, uint64_t seed,
                             std::unique_ptr<WorkPool> threads)
    : source_(std::move(source)),
      rows_max_(rows),
      seed_(seed),
      random_(OrderOf(seed, 0)),
      threads_(std::move(threads)) {
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
    if (ended_) {
      DrawRest(std::min(wanted, filled_));
    } else {
      DrawFull(std::min(wanted, incoming_.samples - incoming_next_));
    }
    STRATA_TRY(CopyDrawn(batch));
  }
  return Status::Ok();
}

// Draws from the full buffer. The source's next samples take the places.
void ShuffleSource::DrawFull(size_t count) {
  const uint64_t moves_before = moves_;
  drawn_.resize(count);
  for (Move& move : drawn_) move = {.place = random_.Below(filled_)};
  for (size_t i = 0; i < count; ++i) {
    if (i + 2 * kRowsAhead < count) __builtin_prefetch(&rows_[drawn_[i + 2 * kRowsAhead].place], 1);
    Move& move = drawn_[i];
    Row& row = rows_[move.place];
    move.first = i;
    if (row.move > moves_before) {
      const size_t last = row.move - moves_before - 1;
      move.from = incoming_next_ + last;
      move.first = drawn_[last].first;
    }
    drawn_[move.first].in = incoming_next_ + i;
    row.move = ++moves_;
  }
  incoming_next_ += count;
}

// Draws from what is left. What was drawn stands after the rest from then on.
void ShuffleSource::DrawRest(size_t count) {
  drawn_.resize(count);
  for (Move& move : drawn_) {
    std::swap(rows_[random_.Below(filled_)], rows_[filled_ - 1]);
    move = {.place = --filled_};
  }
}

// Copies what was drawn to the batch's end, and lets samples of the source take the places.
Status ShuffleSource::CopyDrawn(Batch* batch) {
  const size_t samples = batch->samples;
  const size_t slots = batch->slots;
  const auto key_count = [&](const Move& move) -> size_t {
    if (move.from == kNone) return rows_[move.place].keys;
    return incoming_.offsets[(move.from + 1) * slots] - incoming_.offsets[move.from * slots];
  };
  size_t keys = batch->keys.size();
  bool has_weights = !batch->key_weights.empty();
  for (size_t i = 0; i < drawn_.size(); ++i) {
    Move& move = drawn_[i];
    move.keys = key_count(move);
    move.key_at = keys;
    if (move.keys > Batch::kKeysMax - keys) return Batch::TooManyKeys(samples + i + 1);
    keys += move.keys;
    has_weights |=
        move.from == kNone ? rows_[move.place].has_key_weights : !incoming_.key_weights.empty();
  }
  batch->samples = samples + drawn_.size();
  batch->keys.resize(keys);
  if (has_weights) batch->key_weights.resize(keys, 1);
  batch->offsets.resize(batch->samples * slots + 1);
  batch->dense.resize(batch->samples * batch->dense_width);
  batch->labels.resize(batch->samples);
  batch->weights.resize(batch->samples);
  RunPieces(threads_.get(), drawn_.size(), kPiece, [&](size_t begin, size_t end) {
    Row passing;
    for (size_t i = begin; i < end; ++i) {
      // A place belongs to the thread of its first move; others look elsewhere.
      const size_t ahead = i + kRowsAhead;
      if (ahead < end && drawn_[ahead].from == kNone) rows_[drawn_[ahead].place].Prefetch();
      const Move& move = drawn_[i];
      if (move.from != kNone) {
        Take(move.from, &passing);
        Put(passing, samples + i, move.key_at, batch);
        continue;
      }
      Row& row = rows_[move.place];
      Put(row, samples + i, move.key_at, batch);
      if (move.in != kNone) Take(move.in, &row);
    }
  });
  return {};
}

Status ShuffleSource::Fill() {
  while (filled_ < rows_max_) {
    STRATA_TRY(ReadIncoming());
    if (ended_) break;
    const size_t count = std::min(rows_max_ - filled_, incoming_.samples - incoming_next_);
    if (rows_.size() < filled_ + count) rows_.resize(filled_ + count);
    RunPieces(threads_.get(), count, kPiece, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) Take(incoming_next_ + i, &rows_[filled_ + i]);
    });
    incoming_next_ += count;
    filled_ += count;
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

// Gives the row a sample of those that have come in.
void ShuffleSource::Take(size_t sample, Row* row) const {
  const size_t slots = incoming_.slots;
  const size_t width = incoming_.dense_width;
  const uint32_t* const offsets = incoming_.offsets.data() + sample * slots;
  const uint32_t begin = offsets[0];
  row->keys = offsets[slots] - begin;
  row->has_key_weights = !incoming_.key_weights.empty();
  const size_t weights = row->has_key_weights ? row->keys : 0;
  row->bytes.resize(row->keys * sizeof(Key) + slots * sizeof(uint32_t) +
                    (weights + width + 2) * sizeof(float));
  std::byte* at = CopyTo(incoming_.keys.data() + begin, row->keys, row->bytes.data());
  for (size_t slot = 0; slot < slots; ++slot) {
    const uint32_t end = offsets[slot + 1] - begin;
    at = CopyTo(&end, 1, at);
  }
  at = CopyTo(incoming_.key_weights.data() + (weights > 0 ? begin : 0), weights, at);
  at = CopyTo(incoming_.dense.data() + sample * width, width, at);
  at = CopyTo(&incoming_.labels[sample], 1, at);
  CopyTo(&incoming_.weights[sample], 1, at);
}

// Writes the row as this sample of a batch, which has room for it.
void ShuffleSource::Put(const Row& row, size_t sample, size_t key_at, Batch* batch) {
  const std::byte* at = CopyFrom(row.bytes.data(), row.keys, batch->keys.data() + key_at);
  uint32_t* const offsets = batch->offsets.data() + sample * batch->slots + 1;
  at = CopyFrom(at, batch->slots, offsets);
  for (size_t i = 0; i < batch->slots; ++i) offsets[i] += static_cast<uint32_t>(key_at);
  if (row.has_key_weights) {
    at = CopyFrom(at, row.keys, batch->key_weights.data() + key_at);
  } else if (!batch->key_weights.empty()) {
    std::fill_n(batch->key_weights.data() + key_at, row.keys, 1.0F);
  }
  const size_t width = batch->dense_width;
  at = CopyFrom(at, width, batch->dense.data() + sample * width);
  at = CopyFrom(at, 1, &batch->labels[sample]);
  CopyFrom(at, 1, &batch->weights[sample]);
}

void ShuffleSource::Row::Prefetch() const {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(bytes.data() + at, 1);
}

}  // namespace strata
