#include "worker/data/shuffle_source.h"

#include <utility>

#include "base/hash.h"

namespace strata {
namespace {

Random OrderOf(uint64_t seed, uint64_t epoch) { return Random(Mix64(seed) ^ epoch); }

constexpr size_t kIncomingSamples = 1024;  // read from the source at a time

template <typename T>
void AppendAll(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
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
    const size_t drawn = random_.Below(filled_);
    STRATA_TRY(Append(rows_[drawn], batch));
    STRATA_ASSIGN(const bool taken, Take(&rows_[drawn]));
    if (!taken) std::swap(rows_[drawn], rows_[--filled_]);
  }
  return Status::Ok();
}

Status ShuffleSource::Fill() {
  while (!ended_ && filled_ < rows_max_) {
    if (rows_.size() == filled_) rows_.emplace_back();
    STRATA_ASSIGN(const bool taken, Take(&rows_[filled_]));
    if (taken) ++filled_;
  }
  return Status::Ok();
}

// The source's next sample; false at its end.
Result<bool> ShuffleSource::Take(Row* row) {
  if (ended_) return false;
  if (incoming_next_ == incoming_.samples) {
    STRATA_TRY(source_->Next(kIncomingSamples, &incoming_));
    incoming_next_ = 0;
    ended_ = incoming_.samples == 0;
    if (ended_) return false;
  }
  const size_t i = incoming_next_++;
  const auto offsets = incoming_.offsets.begin() + static_cast<ptrdiff_t>(i * incoming_.slots);
  const uint32_t begin = offsets[0];
  const uint32_t end = offsets[static_cast<ptrdiff_t>(incoming_.slots)];
  row->ends.resize(incoming_.slots);
  for (size_t slot = 0; slot < incoming_.slots; ++slot) {
    row->ends[slot] = offsets[static_cast<ptrdiff_t>(slot) + 1] - begin;
  }
  row->keys.assign(incoming_.keys.begin() + begin, incoming_.keys.begin() + end);
  row->key_weights.clear();
  if (!incoming_.key_weights.empty()) {
    row->key_weights.assign(incoming_.key_weights.begin() + begin,
                            incoming_.key_weights.begin() + end);
  }
  const auto dense = incoming_.dense.begin() + static_cast<ptrdiff_t>(i * incoming_.dense_width);
  row->dense.assign(dense, dense + static_cast<ptrdiff_t>(incoming_.dense_width));
  row->label = incoming_.labels[i];
  row->weight = incoming_.weights[i];
  return true;
}

Status ShuffleSource::Append(const Row& row, Batch* batch) {
  if (row.keys.size() > Batch::kKeysMax - batch->keys.size()) {
    return Batch::TooManyKeys(batch->samples + 1);
  }
  batch->AppendKeys(row.keys, row.key_weights, row.ends);
  AppendAll(row.dense, &batch->dense);
  batch->labels.push_back(row.label);
  batch->weights.push_back(row.weight);
  ++batch->samples;
  return Status::Ok();
}

}  // namespace strata
